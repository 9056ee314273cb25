"""The vectors of all algorithms, made by tests/conformance/reference.py."""

import json
import math
import pathlib
import subprocess
import sys

import pytest

import limitree
from limitree.testing import ManualClock

FOLDER = pathlib.Path(__file__).parents[1] / "conformance"
NAMES = ["fixed_window", "fixed_window_first", "sliding_log", "sliding_window",
         "sliding_tail", "sliding_tail_up", "leaky_step", "token_bucket",
         "calendar", "mixed", "overrun", "leased"]
FILES = {name: json.loads((FOLDER / f"{name}.json").read_text())
         for name in NAMES}
CASES = [pytest.param(file["base_ns"], case, id=f"{name}-{case['id']}")
         for name, file in FILES.items() for case in file["cases"]]


def same_time(seconds, expected_ns):
    if seconds is None or seconds == math.inf:
        return expected_ns == -1
    return math.isclose(seconds * 1e9, expected_ns, rel_tol=1e-15)


def check(answer, expected):
    for name in ("limited", "limit", "remaining", "soft", "charged"):
        if name in expected:
            assert getattr(answer, name) == expected[name], name
    for name in ("retry_after", "reset_after", "next_after", "grows_after"):
        if f"{name}_ns" in expected:
            assert same_time(getattr(answer, name), expected[f"{name}_ns"])


@pytest.mark.parametrize("rule", limitree.ALGORITHMS)
def test_each_algorithm_has_vectors(rule):
    """A new algorithm needs vectors and a page."""
    name, _, drain = rule.partition(", ")
    texts = [json.dumps(file) for file in FILES.values()]
    # test_conformance.py has the vectors of gcra.
    assert name == "gcra" or any(
        f'"algorithm": "{name}"' in text
        and drain.removeprefix("drain: ") in text for text in texts)
    page = (FOLDER.parents[1] / "docs" / "algorithms.md").read_text()
    assert f"\n| `{name}`" in page


@pytest.mark.parametrize("base_ns, case", CASES)
def test_vector(base_ns, case, store):
    clock = ManualClock(base_ns)
    limiter = limitree.Limiter(case["limits"], store, clock=clock, levels=True)
    for step in case["steps"]:
        clock.now_ns = base_ns + step["now_ns"]
        if step["op"] == "pressure":
            limiter.set_pressure(step["millionths"] / 1e6)
            continue
        call = getattr(limiter, step["op"])
        if step["op"] == "reset":
            call(*step["path"])
            continue
        decision = call(*step["path"], cost=step["cost"])
        expected = step["expect"]
        assert list(decision.as_cell()) == expected["decision"]["five"]
        check(decision, expected["decision"])
        assert len(decision.levels) == len(expected["levels"])
        for level, answer in zip(decision.levels, expected["levels"]):
            check(level, answer)


@pytest.mark.parametrize("program", ["reference.py", "lease_reference.py"])
def test_the_files_are_those_of_the_reference(program):
    subprocess.run([sys.executable, FOLDER / program, "--check"], check=True)


def test_soft_requests_are_counted():
    limiter = limitree.Limiter({"schema": {"a": {"limits": {
        "count": 10, "period": "1m",
        "overrun": {"percent": 20, "when": "idle"}}}}})
    assert sum(limiter.authorize("a").allowed for _ in range(20)) == 10
    limiter.set_pressure(0)
    decisions = [limiter.authorize("a") for _ in range(5)]
    assert [one.allowed for one in decisions] == [True, True, False, False,
                                                  False]
    assert [one.soft for one in decisions] == [True, True, False, False, False]
    assert decisions[0].remaining == 0
    assert limiter.stats().soft == 2
    assert limiter.limit_stats()[0].soft == 2
    limiter.set_pressure(1.0)
    assert not limiter.authorize("a").soft


@pytest.mark.parametrize("pressure", [-0.1, 1.1, math.nan, math.inf])
def test_pressure_is_from_0_to_1(pressure):
    with pytest.raises(ValueError, match="pressure must be from 0 to 1"):
        limitree.Limiter({"schema": {"a": {}}}).set_pressure(pressure)
