"""The vectors of reservations, which are settled by their receipts."""

import json
import pathlib

import pytest

import limitree
from limitree.testing import ManualClock
from servers import PATIENT
from test_conformance import check_level, same_time

VECTORS = json.loads((pathlib.Path(__file__).parents[1] / "conformance" /
                      "holds.json").read_text())
BASE_NS = VECTORS["base_ns"]
KINDS = {"gcra": {}, "fixed_window": {"algorithm": "fixed_window"}}


def limit_of(level):
    kind = level["kind"]
    limit = {name: level[name] for name in ("mode", "cost", "unit", "unsettled")
             if name in level}
    if "hold_ns" in level:
        limit["hold"] = f"{level['hold_ns']}ns"
    if kind == "concurrent":
        limit.pop("unsettled", None)  # a slot is always free then
        return {**limit, "concurrent": level["capacity"]}
    limit["count"] = level["count"]
    limit["period"] = f"{level['period_ns']}ns"
    if kind == "gcra":
        limit["burst"] = level["capacity"]
    return {**limit, **KINDS[kind]}


def is_sayable(case):
    """Whether all windows are whole microseconds, as limits.yaml wants it."""
    return all(level["kind"] != "fixed_window" or level["period_ns"] % 1000 == 0
               for step in case["steps"] for level in step.get("levels", []))


CASES = [case for case in VECTORS["cases"] if is_sayable(case)]


def test_most_are_sayable():
    assert len(CASES) >= 50


class Runner:
    """Runs the steps of one case."""

    def __init__(self, store, make=limitree.Limiter, **options):
        self.clock = ManualClock(BASE_NS)
        self.limiter = make("schema: {free: {}}", store, clock=self.clock,
                            levels=True, **options)
        self.receipts = {}  # by the ids of the vectors

    def run(self, step):
        self.clock.now_ns = BASE_NS + step["now_ns"]
        if step["op"] == "reset":
            for key in step["keys"]:
                self.limiter.reset(key)
            return
        levels = step["levels"]
        self.limiter.reload({"schema": {
            level["key"]: {"limits": limit_of(level)} for level in levels}})
        counted = {level.get("unit", "request") for level in levels}
        units = {unit: number for unit, number in step.get("units", {}).items()
                 if unit in counted}
        getattr(self, step["op"])(step, [[level["key"]] for level in levels],
                                  units)

    def reserve(self, step, paths, units):
        hold = f"{step['hold_ns']}ns" if step.get("hold_ns") else None
        held = self.limiter.reserve_all(paths, units, hold=hold)
        self.check(step, held)
        if held.allowed or step["id"] not in self.receipts:
            self.receipts[step["id"]] = held.receipt

    def authorize(self, step, paths, units):
        self.check(step, self.limiter.authorize_all(paths, units))

    def peek(self, step, paths, units):
        self.check(step, self.limiter.peek_all(paths, units))

    def settle(self, step, paths, units):
        assert self.limiter.settle(self.receipts[step["id"]], units) == (
            step["expect"]["settled"])

    def extend(self, step, paths, units):
        assert self.limiter.extend(
            self.receipts[step["id"]], f"{step['hold_ns']}ns") == (
            step["expect"]["extended"])

    def check(self, step, decision):
        expected = step["expect"]
        assert len(decision.levels) == len(expected["levels"])
        for level, answer in zip(decision.levels, expected["levels"]):
            check_level(level, answer)
        whole = expected["aggregate"]
        assert decision.limited is bool(whole["limited"])
        assert (decision.limit, decision.remaining) == (whole["limit"],
                                                        whole["remaining"])
        assert same_time(decision.retry_after, whole["retry_after_ns"])
        assert same_time(decision.reset_after, whole["reset_after_ns"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case, holding):
    play(Runner(holding, timeout=PATIENT), case)


def play(runner, case):
    for number, step in enumerate(case["steps"]):
        try:
            runner.run(step)
        except AssertionError as error:
            raise AssertionError(f"step {number}: {step}") from error
