"""The extension: the limits of an application, and headers about them."""

from __future__ import annotations

import contextlib
import functools
import inspect
import warnings
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

from fastapi import FastAPI
from fastapi.params import Depends
from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import Host, Mount, Route, WebSocketRoute

from limitree.fastapi.rate_limit import RateLimit
from limitree.lifespan import Message, Scope
from limitree.site import OVERRIDES, SiteMiddleware
from limitree.starlette.errors import HANDLERS
from limitree.starlette.scope import calls_in
from limitree.starlette.site import Site

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Decorator:
    """Puts a RateLimit on a route; `limit` and `shared_limit` return it."""

    def __init__(self, limit: RateLimit, override_defaults: bool,
                 note: Callable[[Any], None]) -> None:
        self._limit = limit
        self._override_defaults = override_defaults
        self._note = note  # gets the function that is limited

    @property
    def __name__(self) -> str:
        """Raises TypeError: FastAPI asks for the name of a route."""
        raise TypeError("a limit was given to a route in place of a function: "
                        "@limiter.limit needs the limits in parentheses, "
                        "@limiter.limit(\"5/minute\")")

    def __call__(self, endpoint: Endpoint) -> Endpoint:
        if not callable(endpoint):
            raise TypeError("limits are put on a function, not on "
                            f"{endpoint!r}")
        self._note(endpoint)
        signature = inspect.signature(endpoint)
        name = f"limitree_{len(signature.parameters)}"
        kind = inspect.Parameter.KEYWORD_ONLY
        limited: Any = _without(endpoint, name)
        # The limit comes first, so that nothing is done for a request that is
        # denied.
        limited.__signature__ = signature.replace(parameters=[
            inspect.Parameter(name, kind, default=Depends(self._limit)),
            *(one.replace(kind=kind)
              for one in signature.parameters.values())])
        setattr(limited, OVERRIDES, self._override_defaults)
        return cast(Endpoint, limited)


def _without(endpoint: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return `endpoint` as a function that takes `name` too."""
    if inspect.iscoroutinefunction(endpoint):
        @functools.wraps(endpoint)
        async def limited_async(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop(name, None)
            return await endpoint(*args, **kwargs)
        return limited_async

    @functools.wraps(endpoint)
    def limited(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(name, None)
        return endpoint(*args, **kwargs)
    return limited


class Limiter(Site):
    __doc__ = f"""{Site.__doc__}
    Routes have limits as dependencies, `RateLimit`, or as decorators: `limit`,
    `shared_limit` and `exempt`, as in slowapi.  Limits of every route are for
    those that are added after `init_app`.
    """

    _kind = RateLimit

    def _begin(self) -> None:
        # The functions inside the limits.  If a route has one of them, not the
        # limited function, its decorator is below that of the limit.
        self._inner: weakref.WeakSet[Any] = weakref.WeakSet()
        self._apps: weakref.WeakSet[FastAPI] = weakref.WeakSet()

    def init_app(self, app: FastAPI) -> None:
        """Add the limiter to `app`: headers, denials, start and end."""
        app.state.limiter = self
        self._apps.add(app)
        app.add_middleware(_Middleware, limiter=self)
        for kind, handler in HANDLERS.items():
            app.exception_handlers.setdefault(kind, handler)
        app.router.dependencies[:0] = [Depends(cast("RateLimit", one))
                                       for one in self._everywhere]
        if (self.enabled and self._everywhere
                and any(map(_is_limitable, app.routes))):
            warnings.warn("default_limits and application_limits are for "
                          "routes that are added later, and there are some "
                          "already: make the Limiter first", RuntimeWarning,
                          stacklevel=2)

    def _decorator(self, limit: Any, override_defaults: bool) -> Any:
        return Decorator(limit, override_defaults, self._note)

    def _note(self, endpoint: Any) -> None:
        with contextlib.suppress(TypeError):
            self._inner.add(endpoint)
        for app in self._apps:
            for route in app.routes:
                self._check_endpoint(getattr(route, "endpoint", None))

    def _check_routes(self) -> None:
        for app in self._apps:
            for name, call in calls_in(app.routes):
                if isinstance(call, RateLimit):
                    call.check(self.limiter._limiter,
                               f"route {name}")

    def _check_endpoint(self, endpoint: Any) -> None:
        """Raise RuntimeError if a limit was put on a route's function later."""
        with contextlib.suppress(TypeError):  # it may have no hash
            if endpoint not in self._inner:
                return
            raise RuntimeError(
                f"the limit of {endpoint.__qualname__} stands above its route, "
                "which has the function without it: put @limiter.limit(...) "
                "below the route")


def _is_limitable(route: Any) -> bool:
    """Return whether `route` is FastAPI's: a route, or an included router."""
    return (isinstance(route, (APIRoute, APIWebSocketRoute))
            or not isinstance(route, (Route, WebSocketRoute, Mount, Host)))


class _Middleware(SiteMiddleware):
    """Reports decisions in every response, and gives requests a limiter."""

    def check(self) -> None:
        """Raise UnknownRoot if a route has a path that no tree has."""
        self._limiter._check_routes()

    async def serve(self, scope: Scope, receive: Any, send: Any) -> None:
        limiter: Limiter = self._limiter

        async def checked(message: Message) -> None:
            limiter._check_endpoint(scope.get("endpoint"))
            await send(message)

        await super().serve(scope, receive,
                            checked if limiter._inner else send)
