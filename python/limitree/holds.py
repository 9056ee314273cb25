"""Reserving: for costs known afterwards, and for so many at once."""

from __future__ import annotations

import sys

from limitree import _native
from limitree.wait import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar

    from limitree._native import Hold
    from limitree.demand import Cost, Costs, Parts, Segment
    from limitree.greenlets import Watch
    from limitree.redis_client import Sender
    from limitree.reservation import Reservation
    from limitree.wait import Duration

    _Result = TypeVar("_Result")

_MAX_SECONDS = 24 * 3600  # LIMITREE_MAX_HOLD_NS


def ns_of(hold: Duration, name: str = "hold") -> int:
    """Return the nanoseconds of `hold`; errors call it `name`.

    Raises ValueError if it is out of range, and what seconds_of raises.
    """
    seconds = seconds_of(hold, name)
    ns = round(seconds * 1e9) if 0 < seconds <= _MAX_SECONDS else 0
    if ns == 0:
        raise ValueError(f"{name} must be more than 0 and at most 1d, is {hold}"
                         )
    return ns


def usage_of(cost: Costs | None, units: dict[str, int]) -> Costs | None:
    """Return what was used, in one form; None stands for "as held"."""
    if not units:
        return cost
    if cost is not None:
        raise TypeError("settle takes a cost, or units by their names, not "
                        "both")
    return units


class HoldingLimiter(_native.Limiter):
    """The part of Limiter that is about reservations."""

    _greenlets: Watch | None = None  # made by the first call under gevent
    _client: Sender | None = None

    def reserve(self, *path: Segment, cost: Cost = 1,
                hold: Duration | None = None, levels: bool | None = None
                ) -> Reservation:
        """Decide as authorize, and hold what the cost may be.

        Limits with ``hold`` or ``concurrent`` hold their part of `cost` until
        it is settled, all others charge it.  `hold` is how long at most, up to
        24 hours: seconds, a timedelta or a text such as "10m"; None leaves it
        to each limit.  Raises what authorize raises, and ValueError for
        another `hold`.
        """
        return self._reserving(_native.Hold(path, False, cost), hold, levels)

    def reserve_all(self, paths: Iterable[Iterable[Segment]], cost: Costs = 1,
                    *, hold: Duration | None = None,
                    levels: bool | None = None, part: Parts | None = None
                    ) -> Reservation:
        """Reserve along all of `paths`, or nothing, as authorize_all."""
        return self._reserving(_native.Hold(paths, True, cost, part), hold,
                               levels)

    def settle(self, receipt: Segment, cost: Costs | None = None,
               **units: int) -> int:
        """Settle a reservation by its receipt, as Reservation.settle.

        Raises ValueError for a text that is not a receipt.
        """
        return self._settle_hold(_native.Hold.of_receipt(receipt), cost, units)

    def cancel(self, receipt: Segment) -> int:
        """Cancel a reservation by its receipt, as Reservation.cancel."""
        return self._cancel_hold(_native.Hold.of_receipt(receipt))

    def extend(self, receipt: Segment, hold: Duration) -> int:
        """Extend a reservation by its receipt, as Reservation.extend."""
        return self._extend_hold(_native.Hold.of_receipt(receipt), hold)

    def _reserving(self, made: Hold, hold: Duration | None,
                   levels: bool | None) -> Reservation:
        from limitree.reservation import Reservation
        ns = 0 if hold is None else ns_of(hold)
        decision: Any = NotImplemented
        if self._has_greenlets:
            from limitree import greenlets
            decision = greenlets.reserve(self, made, ns, levels)
        if decision is NotImplemented:
            decision = self._reserve(made, ns, levels, None)
        return Reservation(self, made, decision)

    def _settle_hold(self, made: Hold, cost: Costs | None,
                     units: dict[str, int]) -> int:
        used = usage_of(cost, units)
        return self._held(lambda make: self._settle(made, used, make))

    def _cancel_hold(self, made: Hold) -> int:
        return self._held(lambda make: self._cancel(made, make))

    def _extend_hold(self, made: Hold, hold: Duration) -> int:
        ns = ns_of(hold)
        return self._held(lambda make: self._extend(made, ns, make))

    def _held(self, start: Callable[[Any], object]) -> int:
        """Return how many levels there were; `start` makes the call."""
        decision: Any = NotImplemented
        if self._has_greenlets:
            from limitree import greenlets
            decision = greenlets.ask(self, start)
        if decision is NotImplemented:
            decision = start(None)
        return int(decision.held)

    def _aside(self, function: Callable[[], _Result]) -> _Result:
        """Return the result of `function`, which may wait for the store."""
        if not self._has_greenlets or self._client is not None:
            return function()
        from limitree.greenlets import aside
        return aside(function)

    @property
    def _has_greenlets(self) -> bool:
        """Whether a call may have to wait in gevent's way."""
        return "gevent.monkey" in sys.modules and self.is_remote
