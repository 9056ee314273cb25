"""Requests that are slowed down in place of being denied: those of a caller who
has used much of a limit wait before they go on.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any, Union

from limitree.decision import Decision
from limitree.lifespan import App, Message, Receive, Scope, Send
from limitree.locks import ForkLock
from limitree.wait import Clock, Duration, Waiting, seconds_of
from limitree.web import Answer, too_busy

#: The option: the wait of each used request above `delay_after`, or a function
#: of what is used and the request.
Delay = Union[Duration, Callable[[int, Any], float]]


class Delays:
    """The requests of one middleware that wait."""

    def __init__(self, delay_after: int, delay: Delay, max_delay: Duration,
                 max_delayed: int, clock: Clock | None) -> None:
        for name, number in (("delay_after", delay_after),
                             ("max_delayed", max_delayed)):
            if (isinstance(number, bool) or not isinstance(number, int)
                    or number < 0):
                raise ValueError(f"{name} must be a number of requests, is "
                                 f"{number!r}")
        self._after = delay_after
        self._delay: Any = (delay if callable(delay)
                            else seconds_of(delay, "delay"))
        self._longest = seconds_of(max_delay, "max_delay")
        self._most = max_delayed
        self._waiting = Waiting(None, clock)
        self._lock = ForkLock()
        self._count = 0

    def seconds(self, decision: Decision, request: Any) -> float:
        """Return how long a request that was allowed waits."""
        used = decision.limit - decision.remaining
        if used <= self._after or decision.unlimited:
            return 0.0
        found = (self._delay(used, request) if callable(self._delay)
                 else self._delay * (used - self._after))
        if (isinstance(found, bool) or not isinstance(found, (int, float))
                or math.isnan(found)):
            raise TypeError("delay must return a number of seconds, has "
                            f"returned {found!r}")
        return float(min(max(found, 0), self._longest))

    def wait(self, seconds: float) -> Answer | None:
        """Wait in this thread; return the answer if too many requests wait."""
        if not self._enter():
            return too_busy(seconds)
        try:
            self._waiting.sleep(seconds)
        finally:
            self._leave()
        return None

    async def call(self, seconds: float, app: App, scope: Scope,
                   receive: Receive, send: Send) -> Answer | None:
        """Wait, and call `app` unless the client has gone away.

        Returns the answer if too many requests wait.
        """
        if not self._enter():
            return too_busy(seconds)
        ahead = _Ahead(receive)
        try:
            if self._waiting.is_manual:
                self._waiting.sleep(seconds)
            else:
                await ahead.wait(seconds)
        finally:
            self._leave()
        if ahead.is_gone:
            scope["limitree"].let_go()  # it has used nothing
            return None
        try:
            await app(scope, ahead.receive, send)
        finally:
            ahead.close()
        return None

    def _enter(self) -> bool:
        with self._lock:
            if self._count >= self._most:
                return False
            self._count += 1
            return True

    def _leave(self) -> None:
        with self._lock:
            self._count -= 1


class _Ahead:
    """Messages of a client that come while its request waits.

    They tell whether it is still there.  A body is not read ahead: only its
    first part is kept.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._first: list[Message] = []
        self._coming: asyncio.Future[Message] | None = None
        self.is_gone = False

    async def wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while True:
            self._coming = asyncio.ensure_future(self._receive())
            try:
                await asyncio.wait({self._coming},
                                   timeout=max(0, end - loop.time()))
            except asyncio.CancelledError:
                self.close()
                raise
            if not self._coming.done():
                return
            message = self._coming.result()
            self._coming = None
            self._first.append(message)
            self.is_gone = message["type"].endswith(".disconnect")
            if self.is_gone:
                return
            if message.get("more_body") or loop.time() >= end:
                await asyncio.sleep(end - loop.time())
                return

    async def receive(self) -> Message:
        """Return the next message."""
        if self._first:
            return self._first.pop(0)
        coming, self._coming = self._coming, None
        return await (self._receive() if coming is None else coming)

    def close(self) -> None:
        """Ask for no message any more."""
        if self._coming is not None:
            self._coming.cancel()
