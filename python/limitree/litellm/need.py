"""What a request asks of each unit, and which units there are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from limitree.litellm.usage import MOST, Usage

if TYPE_CHECKING:
    from limitree.decision import Level

# As limitree says it, before it asks the store.
_NOBODY_COUNTS = re.compile(r'no limit counts "(\w+)"')
_NOT_NAMED = re.compile(r".* counts (\w+), and the request names none$", re.S)


class Need:
    """The tokens of a request, and the price of one in dollars."""

    def __init__(self, tokens: Usage, prices: tuple[float, float]) -> None:
        self.tokens = tokens
        self.is_shrunk = False
        self._prices = prices

    def costs(self) -> dict[str, int]:
        """Return the cost in each unit, to be held.

        It is at least 1: what holds nothing is not charged when the use is
        known.
        """
        before, after, total = self.tokens
        return {"input_tokens": _at_least_1(before),
                # Nothing is written: nothing to charge later.
                "output_tokens": min(after, MOST),
                "tokens": _at_least_1(total),
                "microdollars": _at_least_1(microdollars(self.dollars))}

    @property
    def dollars(self) -> float:
        """The price of these tokens."""
        return (self.tokens.input * self._prices[0]
                + self.tokens.output * self._prices[1])

    def shrink(self, levels: Iterable[Level]) -> bool:
        """Ask for less output, if with that it can fit; return whether so.

        Otherwise a request that allows more than a limit has would never pass.
        """
        output = self.tokens.output
        for level in levels:
            if (not level.limited or level.mode == "shadow"
                    or level.cost <= level.limit):
                continue
            asked = self.costs().get(level.unit, 0)
            if asked == 0:  # not a unit of an answer
                return False
            most = level.limit * asked // level.cost  # a limit may have a cost
            output = min(output, self._output_for(level.unit, most))
        if not 1 <= output < self.tokens.output:
            return False
        before = self.tokens.input
        self.tokens = Usage(before, output, before + output)
        self.is_shrunk = True
        return True

    def _output_for(self, unit: str, most: int) -> int:
        """Return the output with which `unit` costs at most `most`."""
        if unit == "output_tokens":
            return most
        if unit == "tokens":
            return most - self.tokens.input
        if unit == "microdollars" and self._prices[1] > 0:
            left = most - 1 - self.tokens.input * self._prices[0] * 1e6
            return math.floor(left / (self._prices[1] * 1e6))
        return 0


class UnitsOfTree:
    """Which units the limits count, learnt from what the limiter refuses.

    A reload may change them.
    """

    def __init__(self) -> None:
        self._unknown: set[str] = set()

    def counts(self, unit: str) -> bool:
        """Return whether a limit may count `unit`."""
        return unit not in self._unknown

    def named(self, costs: dict[str, int]) -> dict[str, int]:
        """Return the costs in units that a limit may count."""
        return {unit: units for unit, units in costs.items()
                if self.counts(unit)}

    def learn(self, error: ValueError) -> bool:
        """Return whether `error` tells something new about the units."""
        nobody = _NOBODY_COUNTS.match(str(error))
        if nobody is not None and nobody[1] not in self._unknown:
            self._unknown.add(nobody[1])
            return True
        missing = _NOT_NAMED.match(str(error))
        if missing is not None and missing[1] in self._unknown:
            self._unknown.remove(missing[1])
            return True
        return False


def microdollars(dollars: float) -> int:
    """Return `dollars` in microdollars, rounded up."""
    if not dollars > 0:  # nan, too
        return 0
    # 0.1 + 0.2 dollars are not a microdollar more than 0.3.
    return math.ceil(round(min(dollars * 1e6, MOST), 6))


def _at_least_1(units: int) -> int:
    return min(max(units, 1), MOST)
