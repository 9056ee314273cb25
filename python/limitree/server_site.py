"""A Site for frameworks that have a server of their own, which is not ASGI."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from limitree.clients import ClientIp
from limitree.headers import Headers
from limitree.rate_limit import Where
from limitree.record import Record
from limitree.site import RouteLimit, Site
from limitree.tasks import when_done


class ServerLimit(RouteLimit):
    """A RateLimit whose functions get a request of such a framework."""

    @staticmethod
    def peer_of(request: Any) -> str | None:
        """Return the address of the other end of the connection."""
        raise NotImplementedError

    @classmethod
    def address_of(cls, clients: ClientIp, request: Any) -> str:
        """Return the address of the client of a request."""
        return clients(cls.peer_of(request),
                       request.headers.getall(clients.header, ()))


class ServerSite(Site):
    __doc__ = Site.__doc__

    async def ask_route(self, endpoint: Any, request: Any, where: Where
                        ) -> None:
        """Decide the limits of a route; what they hold ends with the task."""
        record = self.record_of(request)
        try:
            await self.ask(self.limits_of(endpoint, where.method), request,
                           where)
        finally:  # a function behind what is held may refuse
            task = asyncio.current_task()
            if record.holds.open and task is not None:
                record.forget = when_done(task, record.holds.end_awaited)

    async def headers_of(self, record: Record, status: int,
                         headers: Iterable[tuple[str, str]]) -> Headers:
        """Charge what a response that begins costs; return the headers to add.

        A Retry-After of its own stays.
        """
        headers = list(headers)
        if record.holds.open:
            record.holds.start(headers)
        await record.answer(status, headers)
        if not record.decisions:
            return []
        found = self._headers.headers(record.decisions,
                                      self.limiter._limiter.clock)
        names = {name.lower() for name, _ in headers}
        return [(name, value) for name, value in found
                if name != "Retry-After" or "retry-after" not in names]
