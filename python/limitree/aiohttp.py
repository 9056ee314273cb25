"""Limits for the server of aiohttp, decided before its handlers.

    limiter = Limiter(store="shm://myapp")

    @routes.get("/trade")
    @limiter.limit("5/minute")
    async def trade(request): ...

    limiter.init_app(app)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from aiohttp import web

from limitree import web as answers
from limitree.decision import Decision
from limitree.errors import ClientGone, LimitExceeded, StoreError
from limitree.rate_limit import PLAIN
from limitree.record import Record
from limitree.server_site import ServerLimit, ServerSite

__all__ = ["RECORD", "Limiter", "RateLimitExceeded"]

#: The key of a request's decisions: ``request[RECORD].decisions``.
RECORD: Any = (web.RequestKey("limitree", Record)
               if hasattr(web, "RequestKey") else "limitree")


class RateLimitExceeded(web.HTTPTooManyRequests, LimitExceeded):
    """A request was denied: a 429, which is the answer unless a middleware
    before that of the limiter catches it."""

    def __init__(self, decision: Decision, message: str | None = None,
                 response: web.StreamResponse | None = None) -> None:
        answer = answers.denial(decision, "none", message=message)
        web.HTTPTooManyRequests.__init__(self, **_parts_of(answer))
        self.decision = decision
        self.message = message  #: of the limit, or None
        self.response = response  #: of an on_breach, or None


class _Limit(ServerLimit):
    @staticmethod
    def peer_of(request: web.Request) -> str | None:
        return request.remote


class Limiter(ServerSite):
    __doc__ = ServerSite.__doc__

    _kind = _Limit
    _error = RateLimitExceeded

    def init_app(self, app: web.Application) -> None:
        """Add the limiter to `app`: headers, denials, start and end.

        Requests are decided in a middleware, in the order of registration.
        """
        app.middlewares.append(self.middleware)
        app.on_response_prepare.append(self._prepare)
        app.cleanup_ctx.append(self._context)

    @property
    def middleware(self) -> Any:
        """The middleware, which init_app adds."""
        @web.middleware
        async def limited(request: web.Request, handler: Any
                          ) -> web.StreamResponse:
            return await self._answer(request, handler)
        return limited

    def record_of(self, request: Any) -> Record:
        """Return the decisions about a request."""
        found: Record = request[RECORD]
        return found

    async def _answer(
            self, request: web.Request,
            handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        record = request.get(RECORD)
        if record is None:  # no limiter of an outer application
            record = request[RECORD] = Record()
            record.limiter = self
        found: Any = request.match_info
        if self.enabled and found.http_exception is None:
            try:
                await self.ask_route(found.handler, request, _Route(request))
            except RateLimitExceeded as error:
                if error.response is None:
                    raise
                return error.response
            except (StoreError, ClientGone) as error:
                answer = answers.answer_to(error)
                return web.Response(status=answer.status, **_parts_of(answer))
        try:
            return await handler(request)
        except web.HTTPException:
            raise
        except Exception:
            if record.holds.open:
                record.holds.failed = not record.holds.started
            raise

    async def _prepare(self, request: web.Request,
                       response: web.StreamResponse) -> None:
        record = request.get(RECORD)
        if record is not None and record.limiter is self:
            response.headers.extend(await self.headers_of(
                record, response.status, response.headers.items()))

    async def _context(self, app: web.Application) -> AsyncIterator[None]:
        await self._lifespan.open()
        yield
        await self._lifespan.close()


class _Route:
    """The route of a request, as a Where."""

    def __init__(self, request: web.Request) -> None:
        self._request = request
        self.method = request.method
        self.url = request.path

    def route(self, method: str | None = None) -> str:
        route = self._request.match_info.route
        path = (self._request.path if route.resource is None
                else route.resource.canonical)
        return f"{method or route.method}{path}".translate(PLAIN)


def _parts_of(answer: answers.Answer) -> dict[str, Any]:
    headers = dict(answer.headers)
    del headers["Content-Length"]
    return {"text": answer.body.decode(), "headers": headers,
            "content_type": headers.pop("Content-Type")}
