"""Limits of outbound calls: callers wait in line for each host.

A server that answers 429 or 503 with ``Retry-After`` is left alone for so long.
The transports of limitree.httpx and limitree.requests share this.
"""

from __future__ import annotations

import asyncio
import email.utils
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

from limitree import lines
from limitree.aio import AsyncLimiter
from limitree.decision import Decision
from limitree.demand import Segment
from limitree.errors import LimitExceeded
from limitree.functions import Asking
from limitree.limiter import Limiter
from limitree.locks import ForkLock
from limitree.wait import Clock, Duration, Waiting, seconds_of

__all__ = ["Outbound", "Pauses", "WaitTooLong"]

#: Callers choose hosts, and must not fill the memory.
_MOST_HOSTS = 1000

#: The longest that a server is left alone: 24 days, as in Node.js.
_LONGEST = 2**31 / 1000


class WaitTooLong(Exception):
    """A call was not sent, because it would have to wait for too long.

    ``retry_after`` is the wait in seconds, None if no wait is long enough.
    ``decision`` is the denial of the limiter, None if the server has asked to
    be left alone.
    """

    def __init__(self, host: str, retry_after: float | None = None,
                 decision: Decision | None = None, why: str | None = None
                 ) -> None:
        if why is None:
            why = ("no wait is long enough" if retry_after is None
                   else f"try again in {retry_after:.3f} s")
        super().__init__(f"{host} must not be called now: {why}")
        self.host = host
        self.retry_after = retry_after
        self.decision = decision
        self._why = why

    def __reduce__(self) -> Any:
        return type(self), (self.host, self.retry_after, self.decision,
                            self._why)


def _seconds(text: str, now: float) -> float:
    """Return the wait in Retry-After: seconds or a date; 0 for all else."""
    if re.fullmatch(r"\s*[0-9]{1,9}\s*", text):
        return float(text)
    try:
        date = email.utils.parsedate_tz(text)
        return 0.0 if date is None else email.utils.mktime_tz(date) - now
    except (TypeError, ValueError, OverflowError, IndexError):
        return 0.0


class Pauses:
    """Servers that have asked to be left alone, by Retry-After."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._lock = ForkLock()
        self._until: dict[str, int] = {}  # ns; the oldest come first

    def _now(self) -> int:
        return (self._clock or time.monotonic_ns)()

    def left(self, host: str) -> float:
        """Return for how many seconds to leave `host` alone."""
        until = self._until.get(host)
        if until is None:
            return 0.0
        left = (until - self._now()) / 1e9
        if left > 0:
            return left
        with self._lock:
            if self._until.get(host) == until:
                del self._until[host]
        return 0.0

    def hear(self, host: str, status: int, retry_after: str | None) -> None:
        """Read an answer of `host`."""
        if status not in (429, 503) or retry_after is None:
            return
        wall = time.time() if self._clock is None else self._clock() / 1e9
        seconds = min(_seconds(retry_after, wall), _LONGEST)
        if seconds <= 0:
            return
        until = self._now() + round(seconds * 1e9)
        with self._lock:
            until = max(until, self._until.pop(host, 0))
            self._until[host] = until
            if len(self._until) > _MOST_HOSTS:
                del self._until[next(iter(self._until))]


class Outbound:
    """Lets calls to each host wait for their turn.

    ``limit`` is a text such as ``"10/second"``, for each host; or ``limiter``
    decides, which stays open, on the `path` of the request, a function, by
    default ``("host", host)``.  A call waits at most for ``max_wait``, seconds
    or a text, and behind at most ``max_queue`` others; otherwise `error` is
    raised.
    """

    def __init__(self, kind: type[Limiter | AsyncLimiter],
                 error: type[WaitTooLong], limit: str | None, limiter: Any,
                 path: Callable[[Any], Iterable[Segment]] | None,
                 max_wait: Duration | None, max_queue: int | None) -> None:
        if (limit is None) == (limiter is None):
            raise TypeError("give a limit of each host, such as "
                            "limit=\"10/second\", or a limiter")
        if path is not None and limiter is None:
            raise TypeError("a path is for a limiter of your own")
        if limiter is not None and not isinstance(limiter, kind):
            raise TypeError(f"limiter must be a {kind.__name__}, not "
                            f"{type(limiter).__name__}")
        lines.check_most(max_queue)
        self._max_wait = (float("inf") if max_wait is None
                          else seconds_of(max_wait, "max_wait"))
        self._max_queue = max_queue
        if limit is not None:
            limiter = kind(
                {"schema": {"host": {"children": {"*": {"limits": limit}}}}})
        self._limiter: Any = limiter
        self._is_async = kind is AsyncLimiter
        self._path = path
        self._error = error
        core = self._limiter._limiter if self._is_async else self._limiter
        self._clock: Clock | None = core.clock
        self._pauses = Pauses(self._clock)

    def waiting(self, host: str, request: Any) -> Asking:
        """Wait until `host` may be called, for limitree.functions.run."""
        path = ("host", host) if self._path is None else self._path(request)
        now = self._clock or time.monotonic_ns
        begin = now()

        def left() -> float:
            return self._max_wait - (now() - begin) / 1e9

        while True:
            pause = self._pauses.left(host)
            while pause > 0:
                if pause > left():
                    raise self._error(host, pause,
                                      why=f"it has asked to wait {pause:.3f} s")
                yield self._sleep(pause)
                pause = self._pauses.left(host)
            most = max(left(), 0.0)
            try:
                yield self._limiter.acquire(
                    *path, timeout=None if most == float("inf") else most,
                    max_queue=self._max_queue)
            except LimitExceeded as denied:
                wait = denied.decision.retry_after
                raise self._error(
                    host, None if wait == float("inf") else wait,
                    denied.decision, denied.message) from None
            # While this call stood in line, another may have been told to wait.
            if self._pauses.left(host) == 0:
                return

    def _sleep(self, seconds: float) -> Any:
        waiting = Waiting(None, self._clock)
        if waiting.is_manual or not self._is_async:
            return waiting.sleep(seconds)
        return asyncio.sleep(seconds)

    def hear(self, host: str, status: int, retry_after: str | None) -> None:
        """Read an answer of `host`."""
        self._pauses.hear(host, status, retry_after)
