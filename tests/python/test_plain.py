"""Limits as texts, and how they get into a limiter's tree."""

import json
import os
import pathlib
import threading

import hypothesis
import hypothesis.strategies as st
import pytest

import limitree
import no_deadline  # noqa: F401
from conftest import USERS
from limitree import plain
from limitree.plain import PlainLimit, PlainLimits, parse, text_of_name


TABLE = json.loads((pathlib.Path(__file__).parents[1] / "conformance" /
                    "rates.json").read_text())


@pytest.mark.parametrize("case", TABLE["rates"], ids=lambda case: case["text"])
def test_what_is_read_and_refused(case):
    text = case["text"]
    if "errors" in case:
        with pytest.raises(limitree.ConfigError) as caught:
            PlainLimits().rule(text, "trade")
        assert list(caught.value.messages) == case["errors"]
        return
    assert parse(text) == [
        PlainLimit(one["count"], one["period_ns"] / 1e9, one["burst"],
                   one["name"])
        for one in case["rates"]]


@pytest.mark.parametrize("case", TABLE["rates"], ids=lambda case: case["text"])
def test_a_decorator_and_a_tree_read_alike(case):
    text = case["text"]
    in_tree = {"schema": {"job": {"limits": text}}}
    if "errors" in case:
        with pytest.raises(limitree.ConfigError) as caught:
            limitree.Limiter(in_tree)
        assert [message.split(": ", 2)[2]
                for message in caught.value.messages] == case["errors"]
        return
    plain_limits = PlainLimits()
    rule = plain_limits.rule(text, "trade")
    limiter = limitree.Limiter(in_tree)
    plain_limits.update(limiter)
    levels = limiter.peek("job", levels=True).levels
    beside = limiter.peek_all(rule.paths("alex"), levels=True).levels
    assert [(one.limit, one.window) for one in levels] == [
        (one.limit, one.window) for one in beside]


@pytest.mark.parametrize("text, words", [
    ("5/second", "5 per 1 second"),
    ("100 per 2 hours burst 7", "100 per 2 hour burst 7"),
    ("1/month", "1 per 30 day"),
    ("30/500ms", "30 per 0.5 seconds"),
    ("3/1.5s", "3 per 1.5 seconds"),
])
def test_in_words(text, words):
    assert [str(limit) for limit in parse(text)] == [words]


def test_what_is_the_same_is_there_once():
    assert [limit.name for limit in parse("10/60 seconds; 10/minute")] == [
        "10/1m"]


@pytest.mark.parametrize("text", [None, 5, b"5/s", ["5/s"]])
def test_what_is_no_text(text):
    with pytest.raises(TypeError, match="must be a str such as"):
        parse(text)


@pytest.mark.parametrize("scope", ["", "*", "a*b"])
def test_a_scope_is_a_name(scope):
    with pytest.raises(ValueError, match="must be a name without"):
        PlainLimits().rule("5/s", scope)


@hypothesis.given(st.text("0123456789/. PERsndhbumxt_;,|", max_size=20))
def test_a_text_is_read_or_refused(text):
    try:
        limits = parse(text)
    except limitree.ConfigError:
        return
    again = parse(";".join(text_of_name(limit.name) for limit in limits))
    assert again == limits


# ---- In a limiter -----------------------------------------------------------


def test_one_tree_with_the_limits_of_the_user(limiter):
    plain_limits = PlainLimits()
    rule = plain_limits.rule("2/second; 3/hour", "trade")
    plain_limits.update(limiter)
    paths = [*rule.paths("alex"), ("user", "alex", "trade")]

    decision = limiter.authorize_all(paths, levels=True)
    assert [(level.policy, level.limit) for level in decision.levels] == [
        ("view:trade/*/2/1s", 2), ("view:trade/*/3/1h", 3),
        ("user:*", 16), ("user:*/trade", 6)]
    assert limiter.authorize_all(paths).allowed
    # One limit denies, so none is charged.
    assert limiter.authorize_all(paths).limited
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 4
    assert limiter.peek_all(rule.paths("bob")).remaining == 1


def test_a_caller_whose_limits_vary_has_one_bucket_for_each_period(limiter):
    plain_limits = PlainLimits()
    rules = [plain_limits.rule(text, "trade", varies=True)
             for text in ("2/hour; 9/day", "4/hour; 90/day", "8/hour")]
    plain_limits.update(limiter)
    poor, rich, richest = (rule.paths("alex") for rule in rules)

    decision = limiter.authorize_all(poor, levels=True)
    assert [(level.policy, level.remaining) for level in decision.levels] == [
        ("view:trade/*/1h/2/1h", 1), ("view:trade/*/1d/9/1d", 8)]
    # Half of one limit is half of another, and all is all.
    assert limiter.authorize_all(rich).remaining == 1
    assert limiter.authorize_all(poor).limited
    assert limiter.authorize_all(rich).allowed
    for paths in (poor, rich, richest):
        assert limiter.authorize_all(paths).limited
    limiter.reset(*richest[0])
    assert limiter.authorize_all(poor).allowed
    # Those that a program has written down count apart.
    plain_limits.rule("2/hour", "trade")
    plain_limits.update(limiter)
    assert limiter.peek("view", "trade", "alex", "2/1h").remaining == 1


def test_two_limits_of_one_period_stay_apart(limiter):
    plain_limits = PlainLimits()
    rule = plain_limits.rule(
        "600/minute burst 3; 60/minute; 120/60 seconds", "trade", varies=True)
    plain_limits.update(limiter)
    levels = limiter.authorize_all(rule.paths("alex"), levels=True).levels
    assert [(level.policy, level.remaining) for level in levels] == [
        ("view:trade/*/600/1m-burst3", 2), ("view:trade/*/1m/60/1m", 59),
        ("view:trade/*/1m-2/120/1m", 119)]


