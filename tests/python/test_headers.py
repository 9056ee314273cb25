"""The headers of each style, and the body of a 429."""

import math
import re

import pytest

import limitree
from conftest import USERS

IETF = [("RateLimit-Policy", '"user:*";q=16;w=32, "user:*/trade";q=6;w=9')]


@pytest.fixture
def asked(clock):
    """Returns a function that trades so often and returns the last decision."""
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


def test_reset_as_a_date(asked, monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.5)
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
    with pytest.raises(ValueError, match="style must be one of ietf, draft-7"):
        asked(1).headers("draft-8")
    with pytest.raises(ValueError, match="reset must be delta or epoch"):
        asked(1).headers("legacy", reset="date")


def test_a_wait_is_never_zero(clock):
    limiter = limitree.Limiter("schema: {a: {limits: [0, 1000, 1]}}",
                               clock=clock, levels=True)
    limiter.authorize("a")
    headers = dict(limiter.authorize("a").headers())
    assert headers == {"RateLimit-Policy": '"a";q=1;w=1',
                       "RateLimit": '"a";r=0;t=1', "Retry-After": "1"}


@pytest.mark.parametrize("name", ['a"b', "a\\b", "caf\u00e9", "a\nb"])
def test_policy_is_a_structured_string(name):
    limiter = limitree.Limiter({"schema": {name: {"limits": [0, 1, 60]}}},
                               levels=True)
    text = dict(limiter.authorize(name).headers())["RateLimit"]
    assert re.fullmatch(r'"(?:[ !#-\[\]-~]|\\["\\])*";r=0;t=60', text)


def test_problem(asked):
    with pytest.raises(ValueError, match="the request was allowed"):
        asked(1).problem()
    problem = asked(6).problem()
    assert problem["status"] == 429
    assert problem["detail"] == "Try again in 2 s."
    assert problem["violated-policies"] == ["user:*/trade"]
    assert problem["type"].endswith("#quota-exceeded")
    assert "violated-policies" not in asked(1, levels=False).problem()


def test_waits_are_rounded_up(asked, clock):
    asked(6)
    clock.advance(0.4999)
    decision = asked(1)
    assert math.isclose(decision.retry_after, 1.0001)
    assert dict(decision.headers())["Retry-After"] == "2"
