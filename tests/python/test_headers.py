"""The headers of each style, and the body of a 429."""

import json
import math
from typing import get_args

import pytest

import limitree
from conftest import USERS
from limitree.headers import Style, combined
from limitree.testing import ManualClock

IETF = [("RateLimit-Policy", '"user:*";q=16;w=32, "user:*/trade";q=6;w=9')]


@pytest.fixture
def asked(clock):
    """Returns a function that trades `times` times and returns the last
    decision."""
    limiter = limitree.Limiter(USERS, clock=clock, levels=True)

    def trade(times, **keywords):
        for _ in range(times):
            decision = limiter.authorize("user", "alex", "trade", **keywords)
        return decision
    return trade


def test_ietf(asked):
    assert asked(1).headers() == IETF + [
        ("RateLimit", '"user:*";r=15;t=2, "user:*/trade";r=5;t=2')]
    assert asked(6).headers() == IETF + [
        ("RateLimit", '"user:*";r=10;t=2, "user:*/trade";r=0;t=2'),
        ("Retry-After", "2")]


def test_ietf_of_full_buckets(asked):
    assert asked(1, cost=0).headers() == IETF + [
        ("RateLimit", '"user:*";r=16, "user:*/trade";r=6')]


def test_ietf_counts_down(asked, clock):
    asked(6)
    seen = []
    for _ in range(9):
        seen.append(asked(1, cost=0).headers()[1][1].split("trade")[1])
        clock.advance(1)
    assert seen == ['";r=0;t=2', '";r=0;t=1', '";r=1;t=1', '";r=2;t=2',
                    '";r=2;t=1', '";r=3;t=1', '";r=4;t=2', '";r=4;t=1',
                    '";r=5;t=1']


GROWS_AFTER = {
    "fixed_window": 50, "sliding_log": 50, "sliding_window": 50,
    "sliding_tail": 51, "leaky_bucket, drain: step": 2, "gcra": 6}


@pytest.mark.parametrize("rules", limitree.ALGORITHMS)
def test_ietf_tells_when_more_is_left_by_the_algorithm(rules):
    """Tokens of a window come back when it ends, not at an even pace."""
    expected = GROWS_AFTER[rules]
    clock = ManualClock(1_700_000_040 * 10**9)  # the start of a minute
    limiter = limitree.Limiter(
        "schema: {a: {limits: {count: 10, period: 60s, algorithm: "
        f"{rules}}}}}}}", clock=clock, levels=True)
    limiter.authorize("a")
    clock.advance(10)
    decision = limiter.authorize("a")
    assert dict(decision.headers())["RateLimit"] == (
        f'"a";r={decision.remaining};t={expected}')
    clock.advance(decision.levels[0].grows_after - 1e-6)
    assert limiter.peek("a", cost=0).remaining == decision.remaining
    clock.advance(1e-6)
    assert limiter.peek("a", cost=0).remaining == decision.remaining + (
        2 if rules == "fixed_window" else 1)
    clock.advance(120)
    full = limiter.peek("a", cost=0)
    assert dict(full.headers())["RateLimit"] == '"a";r=10'
    assert full.levels[0].grows_after == 0.0


def test_never_has_no_retry_after(asked):
    decision = asked(1, cost=7)
    for style in ("ietf", "draft-7", "draft-6", "legacy"):
        assert "Retry-After" not in dict(decision.headers(style))
    assert "larger than any limit" in decision.problem()["detail"]


@pytest.mark.parametrize("style, expected", [
    ("legacy", [("X-RateLimit-Limit", "6"), ("X-RateLimit-Remaining", "5"),
                ("X-RateLimit-Reset", "2")]),
    ("draft-6", [("RateLimit-Policy", "16;w=32, 6;w=9"),
                 ("RateLimit-Limit", "6"), ("RateLimit-Remaining", "5"),
                 ("RateLimit-Reset", "2")]),
    ("draft-7", [("RateLimit-Policy", "16;w=32, 6;w=9"),
                 ("RateLimit", "limit=6, remaining=5, reset=2")]),
    ("none", [])])
def test_other_styles(asked, style, expected):
    assert asked(1).headers(style) == expected
    limited = asked(6).headers(style)
    assert limited[-1:] == ([("Retry-After", "2")] if expected else [])


