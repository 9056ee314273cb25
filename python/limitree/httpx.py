"""Limits of outbound calls with httpx: transports that wait for their turn.

    client = httpx.Client(transport=LimitTransport("10/second"))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import httpx

from limitree.aio import AsyncLimiter
from limitree.demand import Segment
from limitree.functions import run, run_awaited
from limitree.limiter import Limiter
from limitree.outbound import Outbound, WaitTooLong
from limitree.wait import Duration

__all__ = ["AsyncLimitTransport", "LimitTransport", "RateLimitExceeded"]

PathOf = Callable[[httpx.Request], Iterable[Segment]]


class RateLimitExceeded(WaitTooLong, httpx.TransportError):
    __doc__ = WaitTooLong.__doc__


class LimitTransport(httpx.BaseTransport):
    __doc__ = f"""A transport for ``httpx.Client``.
{(Outbound.__doc__ or '').partition(chr(10))[2]}
    `transport` sends the requests, by default an ``httpx.HTTPTransport()``.
    Raises RateLimitExceeded, which is an ``httpx.TransportError``.
    """

    def __init__(self, limit: str | None = None, *,
                 limiter: Limiter | None = None, path: PathOf | None = None,
                 max_wait: Duration | None = 60, max_queue: int | None = 1000,
                 transport: httpx.BaseTransport | None = None) -> None:
        self._outbound = Outbound(Limiter, RateLimitExceeded, limit, limiter,
                                  path, max_wait, max_queue)
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Wait for the turn of `request`, and send it."""
        host = request.url.netloc.decode()
        run(self._outbound.waiting(host, request))
        response = self._transport.handle_request(request)
        self._outbound.hear(host, response.status_code,
                            response.headers.get("retry-after"))
        return response

    def close(self) -> None:
        """Close the transport inside."""
        self._transport.close()


class AsyncLimitTransport(httpx.AsyncBaseTransport):
    __doc__ = f"""A transport for ``httpx.AsyncClient`` on the loop of asyncio.
{(Outbound.__doc__ or '').partition(chr(10))[2]}
    A `limiter` is an AsyncLimiter.  `transport` sends the requests, by default
    an ``httpx.AsyncHTTPTransport()``.  Raises RateLimitExceeded, which is an
    ``httpx.TransportError``.
    """

    def __init__(self, limit: str | None = None, *,
                 limiter: AsyncLimiter | None = None,
                 path: PathOf | None = None, max_wait: Duration | None = 60,
                 max_queue: int | None = 1000,
                 transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._outbound = Outbound(AsyncLimiter, RateLimitExceeded, limit,
                                  limiter, path, max_wait, max_queue)
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request
                                   ) -> httpx.Response:
        """Wait for the turn of `request`, and send it."""
        host = request.url.netloc.decode()
        await run_awaited(self._outbound.waiting(host, request))
        response = await self._transport.handle_async_request(request)
        self._outbound.hear(host, response.status_code,
                            response.headers.get("retry-after"))
        return response

    async def aclose(self) -> None:
        """Close the transport inside."""
        await self._transport.aclose()
