"""The vectors that every store and every language must answer alike.

Each step reloads limits in which every key is a top-level name, and asks for
all of them in one request, as the runner for the C interface does.
"""

import json
import math
import pathlib

import pytest

import limitree
from limitree.testing import ManualClock
from servers import PATIENT, memcached

VECTORS = json.loads((pathlib.Path(__file__).parents[1] / "conformance" /
                      "gcra.json").read_text())
BASE_NS = VECTORS["base_ns"]
MODES = {"spend": "shadow"}


def limit_of(level):
    mode = level.get("mode", "enforce")
    return {"burst": level["capacity"], "count": level["count"],
            "period": f"{level['period_ns']}ns", "mode": MODES.get(mode, mode)}


def limits_of(case, levels):
    charge = {"ind": "independent", "aon": "all_or_nothing"}[case["rule"]]
    return {"schema": {level["key"]: {"charge": charge,
                                      "limits": limit_of(level)}
                       for level in levels} or {"free": {}}}


def ns(seconds):
    """Returns nanoseconds as the vectors write them: -1 for no wait."""
    if seconds is None or seconds == math.inf:
        return -1
    return seconds * 1e9


def same_time(seconds, expected):
    return math.isclose(ns(seconds), expected, rel_tol=1e-15)


def check_level(level, expected):
    assert level.limited is bool(expected["limited"])
    if "charged" in expected:  # a refund has none
        assert level.charged is bool(expected["charged"])
    assert (level.limit, level.remaining) == (expected["limit"],
                                              expected["remaining"])
    assert same_time(level.retry_after, expected["retry_after_ns"])
    assert same_time(level.reset_after, expected["reset_after_ns"])
    assert same_time(level.next_after, expected["next_in_ns"])


def check_aggregate(decision, expected):
    assert decision.limited is bool(expected["limited"])
    assert list(decision.as_cell()) == expected["five"]
    assert (decision.limit, decision.remaining) == (expected["limit"],
                                                    expected["remaining"])
    assert same_time(decision.retry_after, expected["retry_after_ns"])
    assert same_time(decision.reset_after, expected["reset_after_ns"])


def decide(limiter, case, step):
    levels = step["levels"]
    limiter.reload(limits_of(case, levels))
    costs = {level["cost"] for level in levels} or {1}
    cost, = costs
    if step["op"] == "spend":
        paths = [[level["key"]] for level in levels] or [["free"]]
        return limiter.authorize_all(paths, cost, levels=True)
    call = {"check": limiter.peek, "refund": limiter.refund}[step["op"]]
    assert len(levels) == 1
    return call(levels[0]["key"], cost=cost, levels=True)


def is_sayable(case):
    """Whether each step can be one Python call, with one cost for all."""
    for step in case["steps"]:
        levels = step.get("levels", [])
        if len({level["cost"] for level in levels}) > 1:
            return False
        if step["op"] in ("set_state", "reset"):
            return False
        if step["op"] != "spend" and len(levels) != 1:
            return False
        if len({level["key"] for level in levels}) < len(levels):
            return False
    return True


CASES = [case for case in VECTORS["cases"] if is_sayable(case)]


def test_most_are_sayable():
    assert len(CASES) >= 50


@pytest.fixture(scope="module")
def cached():
    """The URL of a memcached for all cases, which take keys of their own."""
    with memcached() as (url, _):
        yield url


def run(case, store, make=limitree.Limiter, **options):
    clock = ManualClock(BASE_NS)
    limiter = make("schema: {free: {}}", store, clock=clock, **options)
    for step in case["steps"]:
        clock.now_ns = BASE_NS + step.get("now_ns", 0)
        expected = step["expect"]
        if "error" in expected:
            with pytest.raises((ValueError, OverflowError)):
                decide(limiter, case, step)
            continue
        decision = decide(limiter, case, step)
        assert len(decision.levels) == len(expected["levels"])
        for level, answer in zip(decision.levels, expected["levels"]):
            check_level(level, answer)
        check_aggregate(decision, expected["aggregate"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_vector(case, store):
    run(case, store, timeout=PATIENT)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_vector_in_memcached(case, cached):
    run(case, cached, timeout=PATIENT, prefix=f"{case['id']}:")
