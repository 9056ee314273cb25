"""For tests of programs that use limitree: a clock that stands still.

With limitree installed, pytest has the fixture ``limitree_clock``.
"""

from __future__ import annotations

import time

#: A time in 2023, as good as any other.
_START_NS = 1_700_000_000_000_000_000


class ManualClock:
    """A clock that a test moves, for ``Limiter(clock=...)``.

    ``acquire`` moves it instead of waiting.
    """

    def __init__(self, now_ns: int = _START_NS) -> None:
        self.now_ns = now_ns  #: nanoseconds since 1970

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        """Move forward by `seconds`, or back if they are negative."""
        self.now_ns += round(seconds * 1e9)

    sleep = advance

    def __repr__(self) -> str:
        return f"ManualClock(now_ns={self.now_ns})"


def wall_clock() -> int:
    """Return the current result of ``time.time_ns``.

    For tools that replace the functions of ``time``, such as freezegun and
    time-machine: ``Limiter(limits, clock=limitree.testing.wall_clock)``.
    """
    return time.time_ns()
