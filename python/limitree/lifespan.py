"""The limiter of an ASGI application, from its start to its end.

Code that makes a limiter closes it: a limiter that was passed in stays open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from limitree.aio import AsyncLimiter
from limitree.errors import StoreError
from limitree.limiter import Limiter
from limitree.limits import NO_LIMITS, Limits, Replace
from limitree.web import logger, options_of

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def limiter_of(limits: Limits | Limiter | None, store: str | None,
               options: dict[str, Any]) -> Limiter:
    """Return the Limiter that was passed in as `limits`, or a new one.

    Raises what Limiter raises, and TypeError for what only a new one needs.
    """
    if not isinstance(limits, Limiter):
        return Limiter(NO_LIMITS if limits is None else limits,
                       "memory://" if store is None else store,
                       **options_of(options))
    _refuse(store is not None or bool(options))
    return limits


def _refuse(has_options: bool) -> None:
    if has_options:
        raise TypeError("store and options belong to the limiter: give them "
                        "where it is made")


class LimiterLifespan:
    """An AsyncLimiter that was passed in, or a new one.

    A new limiter decides in this process while the store fails, unless
    `options` say otherwise.  It is closed when the application ends, and made
    again if the application starts again, as tests do.  Raises what
    AsyncLimiter raises, and TypeError for a Limiter.
    """

    def __init__(self, limits: Limits | AsyncLimiter | None, store: str,
                 options: dict[str, Any]) -> None:
        self._owns = not isinstance(limits, AsyncLimiter)
        if isinstance(limits, AsyncLimiter):
            _refuse(store != "memory://" or any(
                value is not None for value in options.values()))
            self._limiter = limits
            return
        if isinstance(limits, Limiter):
            raise TypeError("a Limiter would stop the event loop: use "
                            "AsyncLimiter")
        self._limits = NO_LIMITS if limits is None else limits
        self._store = store
        self._options = options_of(options)
        self._put: dict[str, Mapping[str, object]] = {}
        self._limiter = self._made()

    def _made(self) -> AsyncLimiter:
        return AsyncLimiter(self._limits, self._store, **self._options)

    @property
    def limiter(self) -> AsyncLimiter:
        """The limiter, open unless other code has closed it."""
        if self._owns and self._limiter.closed:
            self._limiter = self._made()
            for name, node in self._put.items():
                self._limiter.put(name, node)
        return self._limiter

    def put(self, name: str, node: Mapping[str, object], *,
            replace: Replace) -> None:
        """As AsyncLimiter.put, also for limiters made later."""
        self.limiter.put(name, node, replace=replace)
        if self._owns:
            self._put[name] = node

    def forget(self) -> None:
        """Forget all buckets, which are in this process.

        Raises RuntimeError for those that are not.
        """
        limiter = self.limiter
        if not self._owns or limiter._limiter.is_shared:
            raise RuntimeError("buckets in a store are not forgotten all at "
                               "once: reset a caller, or empty the store")
        limiter._limiter.close()  # so that another one is made

    async def open(self) -> None:
        """Connect to the store, so that no request has to wait for that.

        The application starts even if the store does not answer;
        ``on_store_error`` then decides about requests.
        """
        try:
            await self.limiter.ping()
        except StoreError as error:
            logger.warning("the store does not answer: %s", error)

    async def close(self) -> None:
        """Close the limiter, unless it was passed in."""
        if self._owns:
            await self._limiter.close()

    async def lifespan(self, app: App, scope: Scope, receive: Receive,
                       send: Send) -> None:
        """Run the lifespan of `app`: open before it starts, close after it.

        The answers and errors of `app` go on to the server.
        """
        async def opening() -> Message:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await self.open()
            return message

        try:
            await app(scope, opening, send)
        finally:
            await self.close()
