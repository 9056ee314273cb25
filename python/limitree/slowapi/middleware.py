"""The middleware: limits of routes without a decorator, and headers."""

from __future__ import annotations

from typing import Any

from limitree.decision import Decision
from limitree.headers import Headers
from limitree.lifespan import App, Receive, Scope, Send
from limitree.starlette import extension

__all__ = ["SlowAPIASGIMiddleware", "SlowAPIMiddleware"]


class SlowAPIASGIMiddleware:
    """Limits the routes of an application by its ``state.limiter``."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._inner: _Inner | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send
                       ) -> None:
        state = scope["app"].state
        if scope["type"] == "lifespan" and not hasattr(state, "limiter"):
            try:  # the application may make it when it starts
                await self._app(scope, receive, send)
            finally:
                if hasattr(state, "limiter"):
                    await state.limiter._lifespan.close()
            return
        limiter = state.limiter
        inner = self._inner
        if inner is None or inner.limiter is not limiter:
            inner = self._inner = _Inner(self._app, limiter)
        await inner(scope, receive, send)


class SlowAPIMiddleware(SlowAPIASGIMiddleware):
    """The same."""


class _Inner(extension._Middleware):
    """The middleware of one limiter."""

    def __init__(self, app: App, limiter: Any) -> None:
        super().__init__(app, limiter)
        self.limiter = limiter

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})  # shared with the request of a handler
        await super().serve(scope, receive, send)

    def headers_of(self, decisions: list[Decision]) -> Headers:
        found: Headers = self.limiter._headers_of(decisions)
        return found
