"""Limits for Quart, decided before its views.

    limiter = Limiter(app=app, store="shm://myapp")

    @app.get("/trade")
    @limiter.limit("5/minute")
    async def trade(): ...
"""

from __future__ import annotations

from typing import Any

from quart import (
    Blueprint,
    Quart,
    current_app,
    has_request_context,
    request,
    websocket,
)
from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response

from limitree import site, web
from limitree.decision import Decision
from limitree.errors import ClientGone, StoreError
from limitree.headers import problem

__all__ = ["Limiter", "RateLimitExceeded"]


class RateLimitExceeded(TooManyRequests):
    """A request was denied: a 429, for ``@app.errorhandler(429)`` to render."""

    def __init__(self, decision: Decision, message: str | None = None,
                 response: Any = None) -> None:
        super().__init__(message or str(problem(decision)["detail"]),
                         response or _response(web.denial(
                             decision, "none", message=message)))
        self.decision = decision
        self.message = message  #: of the limit, or None


class Limiter(site.Site):
    __doc__ = f"""{site.Site.__doc__}
    Functions may leave out the request, for which ``quart.request`` stands;
    for a websocket they get ``quart.websocket``.
    """

    _error = RateLimitExceeded

    def init_app(self, app: Quart) -> None:
        """Add the limiter to `app`: headers, denials, start and end.

        Requests are decided in a ``before_request`` function, in the order of
        registration.
        """
        app.extensions["limitree"] = self
        setattr(app, "asgi_app", site.SiteMiddleware(app.asgi_app, self))
        app.before_request(self._before)
        app.before_websocket(self._before)
        handlers = app.error_handler_spec[None][None]
        for kind in (StoreError, ClientGone):
            if kind not in handlers:
                app.register_error_handler(kind, _undecided)

    def _may_have_limits(self, endpoint: object) -> bool:
        return (isinstance(endpoint, Blueprint)
                or super()._may_have_limits(endpoint))

    async def _before(self) -> None:
        connection: Any = request if has_request_context() else websocket
        if not self.enabled or connection.endpoint is None:
            return
        app = current_app
        where = _View(connection)
        view = app.view_functions.get(connection.endpoint)
        groups = [app.blueprints[name] for name in connection.blueprints]
        limits = [one for one in self.limits_of(view, where.method)
                  if all(one.applies_to(group) for group in groups)]
        for group in groups:
            limits += getattr(group, site.LIMITS, ())
        await self.ask(limits, connection, where)


class _View:
    """The view of a request, as a Where."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self.method = (connection.method
                       if connection.scope["type"] == "http" else "WS")
        self.url: str = connection.path

    def route(self, method: str | None = None) -> str:
        endpoint = str(self._connection.endpoint).replace("*", "%2A")
        return f"{endpoint}@{method}" if method else endpoint


def _response(answer: web.Answer) -> Response:
    return Response(answer.body, answer.status, answer.headers)


async def _undecided(error: Any) -> Response:
    return _response(web.answer_to(error))
