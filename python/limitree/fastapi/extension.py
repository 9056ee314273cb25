"""The extension: the limits of an application, and headers about them."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from fastapi import FastAPI
from fastapi.params import Depends

from limitree.aio import AsyncLimiter
from limitree.asgi import HeaderMiddleware
from limitree.clients import ClientIp, client_ip
from limitree.demand import Cost
from limitree.fastapi.errors import HANDLERS
from limitree.fastapi.rate_limit import EXEMPT, OVERRIDES, RateLimit
from limitree.fastapi.scope import calls_in
from limitree.fastapi.site import Site
from limitree.headers import Reset, Style, check_style
from limitree.lifespan import Message, Scope
from limitree.limits import Limits
from limitree.response_holds import Reserve
from limitree.wait import Clock

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
    """The limiter of an application, which its `RateLimit`s ask.

    ``limits`` is the tree of paths, or an AsyncLimiter; leave it out if all
    limits are at the routes.  ``store``, ``clock`` and ``options`` are those of
    AsyncLimiter.  ``key_func`` returns the key of the caller, by default the
    address of the client.  ``default_limits`` are texts for every route without
    its own decorator that is added after `init_app`.  ``strategy`` is the
    algorithm of texts that name none: "fixed-window", "moving-window" or
    "sliding-window-counter", as in slowapi, or one of limitree's.  ``headers``
    and ``reset`` are those of Decision.headers.

    Routes may also have limits as decorators, as in slowapi: `limit`,
    `shared_limit` and `exempt`.
    """

    def __init__(self, key_func: Callable[..., Any] | ClientIp = client_ip(),
                 *, app: FastAPI | None = None,
                 limits: Limits | AsyncLimiter | None = None,
                 store: str = "memory://",
                 default_limits: Iterable[str] = (),
                 strategy: str | None = None, enabled: bool = True,
                 headers: Style = "ietf", reset: Reset = "delta",
                 clock: Clock | None = None, **options: object) -> None:
        if isinstance(key_func, FastAPI):  # an application is callable, too
            raise TypeError("the application goes into app=, or to init_app()")
        check_style(headers, reset)
        if isinstance(default_limits, str):
            default_limits = [default_limits]
        super().__init__(key_func, limits, store, strategy, enabled,
                         {"clock": clock, **options})
        self._default = [RateLimit(text) for text in default_limits]
        for one in self._default:
            one.is_default = True
        self._headers: tuple[Style, Reset] = (headers, reset)
        # The functions inside the limits.  If a route has one of them, not the
        # limited function, its decorator is below that of the limit.
        self._inner: weakref.WeakSet[Any] = weakref.WeakSet()
        self._apps: weakref.WeakSet[FastAPI] = weakref.WeakSet()
        if app is not None:
            self.init_app(app)

    def init_app(self, app: FastAPI) -> None:
        """Add the limiter to `app`: headers, denials, start and end."""
        app.state.limiter = self
        self._apps.add(app)
        app.add_middleware(_Middleware, limiter=self)
        for kind, handler in HANDLERS.items():
            app.exception_handlers.setdefault(kind, handler)
        app.router.dependencies[:0] = [Depends(one) for one in self._default]

    def limit(self, limit_value: Any,
              key_func: Callable[..., Any] | ClientIp | None = None, *,
              per_method: bool = False,
              cost: Cost | Callable[..., Any] = 1,
              reserve: Reserve = False,
              methods: str | Iterable[str] | None = None,
              exempt_when: Callable[..., Any] | None = None,
              override_defaults: bool = True
              ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator with the effect of a RateLimit at the route.

        Put it below the decorator of the route.  The function needs no
        parameter for the request.
        """
        return Decorator(RateLimit(
            limit_value, key=key_func, cost=cost, reserve=reserve,
            methods=methods, per_method=per_method, exempt_when=exempt_when),
            override_defaults, self._note)

    def shared_limit(self, limit_value: Any, scope: str,
                     key_func: Callable[..., Any] | ClientIp | None = None, *,
                     cost: Cost | Callable[..., Any] = 1,
                     exempt_when: Callable[..., Any] | None = None,
                     override_defaults: bool = True
                     ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator for routes that count together, as `scope`."""
        return Decorator(RateLimit(
            limit_value, key=key_func, cost=cost, scope=scope,
            exempt_when=exempt_when), override_defaults, self._note)

    def exempt(self, endpoint: Endpoint) -> Endpoint:
        """Exempt a route from the default limits."""
        setattr(endpoint, EXEMPT, True)
        return endpoint

    def _note(self, endpoint: Any) -> None:
        self._inner.add(endpoint)
        for app in self._apps:
            for route in app.routes:
                self._check_endpoint(getattr(route, "endpoint", None))

    def _check_routes(self) -> None:
        for app in self._apps:
            for name, call in calls_in(app.routes):
                if isinstance(call, RateLimit):
                    call.check(self, name)

    def _check_endpoint(self, endpoint: Any) -> None:
        """Raise RuntimeError if a limit was put on a route's function later."""
        if endpoint is not None and endpoint in self._inner:
            raise RuntimeError(
                f"the limit of {endpoint.__qualname__} stands above its route, "
                "which has the function without it: put @limiter.limit(...) "
                "below the route")


class _Middleware(HeaderMiddleware):
    """Reports decisions in every response, and gives requests a limiter."""

    def __init__(self, app: Any, limiter: Limiter) -> None:
        super().__init__(app, limiter._lifespan, *limiter._headers)
        self._limiter = limiter

    def check(self) -> None:
        """Raise UnknownRoot if a route has a path that no tree has."""
        self._limiter._check_routes()

    async def serve(self, scope: Scope, receive: Any, send: Any) -> None:
        limiter = scope["limitree"].limiter = self._limiter

        async def checked(message: Message) -> None:
            limiter._check_endpoint(scope.get("endpoint"))
            await send(message)

        await self.app(scope, receive, checked if limiter._inner else send)
