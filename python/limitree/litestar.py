"""Limits for Litestar, decided before its guards.

    limiter = Limiter(store="shm://myapp")

    @get("/trade")
    @limiter.limit("5/minute")
    async def trade() -> str: ...

    app = Litestar([trade], plugins=[limiter])
"""

from __future__ import annotations

from typing import Any, cast

from litestar import Response
from litestar.config.app import AppConfig
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException
from litestar.handlers import BaseRouteHandler
from litestar.handlers.websocket_handlers._utils import ListenerHandler
from litestar.middleware import DefineMiddleware
from litestar.plugins import InitPlugin
from litestar.utils.sync import AsyncCallable

from limitree import site, web
from limitree.asgi import refuse
from limitree.decision import Decision
from limitree.errors import ClientGone, LimitExceeded, StoreError
from limitree.headers import problem
from limitree.lifespan import Message, Receive, Scope, Send
from limitree.rate_limit import PLAIN

__all__ = ["Limiter", "RateLimit", "RateLimitExceeded"]

_ERROR = "limitree.error"  # of a scope


class RateLimitExceeded(HTTPException, LimitExceeded):
    """A request was denied; without your own handler the answer is a 429."""

    status_code = 429

    def __init__(self, decision: Decision, message: str | None = None,
                 response: Any = None) -> None:
        detail = message or str(problem(decision)["detail"])
        HTTPException.__init__(self, detail, detail=detail, status_code=429)
        self.decision = decision
        self.message = message  #: of the limit, or None
        self.response = response  #: of an on_breach, or None


class RateLimit(site.RouteLimit):
    """Limits as a guard, of a handler, a controller, a router or all of them.

    The arguments are those of limitree.fastapi.RateLimit, without Depends.
    """

    async def __call__(self, connection: ASGIConnection[Any, Any, Any, Any],
                       handler: BaseRouteHandler) -> None:
        """Do nothing: the guard of the Limiter has decided all of them."""
        record = connection.scope.get("limitree")
        if getattr(record, "limiter", None) is None:
            raise RuntimeError("RateLimit has nobody to ask: the application "
                               "needs plugins=[limitree.litestar.Limiter()]")


class Limiter(site.Site, InitPlugin):
    __doc__ = f"""{site.Site.__doc__}
    It is a plugin: ``Litestar(..., plugins=[limiter])``.
    """

    _kind = RateLimit
    _error = RateLimitExceeded

    def init_app(self, app: Any) -> None:
        """Raise TypeError: Litestar knows its plugins when it is made."""
        raise TypeError("a Litestar gets its limiter as a plugin: "
                        "Litestar(..., plugins=[limiter])")

    def on_app_init(self, app_config: AppConfig) -> AppConfig:
        """Add headers, denials, start and end; Litestar calls this."""
        app_config.state["limiter"] = self
        app_config.guards.insert(0, self._guard)
        app_config.middleware.insert(0, DefineMiddleware(
            cast("Any", _Middleware), limiter=self))
        app_config.on_startup.append(self._lifespan.open)
        app_config.on_shutdown.append(self._lifespan.close)
        for kind in (RateLimitExceeded, StoreError, ClientGone):
            app_config.exception_handlers.setdefault(kind, _handler)
        return app_config

    def _may_have_limits(self, endpoint: object) -> bool:
        return (not isinstance(endpoint, (BaseRouteHandler, type))
                and super()._may_have_limits(endpoint))

    async def _guard(self, connection: ASGIConnection[Any, Any, Any, Any],
                     handler: BaseRouteHandler) -> None:
        scope = cast("Scope", connection.scope)
        if not self.enabled:
            return
        guards = (guard for guard in handler.resolve_guards()
                  if isinstance(guard, RateLimit))
        where = _Handler(scope, handler)
        try:
            await self.ask([*self.limits_of(_function_of(handler),
                                            where.method),
                            *dict.fromkeys(guards)], connection, where)
        except (RateLimitExceeded, StoreError, ClientGone) as error:
            scope[_ERROR] = error
            raise


def _function_of(handler: BaseRouteHandler) -> Any:
    """Return the function of a handler, which Litestar wraps for threads and
    for messages of a websocket."""
    found: Any = handler.fn
    if isinstance(found, ListenerHandler):
        found = found._fn
    return found.func if isinstance(found, AsyncCallable) else found


class _Handler(site.Connection):
    """The handler of a connection, as a Where."""

    def __init__(self, scope: Scope, handler: BaseRouteHandler) -> None:
        super().__init__(scope)
        self._handler = handler

    def route(self, method: str | None = None) -> str:
        methods = getattr(self._handler, "http_methods", None) or ["WS"]
        path = (self._scope.get("path_template")
                or sorted(self._handler.paths)[0])
        name = f"{method or ','.join(sorted(map(str, methods)))}{path}"
        return name.translate(PLAIN)


class _Middleware(site.SiteMiddleware):
    """Reports decisions in every response, and refuses websockets."""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def refused(message: Message) -> None:
            error = scope.pop(_ERROR, None)
            if error is None:
                await send(message)
            else:  # Litestar would close the websocket, and not say why
                await refuse(web.answer_to(error), scope, receive, send)

        await super().serve(scope, receive, refused
                            if scope["type"] == "websocket" else send)


def _handler(request: Any, error: Any) -> Response[Any]:
    response: Response[Any] | None = getattr(error, "response", None)
    if response is not None:
        return response
    answer = web.answer_to(error)
    headers = dict(answer.headers)
    del headers["Content-Length"]
    return Response(answer.body, status_code=answer.status,
                    media_type=headers.pop("Content-Type"), headers=headers)
