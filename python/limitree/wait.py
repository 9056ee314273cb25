"""How long acquire waits, and when it gives up."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from limitree.errors import LimitExceeded

if TYPE_CHECKING:
    from limitree._native import Decision

Clock = Callable[[], int]


class Waiting:
    """The time that one acquire has left.

    A clock that is given is also asked how late it is; one that has a method
    ``sleep(seconds)``, as ManualClock has, sleeps by it.
    """

    def __init__(self, timeout: float | None, clock: Clock | None) -> None:
        self._now = clock or time.monotonic_ns
        self._deadline = (None if timeout is None
                          else self._now() + round(timeout * 1e9))
        own_sleep: Callable[[float], None] | None
        own_sleep = getattr(clock, "sleep", None)
        #: Whether only the clock knows how to sleep.
        self.is_manual = own_sleep is not None
        self.sleep = own_sleep or time.sleep

    def next(self, decision: Decision) -> float:
        """Return the seconds to sleep after `decision`.

        Raises LimitExceeded if `decision` says that no wait helps, or if it
        would take longer than what is left.
        """
        seconds = decision.retry_after
        if seconds is None or seconds == float("inf"):
            raise LimitExceeded(decision)
        if (self._deadline is not None
                and self._now() + seconds * 1e9 > self._deadline):
            raise LimitExceeded(decision)
        return seconds
