"""Decisions and errors in queues of tasks: pickled, copied, compared."""

import concurrent.futures
import copy
import json
import multiprocessing
import pickle

import pytest

import limitree
from limitree.testing import ManualClock

TREE = "schema: {job: {limits: [1, 2, 3600], children: {a: {limits: 1/h}}}}"


def denied(levels=True):
    limiter = limitree.Limiter(TREE, levels=levels, clock=ManualClock())
    limiter.authorize("job", "a")
    return limiter.authorize("job", "a")


def raise_exceeded():
    raise limitree.LimitExceeded(denied())


WAYS = [copy.copy, copy.deepcopy, *(
    lambda thing, protocol=protocol: pickle.loads(pickle.dumps(thing, protocol))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1))]
FACTS = ["limited", "allowed", "limit", "remaining", "retry_after",
         "reset_after", "next_after", "source", "unlimited", "shadowed",
         "degraded", "soft"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("levels", [True, False])
def test_a_decision(way, levels):
    decision = denied(levels)
    made = way(decision)
    assert type(made) is limitree.Decision and made is not decision
    assert made == decision and hash(made) == hash(decision)
    assert [getattr(made, fact) for fact in FACTS] == [
        getattr(decision, fact) for fact in FACTS]
    assert made.as_cell() == decision.as_cell()
    if levels:
        assert made.headers() == decision.headers()
        assert [level.policy for level in made.levels] == ["job", "job:a"]
        assert way(made.levels[0]) == decision.levels[0]
        assert hash(way(made.levels[0])) == hash(decision.levels[0])
    else:
        assert made.levels is None


@pytest.mark.parametrize("way", WAYS)
def test_what_a_decision_is_asked_as(way):
    """The denial of authorize_action_for_user is true, and stays so."""
    limiter = limitree.Limiter({"schema": {"user": {"limits": "1/h"}}})
    assert limiter.authorize_action_for_user("a", "b") is None
    assert way(limiter.authorize_action_for_user("a", "b"))
    with pytest.raises(TypeError):
        bool(way(limiter.authorize("user")))


def test_equal_are_those_that_say_the_same():
    assert denied() == denied() and len({denied(), denied()}) == 1
    limiter = limitree.Limiter(TREE, clock=ManualClock())
    one, other = (limiter.peek("job", cost=cost) for cost in (1, 2))
    assert one != other and not one == other
    assert one != limiter.peek("job", levels=True)  # which has levels
    assert one != "job" and not one == one.levels
    named = [limitree.Limiter({"schema": {name: {"limits": "1/h"}}},
                              clock=ManualClock()).peek(name, levels=True)
             for name in ("one", "other")]
    assert named[0].levels != named[1].levels and named[0] != named[1]
    with pytest.raises(TypeError):
        one < other  # noqa: B015


@pytest.mark.parametrize("way", WAYS)
def test_an_error(way):
    error = limitree.LimitExceeded(denied())
    made = way(error)
    assert type(made) is limitree.LimitExceeded
    assert made == error and hash(made) == hash(error)
    assert str(made) == str(error) and made.decision == error.decision
    assert made != limitree.LimitExceeded(denied(levels=False))
    for other in (limitree.StoreTimeout("gone", "timeout"),
                  limitree.ConfigError("a.yaml:1:2: no", "a.yaml:2:2: no")):
        assert type(way(other)) is type(other)
        assert str(way(other)) == str(other)


@pytest.mark.parametrize("levels", [True, False])
def test_an_error_that_went_through_json(levels):
    """Celery's encoder calls __json__."""
    decision = denied(levels)
    text = json.dumps([decision], default=lambda other: other.__json__())
    made = limitree.LimitExceeded(*json.loads(text))
    assert made == limitree.LimitExceeded(decision)
    assert made.decision == decision
    other = limitree.LimitExceeded(repr(decision))  # of another queue
    assert str(other) == f"limit exceeded: {decision!r}"


@pytest.mark.parametrize("change, error", [
    ({"state": "00"}, ValueError), ({"state": "xy"}, ValueError),
    ({"state": None}, TypeError), ({"levels": [["job"]]}, ValueError),
    ({"levels": [["job", "00"]]}, ValueError), ({"levels": 7}, TypeError),
    ({"levels": [["job", "00" * 128]] * 65}, ValueError), (None, ValueError)])
def test_an_error_that_json_has_damaged(change, error):
    found = {} if change is None else {**denied().__json__(), **change}
    with pytest.raises(error):
        limitree.LimitExceeded(found)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_another_process(method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, context) as pool:
        assert pool.submit(denied).result(60) == denied()
        with pytest.raises(limitree.LimitExceeded) as caught:
            pool.submit(raise_exceeded).result(60)
        assert caught.value.decision == denied()


@pytest.mark.parametrize("arguments, error", [
    ((b"x" * 79, None, False), ValueError),
    (("x", None, False), TypeError),
    ((bytes(80), ["level"], False), TypeError),
    ((bytes(80), ("level",), False), TypeError)])
def test_a_decision_that_was_damaged(arguments, error):
    with pytest.raises(error):
        limitree._native._decision(*arguments)


def test_a_level_that_was_damaged():
    for arguments in ((bytes(127), "job"), (bytes(128), b"job"), (128, "job")):
        with pytest.raises((TypeError, ValueError)):
            limitree._native._level(*arguments)


def test_a_decision_with_more_levels_than_there_are():
    """Its headers are written into memory for 64 of them."""
    restore, (state, levels, is_denial) = denied().__reduce__()
    most = restore(state, levels * 32, is_denial)
    assert len(dict(most.headers())["RateLimit"].split(", ")) == 64
    with pytest.raises(ValueError, match="at most 64 levels, not 66"):
        restore(state, levels * 33, is_denial)
