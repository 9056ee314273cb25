"""Limits for Sanic, decided before its handlers.

    limiter = Limiter(app=app, store="shm://myapp")

    @app.get("/trade")
    @limiter.limit("5/minute")
    async def trade(request): ...
"""

from __future__ import annotations

import functools
from typing import Any, cast

from sanic import HTTPResponse, Request, Sanic
from sanic.exceptions import SanicException

from limitree import web
from limitree.decision import Decision
from limitree.errors import ClientGone, LimitExceeded, StoreError
from limitree.headers import problem
from limitree.record import Record
from limitree.server_site import ServerLimit, ServerSite

__all__ = ["Limiter", "RateLimitExceeded"]


class RateLimitExceeded(SanicException, LimitExceeded):
    """A request was denied; without your own handler the answer is a 429."""

    status_code = 429
    quiet = True
    message: str

    def __init__(self, decision: Decision, message: str | None = None,
                 response: Any = None) -> None:
        # It sets `message`.
        SanicException.__init__(self, message or str(
            problem(decision)["detail"]), 429)
        self.decision = decision
        self.response = response  #: of an on_breach, or None


class _Limit(ServerLimit):
    @staticmethod
    def peer_of(request: Request) -> str | None:
        return request.ip or None  # a Unix socket has none


class Limiter(ServerSite):
    __doc__ = ServerSite.__doc__

    _kind = _Limit
    _error = RateLimitExceeded

    def init_app(self, app: Sanic[Any, Any]) -> None:
        """Add the limiter to `app`: headers, denials, start and end.

        Requests are decided in a middleware, in the order of registration.
        """
        app.ctx.limiter = self
        app.register_middleware(self._before, "request")
        app.register_middleware(cast("Any", self._answering), "response")
        app.add_signal(self._ended, "http.lifecycle.response")
        app.add_signal(self._failed, "http.lifecycle.exception")
        app.register_listener(self._open, "before_server_start")
        app.register_listener(self._close, "after_server_stop")
        # Handlers of an application for RateLimitExceeded come first.
        for kind in (LimitExceeded, StoreError, ClientGone):
            app.error_handler.add(kind, _handler)

    def record_of(self, request: Any) -> Record:
        """Return the decisions about a request."""
        found: Record = request.ctx.limitree
        return found

    async def _before(self, request: Request) -> None:
        if hasattr(request.ctx, "limitree"):  # an error, which is answered
            return
        request.ctx.limitree = Record()
        if self.enabled and request.route is not None:
            await self.ask_route(_endpoint_of(request.route.handler), request,
                                 _Route(request))

    async def _answering(self, request: Request, response: HTTPResponse
                         ) -> None:
        record: Record | None = getattr(request.ctx, "limitree", None)
        if record is not None:
            # Not added to: a handler may answer with one response twice.
            response.headers.update(await self.headers_of(
                record, response.status, response.headers.items()))

    async def _ended(self, request: Request, response: HTTPResponse) -> None:
        record: Record | None = getattr(request.ctx, "limitree", None)
        if record is not None and record.holds.open:
            record.forget()
            await record.holds.end_awaited()

    async def _failed(self, request: Request, exception: Exception) -> None:
        record: Record | None = getattr(request.ctx, "limitree", None)
        if (record is not None and record.holds.open
                and getattr(exception, "status_code", 500) >= 500):
            record.holds.failed = not record.holds.started

    async def _open(self, app: Any) -> None:
        await self._lifespan.open()

    async def _close(self, app: Any) -> None:
        await self._lifespan.close()


def _endpoint_of(handler: Any) -> Any:
    """Return the function of a route, which Sanic wraps for a websocket."""
    while (isinstance(handler, functools.partial)
           and getattr(handler.func, "__name__", "") == "_websocket_handler"):
        handler = handler.args[0]
    return handler


class _Route:
    """The route of a request, as a Where."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.method = request.method
        self.url = request.path

    def route(self, method: str | None = None) -> str:
        found: Any = self._request.route
        methods = method or ",".join(sorted(found.methods))
        return f"{methods}{found.uri}".replace("*", "%2A")


def _handler(request: Request, error: Any) -> HTTPResponse:
    response: HTTPResponse | None = getattr(error, "response", None)
    if response is not None:
        return response
    answer = web.answer_to(error)
    headers = dict(answer.headers)
    return HTTPResponse(answer.body, answer.status, headers,
                        headers.pop("Content-Type"))
