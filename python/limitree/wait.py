"""How long acquire waits, and when it gives up."""

from __future__ import annotations

import time

from limitree import _native
from limitree.errors import ConfigError, LimitExceeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable

    from typing_extensions import TypeAlias

    from limitree._native import Decision

# As texts, because otherwise their parts would have to be imported.
Clock: TypeAlias = "Callable[[], int]"
#: Seconds, or a text as in a limits.yaml: "500ms", "15s", "1m30s".
Duration: TypeAlias = "float | str | datetime.timedelta"

_INFINITE = float("inf")


def seconds_of(duration: Duration, name: str) -> float:
    """Return `duration` in seconds; errors call it `name`.

    Raises TypeError for other types, ConfigError for a text that is not a
    duration, ValueError for nan.
    """
    if isinstance(duration, str):
        try:
            return _native.parse_duration(duration) / 1e9
        except ConfigError as error:
            raise ConfigError(f"{name} {error}") from None
    if hasattr(duration, "total_seconds"):
        return duration.total_seconds()
    if isinstance(duration, bool) or not isinstance(duration, (int, float)):
        raise TypeError(f"{name} must be seconds or a text such as '500ms', "
                        f"not {type(duration).__name__}")
    if duration != duration:  # nan
        raise ValueError(f"{name} must be seconds or a text such as '500ms', "
                         f"is {duration!r}")
    return float(duration)


class Waiting:
    """The time that one acquire has left.

    If a clock is given, it measures the time.  If the clock has a method
    ``sleep(seconds)``, as ManualClock has, that method waits.
    """

    def __init__(self, timeout: Duration | None, clock: Clock | None) -> None:
        self._now = clock or time.monotonic_ns
        self._deadline = _INFINITE
        if timeout is not None:
            seconds = seconds_of(timeout, "timeout")
            if seconds < _INFINITE:
                self._deadline = self._now() + round(seconds * 1e9)
        own_sleep: Callable[[float], None] | None
        own_sleep = getattr(clock, "sleep", None)
        #: Whether only the clock knows how to sleep.
        self.is_manual = own_sleep is not None
        self.sleep = own_sleep or time.sleep

    @property
    def left(self) -> float | None:
        """The seconds that are left; None: any number, or only a test's clock
        knows."""
        if self._deadline == _INFINITE or self.is_manual:
            return None
        return max(self._deadline - self._now(), 0) / 1e9

    def next(self, decision: Decision) -> float:
        """Return the seconds to sleep after `decision`.

        Raises LimitExceeded if `decision` says that no wait helps, or if it
        would take longer than what is left.
        """
        # Not retry_after, which may be spread: callers in line are already.
        seconds = decision.next_after
        if decision.retry_after is None or seconds == _INFINITE:
            raise LimitExceeded(decision)
        if self._now() + seconds * 1e9 > self._deadline:
            raise LimitExceeded(decision)
        return seconds
