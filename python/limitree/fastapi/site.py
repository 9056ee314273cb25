"""The limiter that the RateLimits of an application ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from starlette.requests import HTTPConnection

from limitree.aio import AsyncLimiter
from limitree.asgi import Record
from limitree.clients import ClientIp
from limitree.fastapi.errors import RateLimitExceeded
from limitree.fastapi.scope import key_function
from limitree.lifespan import LimiterLifespan
from limitree.limits import NO_LIMITS, Limits
from limitree.path_costs import PathCosts
from limitree.plain import PlainLimits

_ROOT = "route"


class Site:
    """The limiter of an application, and how it finds its callers."""

    def __init__(self, key_func: Callable[..., Any] | ClientIp,
                 limits: Limits | AsyncLimiter | None, store: str,
                 strategy: str | None, enabled: bool, options: dict[str, Any]
                 ) -> None:
        self.enabled = enabled  #: whether anything is asked at all
        self.plain = PlainLimits(_ROOT, strategy)  #: the limits given as texts
        self._lifespan = LimiterLifespan(
            NO_LIMITS if limits is None else limits, store, options)
        self.plain.update(self._lifespan)  # the name must be free
        self.key = key_function(key_func)  #: tells callers apart

    @property
    def limiter(self) -> AsyncLimiter:
        """The limiter that is asked."""
        return self._lifespan.limiter

    async def authorize(self, connection: HTTPConnection, ask: PathCosts
                        ) -> Any:
        """Return the Decision on `ask`, or the AsyncReservation.

        Raises RateLimitExceeded if it is denied.
        """
        if self.plain.has_news:
            # The first request of a route.  Its limits are read together with
            # those of other routes, which may take long if there are many.
            await asyncio.to_thread(self.plain.update, self._lifespan)
        record: Record = connection.scope["limitree"]
        limiter = self.limiter
        decision = record.note(ask, await ask.authorize(limiter, True), limiter)
        if decision.limited:
            raise RateLimitExceeded(decision)
        return decision


def site_of(connection: HTTPConnection) -> Site:
    """Return the Site of the application that `connection` is for."""
    record = connection.scope.get("limitree")
    if record is None or record.limiter is None:
        raise RuntimeError("RateLimit has nobody to ask: the application needs "
                           "a limitree.fastapi.Limiter(app=app)")
    return cast(Site, record.limiter)
