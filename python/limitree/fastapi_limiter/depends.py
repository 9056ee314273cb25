"""The dependencies that limit routes and messages."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from fastapi import Request, Response
from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket

from limitree.asgi import Record
from limitree.errors import LimitExceeded
from limitree.fastapi.rate_limit import RateLimit
from limitree.fastapi_limiter.decorators import SKIPS
from limitree.fastapi_limiter.extension import FastAPILimiter
from limitree.fastapi_limiter.rates import texts_of
from limitree.functions import run_awaited, settled
from limitree.lifespan import Scope
from limitree.path_costs import in_utf8
from limitree.plain import joined
from limitree.rate_limit import UNKNOWN
from limitree.starlette.scope import Connection
from limitree.starlette.site import Site

__all__ = ["RateLimiter", "WebSocketRateLimiter"]

_KIND = inspect.Parameter.POSITIONAL_OR_KEYWORD


class RateLimiter(RateLimit):
    """A dependency that lets a request pass, or calls `callback`.

    The limits are those of `limiter`, or `times` requests in a window that
    begins with the first.  They count for each caller, by `identifier`, and
    for each URL of a route.  With `blocking`, the request waits for its turn,
    unless `max_queue` others wait, of all callers and URLs.
    """

    def __init__(self, limiter: Any = None,
                 identifier: Callable[..., Any] | None = None,
                 callback: Callable[..., Any] | None = None,
                 blocking: bool = False, *, max_queue: int = 1000,
                 times: int = 1, milliseconds: int = 0, seconds: int = 0,
                 minutes: int = 0, hours: int = 0) -> None:
        length = milliseconds + 1000 * (seconds + 60 * (minutes + 60 * hours))
        texts = ([f"{times} per {length}ms fixed_window first"]
                 if limiter is None else texts_of(limiter))
        super().__init__(*texts, key=identifier, by="path")
        self._callback = callback
        self._blocking = blocking
        self._max_queue = max_queue
        self._waiting = 0
        self._has_times = limiter is None
        self.__signature__ = inspect.Signature([
            inspect.Parameter("request", _KIND, annotation=Request),
            inspect.Parameter("response", _KIND, annotation=Response)])

    def applies_to(self, endpoint: object) -> bool:
        """Whether the function of a route has limits."""
        return not getattr(endpoint, SKIPS, False)

    def _step(self, scope: Scope, ahead: dict[Any, Any]) -> list[RateLimit]:
        # Each one has its own callback, and charges what it allows.
        return [self]

    async def __call__(  # type: ignore[override]
            self, request: Request, response: Any = None) -> Any:
        """Ask the limiter; FastAPI calls this."""
        request.scope.setdefault("limitree", Record())
        return await self._pass(request, UNKNOWN,
                                self._callback or FastAPILimiter.http_callback,
                                (request, response))

    async def _pass(self, connection: HTTPConnection, key: Any,
                    callback: Callable[..., Any], told: tuple[Any, ...]) -> Any:
        site = FastAPILimiter.site(self._has_times)
        try:
            # Clients that have gone still wait, so all together are bounded.
            if self._blocking and self._waiting < self._max_queue:
                self._waiting += 1
                try:
                    await self._wait(site, connection, key)
                finally:
                    self._waiting -= 1
            else:
                await self._decide(site, connection, key, {})
        except LimitExceeded as error:
            if self._has_times:  # callbacks of then also get the wait
                wait = error.decision.retry_after or 0.0
                told += (math.ceil(wait * 1000),)
            return await settled(callback(*told))

    async def _wait(self, site: Site, connection: HTTPConnection, key: Any
                    ) -> None:
        """Wait in line for each limit; raise LimitExceeded if it is long."""
        if not self.applies_to(connection.scope.get("endpoint")):
            return
        paths, cost = await run_awaited(self.asking(
            site, connection, Connection(connection.scope), key))
        site.plain.update(site._lifespan)
        for path in paths:
            await site.limiter.acquire(*in_utf8(path), cost=cost,
                                       max_queue=self._max_queue)


class WebSocketRateLimiter(RateLimiter):
    """The same for the messages of a websocket: the handler calls it."""

    async def __call__(self, ws: WebSocket,  # type: ignore[override]
                       context_key: str = "") -> Any:
        """Ask about one message; `context_key` counts by itself."""
        site = FastAPILimiter.site(self._has_times)
        who = await settled((self._key or site.key)(ws))
        # A record of this message only: a websocket may live long.
        message = HTTPConnection({**ws.scope, "limitree": Record()})
        return await self._pass(message, joined(context_key, who),
                                self._callback or FastAPILimiter.ws_callback,
                                (ws,))