@pytest.mark.parametrize("levels", [True, False])
def test_reset_is_of_the_limit_that_the_other_numbers_are_of(asked, levels):
    """The buckets of all limits are full later, in 12 s."""
    decision = asked(7, levels=levels)
    assert (decision.limit, decision.reset_after) == (6, 12.0)
    assert decision.binding_reset_after == 9.0
    assert dict(decision.headers("legacy"))["X-RateLimit-Reset"] == "9"
    assert dict(decision.headers("draft-6"))["RateLimit-Reset"] == "9"
    assert dict(decision.headers("draft-7"))["RateLimit"] == (
        "limit=6, remaining=0, reset=9")


def test_reset_as_a_date(asked, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.75)
    headers = dict(asked(1).headers("legacy", reset="epoch"))
    assert headers["X-RateLimit-Reset"] == "1003"


def test_without_levels(asked):
    decision = asked(1, levels=False)
    with pytest.raises(ValueError, match="levels=True"):
        decision.headers()
    assert decision.headers("draft-7") == [
        ("RateLimit", "limit=6, remaining=5, reset=2")]
    assert decision.headers("legacy")[0] == ("X-RateLimit-Limit", "6")
    assert decision.headers("none") == []


def test_wrong_style(asked):
    with pytest.raises(ValueError, match='"draft-8", did you mean "draft-7"?'):
        asked(1).headers("draft-8")
    known = ", ".join(limitree._native.STYLES)
    with pytest.raises(ValueError, match=f'"x", known are: {known}$'):
        asked(1).headers("x")
    with pytest.raises(TypeError, match="style must be str"):
        asked(1).headers(8)
    with pytest.raises(ValueError, match="reset must be delta or epoch, is 'd"):
        asked(1).headers("legacy", reset="date")
    with pytest.raises(TypeError, match="headers.. got an unexpected"):
        asked(1).headers(styles="legacy")


def test_styles_are_those_of_the_core():
    assert limitree._native.STYLES == get_args(Style)


def test_dates_are_of_the_legacy_style_only(asked):
    decision = asked(1)
    for style in set(get_args(Style)) - {"legacy"}:
        assert decision.headers(style, "epoch") == decision.headers(style)


def test_a_wait_is_never_zero(clock):
    limiter = limitree.Limiter("schema: {a: {limits: [0, 1000, 1]}}",
                               clock=clock, levels=True)
    limiter.authorize("a")
    headers = dict(limiter.authorize("a").headers())
    assert headers == {"RateLimit-Policy": '"a";q=1;w=1',
                       "RateLimit": '"a";r=0;t=1', "Retry-After": "1"}


@pytest.mark.parametrize("name, written", [
    ('a"b', 'a\\"b'), ("a\\b", "a\\\\b"), ("caf\u00e9", "caf%C3%A9"),
    ("caf\u00ea", "caf%C3%AA"), ("a\nb", "a%0Ab"), ("a%b", "a%25b"),
    ("\U0001f355", "%F0%9F%8D%95")])
def test_policy_is_a_structured_string(name, written):
    limiter = limitree.Limiter({"schema": {name: {"limits": [0, 1, 60]}}},
                               levels=True)
    text = dict(limiter.authorize(name).headers())["RateLimit"]
    assert text == f'"{written}";r=0;t=60'


def test_problem(asked):
    with pytest.raises(ValueError, match="the request was allowed"):
        asked(1).problem()
    problem = asked(6).problem()
    assert problem["status"] == 429
    assert problem["detail"] == "Try again in 2 s."
    assert problem["violated-policies"] == ["user:*/trade"]
    assert problem["type"].endswith("#quota-exceeded")
    assert "violated-policies" not in asked(1, levels=False).problem()


def test_problem_is_what_a_framework_sends(asked):
    denied = asked(7)
    assert json.loads(denied._problem_json()) == denied.problem()


