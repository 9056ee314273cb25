"""The path and the cost for which the decorator ``limit`` asks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Union

Segment = Union[str, bytes]
SegmentOf = Union[Segment, Callable[..., Segment]]
# A number is the cost in the unit "request"; {"tokens": 812} is 1 request more.
Cost = Union[int, Mapping[str, int]]
# For all paths, or one for each.
_Numbers = Union[int, list[int], tuple[int, ...]]
Costs = Union[_Numbers, Mapping[str, _Numbers]]  # a list only for "request"
Part = Literal["charge", "check", "spend_if_fits"]
Parts = Union[Part, list[Part], tuple[Part, ...]]  # the same
CostOf = Union[Cost, Callable[..., Cost]]


class Demand(NamedTuple):
    """A path and a cost, which may depend on the arguments of the call."""

    path: tuple[SegmentOf, ...]
    cost: CostOf

    @classmethod
    def of_decorator(cls, path: tuple[SegmentOf, ...], cost: CostOf) -> Demand:
        """Return the demand of a decorator ``limit(*path, cost=cost)``.

        Raises TypeError if there is no path: ``@limiter.limit`` without
        parentheses would replace the function with the decorator.
        """
        if not path or (len(path) == 1 and callable(path[0])):
            raise TypeError("limit needs a path that begins with a name: "
                            "@limiter.limit(\"job\")")
        return cls(path, cost)

    def of_call(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
                ) -> tuple[list[Segment], Cost]:
        """Return the path and the cost for a call with these arguments."""
        path = [part(*args, **kwargs) if callable(part) else part
                for part in self.path]
        cost = self.cost
        return path, cost(*args, **kwargs) if callable(cost) else cost
