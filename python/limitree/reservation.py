"""A Decision about a reservation, and how it ends."""

from __future__ import annotations

import contextlib
import operator
import os
from collections.abc import Coroutine, Generator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn

from limitree.decision import Level

if TYPE_CHECKING:
    from limitree._native import Hold
    from limitree.decision import Decision
    from limitree.demand import Costs
    from limitree.headers import Headers, Reset, Style
    from limitree.wait import Duration


def _of_decision(name: str) -> Any:
    """Return a property that the decision has, too."""
    return property(operator.attrgetter(f"decision.{name}"),
                    doc=f"``{name}`` of the Decision.")


class Reserved:
    """What both kinds of reservations have.

    ``decision`` is the Decision; its attributes and methods are also those of
    the reservation.  ``held`` is how many limits hold: 0 if it was denied.
    """

    def __init__(self, limiter: Any, hold: Hold, decision: Decision) -> None:
        self.decision = decision
        self._limiter = limiter
        self._hold = hold
        self._is_open = decision.held > 0  # neither settled nor cancelled here
        self._process = os.getpid()

    @property
    def receipt(self) -> str:
        """A text by which any process can settle, cancel and extend.

        It needs the same limits and the same store.  Raises ValueError if the
        paths are too long for a receipt: it has at most 64 KiB.
        """
        return self._hold.receipt()

    @contextlib.contextmanager
    def _ending(self) -> Iterator[None]:
        was_open, self._is_open = self._is_open, False
        try:
            yield
        except (TypeError, ValueError, OverflowError):
            self._is_open = was_open  # nothing was asked
            raise

    @property
    def _ends_here(self) -> bool:
        """Whether the end of the block ends the hold.

        A child of fork leaves the block, too: its parent is still inside.
        """
        return self._is_open and self._process == os.getpid()

    limited: Final[bool] = _of_decision("limited")
    allowed: Final[bool] = _of_decision("allowed")
    limit: Final[int] = _of_decision("limit")
    remaining: Final[int] = _of_decision("remaining")
    retry_after: Final[float | None] = _of_decision("retry_after")
    reset_after: Final[float] = _of_decision("reset_after")
    next_after: Final[float] = _of_decision("next_after")
    binding_reset_after: Final[float] = _of_decision("binding_reset_after")
    held: Final[int] = _of_decision("held")
    levels: Final[tuple[Level, ...] | None] = _of_decision("levels")
    source: Final[str] = _of_decision("source")
    unlimited: Final[bool] = _of_decision("unlimited")
    shadowed: Final[bool] = _of_decision("shadowed")
    degraded: Final[bool] = _of_decision("degraded")
    soft: Final[bool] = _of_decision("soft")

    def as_cell(self) -> tuple[int, int, int, int, int]:
        return self.decision.as_cell()

    def headers(self, style: Style = "ietf", reset: Reset = "delta"
                ) -> Headers:
        return self.decision.headers(style, reset)

    def problem(self) -> dict[str, object]:
        return self.decision.problem()

    def __bool__(self) -> bool:
        return bool(self.decision)  # TypeError, which says what to ask for

    def __reduce__(self) -> NoReturn:
        raise TypeError("a reservation cannot be pickled or copied: pass on "
                        "its receipt")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.decision!r} held={self.held}>"


class Reservation(Reserved):
    """The answer to Limiter.reserve.

    As a context manager it settles as held when its block ends, and cancels
    when the block raises, unless that was done before.  If it was denied, the
    block runs too: ``limited`` is true then, and there is nothing to settle.
    """

    def settle(self, cost: Costs | None = None, **units: int) -> int:
        """End the hold, and charge what was used.

        `cost` is as that of reserve; ``settle(tokens=812)`` is
        ``settle({"tokens": 812})``.  A unit that is not named was used as it
        was held.  Returns how many limits were settled: 0 if it was settled or
        cancelled before, or has ended; then nothing changes.  Raises what
        authorize raises.
        """
        with self._ending():
            return int(self._limiter._settle_hold(self._hold, cost, units))

    def cancel(self) -> int:
        """End the hold, and charge nothing; returns as settle."""
        with self._ending():
            return int(self._limiter._cancel_hold(self._hold))

    def extend(self, hold: Duration) -> int:
        """Let the hold end `hold` from now; returns as settle."""
        return int(self._limiter._extend_hold(self._hold, hold))

    def __enter__(self) -> Reservation:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if not self._ends_here:
            return
        if kind is None:
            self.settle()
            return
        # The error of the block says more.  The hold ends by itself.
        with contextlib.suppress(Exception):
            self.cancel()


class AsyncReservation(Reserved):
    """The answer to AsyncLimiter.reserve: a Reservation with ``async with``."""

    async def settle(self, cost: Costs | None = None, **units: int) -> int:
        """End the hold, and charge what was used, as Reservation.settle."""
        with self._ending():
            return int(await self._limiter._settle_hold(self._hold, cost,
                                                        units))

    async def cancel(self) -> int:
        """End the hold, and charge nothing, as Reservation.cancel."""
        with self._ending():
            return int(await self._limiter._cancel_hold(self._hold))

    async def extend(self, hold: Duration) -> int:
        """Let the hold end `hold` from now, as Reservation.extend."""
        return int(await self._limiter._extend_hold(self._hold, hold))

    async def __aenter__(self) -> AsyncReservation:
        return self

    async def __aexit__(self, kind: type[BaseException] | None,
                        error: BaseException | None,
                        trace: TracebackType | None) -> None:
        if not self._ends_here:
            return
        if kind is None:
            await self.settle()
            return
        # The request is on its way before this waits for the first time, so a
        # task that is cancelled once more cancels its hold all the same.
        with contextlib.suppress(Exception):
            await self.cancel()


class Reserving(Coroutine[Any, Any, AsyncReservation]):
    """What AsyncLimiter.reserve returns: for ``await`` and ``async with``."""

    def __init__(self, reserving: Coroutine[Any, Any, AsyncReservation]
                 ) -> None:
        self._reserving = reserving

    def send(self, value: Any) -> Any:
        """See Coroutine, for tasks."""
        return self._reserving.send(value)

    def throw(self, *error: Any) -> Any:
        """See Coroutine."""
        return self._reserving.throw(*error)

    def close(self) -> None:
        """See Coroutine."""
        self._reserving.close()

    def __await__(self) -> Generator[Any, Any, AsyncReservation]:
        return self._reserving.__await__()

    async def __aenter__(self) -> AsyncReservation:
        self._made = await self._reserving
        return self._made

    async def __aexit__(self, kind: type[BaseException] | None,
                        error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self._made.__aexit__(kind, error, trace)