def test_text_that_is_longer_than_any_buffer():
    depth, name = 30, "caf\u00e9"
    tree = {"limits": [0, 1, 60]}
    for _ in range(depth):
        tree = {"limits": [0, 1, 60], "children": {name: tree}}
    limiter = limitree.Limiter({"schema": {"a": tree}}, levels=True)
    path = ["a"] + [name] * depth
    limiter.authorize(*path)
    denied = limiter.authorize(*path)
    policies = [level.policy for level in denied.levels]
    assert len(policies) == depth + 1
    assert denied.problem()["violated-policies"] == policies
    assert dict(denied.headers())["RateLimit"] == ", ".join(
        f'"{policy}";r=0;t=60' for policy in policies
        ).replace("\u00e9", "%C3%A9")


def test_a_name_that_is_no_text(asked):
    """A pickle of another program may have such a level."""
    decision = asked(6)
    first = decision.levels[0].__reduce__()[1][0]
    level = limitree._native._level(first, "\ud800")
    denied = limitree._native._decision(
        decision.__reduce__()[1][0], (level,), False)
    for ask in (denied.headers, denied.problem):
        with pytest.raises(UnicodeEncodeError):
            ask()


@pytest.mark.parametrize("moment", [0, 1_700_000_000.5, 1e300, "now"])
def test_a_clock_that_is_wrong(asked, monkeypatch, moment):
    monkeypatch.setattr("time.time", lambda: moment)
    if moment == "now":
        with pytest.raises(TypeError):
            asked(1).headers("legacy", "epoch")
    else:
        reset = int(dict(asked(1).headers("legacy", "epoch"))[
            "X-RateLimit-Reset"])
        assert reset == min(math.ceil(moment + 1.5), 2**63 // 10**9 + 1)


def test_waits_are_rounded_up(asked, clock):
    asked(6)
    clock.advance(0.4999)
    decision = asked(1)
    assert math.isclose(decision.retry_after, 1.0001)
    assert dict(decision.headers())["Retry-After"] == "2"


SHADOWED = """
schema:
  both:
    limits: [{name: real, count: 2, period: 1500ms},
             {name: seen, count: 1, period: 10s, mode: shadow}]
"""


def test_shadow_limits_are_in_no_header_and_no_body(clock):
    limiter = limitree.Limiter(SHADOWED, clock=clock, levels=True)
    for _ in range(3):
        decision = limiter.authorize("both")
    assert decision.limited and all(one.limited for one in decision.levels)
    for style in ("draft-6", "draft-7"):
        policy = dict(decision.headers(style))["RateLimit-Policy"]
        assert policy == "2;w=2"  # of 1.5 s
    assert dict(decision.headers())["RateLimit-Policy"] == '"both#real";q=2;w=2'
    assert decision.problem()["violated-policies"] == ["both#real"]


PAIRS = """
schema:
  many: {limits: {count: 9, period: 9s}}
  few: {limits: {count: 5, period: 50s}}
  slow: {limits: {count: 1, period: 60s}}
"""


@pytest.fixture
def after(clock):
    """Returns a function that returns the last of `times` decisions about a
    root."""
    limiter = limitree.Limiter(PAIRS, clock=clock, levels=True)

    def decision(root, times):
        return [limiter.authorize(root) for _ in range(times)][-1]
    return decision


@pytest.mark.parametrize("tightest, other", [
    (("many", 10), ("few", 1)),    # a denial goes before an allowed request,
    (("many", 10), ("slow", 1)),   # even if that would have to wait longer
    (("slow", 2), ("many", 10)),   # of two denials, the longer wait
    (("slow", 1), ("few", 4)),     # the same of two allowed ones
    (("few", 1), ("many", 1)),     # then the one with the fewest left
    (("many", 7), ("few", 1))])
def test_one_limit_is_told_of_several_decisions(after, tightest, other):
    tightest, other = after(*tightest), after(*other)
    for style in ("legacy", "draft-6", "draft-7"):
        expected = tightest.headers(style)
        assert expected != other.headers(style)
        assert combined([tightest, other], style) == expected
        assert combined([other, tightest], style) == expected


def test_the_longest_wait_of_several_decisions_is_told(after):
    short, long = after("many", 10), after("slow", 2)
    for decisions in ([short, long], [long, short]):
        headers = dict(combined(decisions))
        assert headers["Retry-After"] == "60"
        assert headers["RateLimit-Policy"] == ", ".join(
            dict(one.headers())["RateLimit-Policy"] for one in decisions)
