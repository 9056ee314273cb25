"""The limiter behind an ASGI application, from its start to its end.

Who makes a limiter closes it: one that was handed over stays open.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from limitree.aio import AsyncLimiter
from limitree.errors import StoreError
from limitree.limiter import Limiter
from limitree.limits import Limits
from limitree.web import logger, options_of

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Keeper:
    """An AsyncLimiter that was handed over, or one of its own.

    One of its own decides in this process while the store fails, unless
    `options` say otherwise.

    Its own is closed when the application ends, and made anew should the
    application be started again, as tests do.  Raises what AsyncLimiter raises,
    TypeError for a Limiter.
    """

    def __init__(self, limits: Limits | AsyncLimiter, store: str,
                 options: dict[str, Any]) -> None:
        self._owns = not isinstance(limits, AsyncLimiter)
        if isinstance(limits, AsyncLimiter):
            if store != "memory://" or any(
                    value is not None for value in options.values()):
                raise TypeError("store and options belong to the limiter: give "
                                "them where it is made")
            self._limiter = limits
            return
        if isinstance(limits, Limiter):
            raise TypeError("a Limiter would stop the event loop: use "
                            "AsyncLimiter")
        self._limits = limits
        self._store = store
        self._options = options_of(options)
        self._beside: dict[str, object] = {}
        self._limiter = self._made()

    def _made(self) -> AsyncLimiter:
        return AsyncLimiter(self._limits, self._store, **self._options)

    @property
    def limiter(self) -> AsyncLimiter:
        """The limiter, open unless somebody else has closed it."""
        if self._owns and self._limiter.closed:
            self._limiter = self._made()
            self._limiter.put_beside(self._beside)
        return self._limiter

    def put_beside(self, schema: Mapping[str, object]) -> None:
        """As AsyncLimiter.put_beside, also for limiters that are made later."""
        self.limiter.put_beside(schema)
        if self._owns:
            self._beside = {**self._beside, **schema}

    async def open(self) -> None:
        """Connect to the store, so that no request has to wait for that.

        A store that is not there is no reason not to start: what then happens
        to requests, ``on_store_error`` says.
        """
        try:
            await self.limiter.ping()
        except StoreError as error:
            logger.warning("the store does not answer: %s", error)

    async def close(self) -> None:
        """Close the limiter, unless it was handed over."""
        if self._owns:
            await self._limiter.close()

    async def lifespan(self, app: App, scope: Scope, receive: Receive,
                       send: Send) -> None:
        """Run the lifespan of `app`: open before it starts, close after it.

        Whatever it answers or raises goes on to the server.
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
