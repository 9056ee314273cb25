"""What the decorator ``limit`` asks for on behalf of a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Segment = str | bytes
SegmentOf = Segment | Callable[..., Segment]
Costs = int | list[int] | tuple[int, ...]  # for all paths, or one for each
CostOf = int | Callable[..., int]


class Demand(NamedTuple):
    """A path and a cost, each of them perhaps told by the call's arguments."""

    path: tuple[SegmentOf, ...]
    cost: CostOf

    def of_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
                ) -> tuple[list[Segment], int]:
        """Return the path and the cost for a call with these arguments."""
        path = [part(*args, **kwargs) if callable(part) else part
                for part in self.path]
        cost = self.cost
        return path, cost(*args, **kwargs) if callable(cost) else cost