def test_names_do_not_depend_on_the_order():
    texts = [("5/s", "b"), ("1/h;5/s", "a"), ("10/m", "b")]
    keys = []
    for order in (texts, texts[::-1]):
        plain_limits = PlainLimits()
        rules = {(scope, text): plain_limits.rule(text, scope)
                 for text, scope in order}
        keys.append({name: rule.paths("x") for name, rule in rules.items()})
    assert keys[0] == keys[1]


def test_rules_that_come_later(limiter):
    plain_limits = PlainLimits()
    first = plain_limits.rule("2/hour", "first")
    plain_limits.update(limiter)
    assert limiter.authorize_all(first.paths("a"), 2).allowed
    later = plain_limits.rule("3/hour", "later")
    with_more = plain_limits.rule("9/hour;2/hour", "first")
    plain_limits.update(limiter)
    reloads = limiter.stats().reloads
    plain_limits.update(limiter)
    assert limiter.stats().reloads == reloads, "nothing is new"
    assert limiter.authorize_all(later.paths("a")).limit == 3
    # Buckets keep their state: they belong to the limit, not to the rule.
    assert limiter.authorize_all(with_more.paths("a")).limited
    assert plain_limits.rule("2/hour", "first") is first


def test_the_limits_of_the_user_may_be_swapped(limiter, tmp_path):
    plain_limits = PlainLimits()
    rule = plain_limits.rule("2/hour", "first")
    plain_limits.update(limiter)
    limiter.reload("schema: {job: {limits: 7/s}}")
    assert limiter.peek("job").limit == 7
    assert limiter.peek_all(rule.paths("a")).limit == 2
    with pytest.raises(limitree.ConfigError, match='"view" is a top-level name '
                                                   'of these limits, and was '
                                                   'put beside'):
        limiter.reload("schema: {view: {limits: 7/s}}")
    assert limiter.peek("job").limit == 7

    # A new rule does not read the file again.
    path = tmp_path / "limits.yaml"
    path.write_text("schema: {job: {limits: 8/s}}")
    limiter.reload(path)
    path.write_text("schema: [")
    plain_limits.rule("3/hour", "first")
    plain_limits.update(limiter)
    assert limiter.peek("job").limit == 8


def test_a_name_that_the_limits_have_already(limiter):
    plain_limits = PlainLimits(root="user")
    plain_limits.rule("2/hour", "first")
    for _ in range(2):  # a failed update is tried again
        with pytest.raises(limitree.ConfigError, match='"user" is a top-level'):
            plain_limits.update(limiter)
    assert limiter.authorize("user", "alex").limit == 16


def test_without_a_rule():
    limiter = limitree.Limiter(USERS)
    PlainLimits().update(limiter)
    assert limiter.authorize("view", "x").unlimited


def test_keys_are_segments(limiter):
    plain_limits = PlainLimits()
    rule = plain_limits.rule("2/hour", "trade")
    plain_limits.update(limiter)
    for key in ("a:b", "*", "", b"\xff", "2/1h"):
        assert [limiter.authorize_all(rule.paths(key)).limited
                for _ in range(3)] == [False, False, True], key
    with pytest.raises(TypeError):
        limiter.authorize_all(rule.paths(None))


def test_there_is_an_end_to_them(monkeypatch):
    monkeypatch.setattr(plain, "MAX_LIMITS", 5)
    plain_limits = PlainLimits()
    for i in range(1, 6):
        plain_limits.rule(f"{i}/s", "x")
    with pytest.raises(limitree.ConfigError, match="one limit too many"):
        plain_limits.rule("6/s", "x")
    assert plain_limits.rule("5/s;4/s", "x").tails == (("5/1s",), ("4/1s",))


def test_rules_from_many_threads(limiter):
    plain_limits = PlainLimits()
    failures = []

    def work(i):
        try:
            for j in range(1, 40):
                rule = plain_limits.rule(f"{j}/hour", f"scope{i % 2}")
                plain_limits.update(limiter)
                limit = limiter.peek_all(rule.paths("a")).limit
                assert limit == j, (limit, j)
                if j % 10 == 0:
                    limiter.reload(USERS)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(plain_limits) == 2 * 39


def test_forks_while_threads_add_rules(limiter):
    plain_limits = PlainLimits()
    done = threading.Event()

    def work():
        for i in range(1, 5000):
            plain_limits.rule(f"{i}/hour", "busy")
            plain_limits.update(limiter)
            if done.is_set():
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for i in range(20):
            child = os.fork()
            if child == 0:
                try:
                    rule = plain_limits.rule(f"{i + 1}/minute", "child")
                    plain_limits.update(limiter)
                    limit = limiter.peek_all(rule.paths("a")).limit
                    os._exit(7 if limit == i + 1 else 1)
                finally:
                    os._exit(255)
            status = os.waitpid(child, 0)[1]
            assert os.waitstatus_to_exitcode(status) == 7
    finally:
        done.set()
        thread.join()


def test_a_name_is_of_one_only(limiter):
    first, second = PlainLimits("own"), PlainLimits("own")
    first.update(limiter)
    with pytest.raises(limitree.ConfigError, match='"own"'):
        second.update(limiter)
    rule = first.rule("1/minute", "trade")
    first.update(limiter)
    assert limiter.peek_all(rule.paths("alex")).limit == 1
