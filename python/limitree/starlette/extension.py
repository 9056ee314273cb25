"""The extension: the limits of an application, decided before its routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.requests import HTTPConnection, Request
from starlette.routing import Match
from starlette.websockets import WebSocket

from limitree.errors import ClientGone, StoreError
from limitree.functions import settled
from limitree.lifespan import Receive, Scope, Send
from limitree.site import SiteMiddleware
from limitree.starlette.errors import HANDLERS, RateLimitExceeded
from limitree.starlette.scope import Connection
from limitree.starlette.site import Site


class Limiter(Site):
    __doc__ = Site.__doc__

    def init_app(self, app: Any) -> None:
        """Add the limiter to `app`: headers, denials, start and end.

        A request is decided before it reaches a route, and before middleware
        that was added earlier.
        """
        app.state.limiter = self
        app.add_middleware(_Middleware, limiter=self)


class _Middleware(SiteMiddleware):
    """Decides requests by the routes that they will take."""

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        site = scope["limitree"].limiter = self._limiter
        found = (_route_of(scope["app"].routes, scope) if site.enabled
                 else None)
        if found is None:
            await self.app(scope, receive, send)
            return
        connection = HTTPConnection(found)
        limits = site.limits_of(found["endpoint"], found.get("method", "WS"))
        try:
            await site.ask(limits, connection, Connection(found))
        except (ClientGone, RateLimitExceeded, StoreError) as error:
            await _answer(error, scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _route_of(routes: Iterable[Any], scope: Scope) -> Scope | None:
    """Return `scope` as the route sees it that will be taken, if any."""
    for route in routes:
        contexts = getattr(route, "effective_route_contexts", None)
        if contexts is not None:  # of a router that FastAPI includes
            below = _route_of(contexts(), scope)
            if below is not None:
                return below
            continue
        match, more = route.matches(scope)
        if match is not Match.FULL:
            continue
        found = {**scope, **more}
        inner = getattr(route, "routes", None)  # of a Mount or a Host
        if inner:
            return _route_of(inner, found)
        return {**found, "route": route} if "endpoint" in found else None
    return None


async def _answer(error: Exception, scope: Scope, receive: Receive, send: Send
                  ) -> None:
    """Answer with the handler of the application, or with ours."""
    handlers = scope["app"].exception_handlers
    handler = next(
        (found for found in (
            *(handlers.get(kind) for kind in type(error).__mro__),
            handlers.get(getattr(error, "status_code", None)),
            *(HANDLERS.get(kind) for kind in type(error).__mro__))
         if found is not None))
    if scope["type"] == "websocket":
        websocket = WebSocket(scope, receive, send)
        await receive()  # websocket.connect
        if isinstance(error, RateLimitExceeded):
            handler = HANDLERS[RateLimitExceeded]
        await settled(handler(websocket, error))
        return
    request = Request(scope, receive, send)
    response = await settled(handler(request, error))
    await response(scope, receive, send)
