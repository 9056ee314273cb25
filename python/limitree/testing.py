"""For tests of programs that use limitree: time that stands still.

The fixture ``limitree_clock`` is there once limitree is installed beside
pytest.
"""

from __future__ import annotations

import time

#: A time in 2023, as good as any other.
_START_NS = 1_700_000_000_000_000_000


class ManualClock:
    """A clock that moves when it is told to, for ``Limiter(clock=...)``.

    ``acquire`` does not wait on it but moves it on.
    """

    def __init__(self, now_ns: int = _START_NS) -> None:
        self.now_ns = now_ns  #: nanoseconds since 1970

    def __call__(self) -> int:
        return self.now_ns

    def advance(self, seconds: float) -> None:
        """Move on by `seconds`, or back if they are negative."""
        self.now_ns += round(seconds * 1e9)

    sleep = advance

    def __repr__(self) -> str:
        return f"ManualClock(now_ns={self.now_ns})"


def wall_clock() -> int:
    """Return the time as ``time.time_ns`` tells it when it is called.

    For tools that replace the functions of ``time``, such as freezegun and
    time-machine: ``Limiter(limits, clock=limitree.testing.wall_clock)``.
    """
    return time.time_ns()
