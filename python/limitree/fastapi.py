"""Limits for FastAPI: a dependency that runs before the others do their work.

    app = FastAPI()
    Limiter(app=app, store="redis://...")

    @app.get("/trade", dependencies=[Depends(RateLimit("5/minute"))])
    async def trade(): ...
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import uuid
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypeVar, cast

from fastapi import FastAPI, Request, Response, WebSocket
from fastapi.params import Depends
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection

from limitree import web
from limitree.aio import AsyncLimiter
from limitree.asgi import Record, Telling, can_respond, decide, settled
from limitree.clients import ClientIp, client_ip
from limitree.decision import Decision
from limitree.errors import LimitExceeded, StoreError
from limitree.headers import Reset, Style, problem
from limitree.keeper import Keeper, Message, Scope
from limitree.limits import Limits
from limitree.plain import PlainLimits, joined, parse
from limitree.wait import Clock

__all__ = ["Limiter", "RateLimit", "RateLimitExceeded",
           "rate_limit_exceeded_handler"]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
By = Literal["route", "path", "app"]

# "-" is asked by nobody: for a limiter whose limits all stand at the routes.
_NO_LIMITS: dict[str, object] = {"schema": {"-": {}}}
_ROOT = "route"
_PLAIN = str.maketrans({"{": "<", "}": ">", "*": "%2A"})
_UNKNOWN = object()  # a key that no dependency has told
_EXEMPT, _OVERRIDES = "_limitree_exempt", "_limitree_overrides"


class RateLimitExceeded(HTTPException, LimitExceeded):
    """A request was denied; without a handler of yours the answer is a 429."""

    def __init__(self, decision: Decision) -> None:
        HTTPException.__init__(
            self, 429, str(problem(decision)["detail"]))
        self.decision = decision


class RateLimit:
    """A dependency that lets a request pass, or raises RateLimitExceeded.

    ``limits`` are texts such as ``"5/second; 100/hour"``; paths of the tree, in
    which a segment may be a function of the request,
    ``("user", lambda request: request.state.user, "trade")``; and functions of
    the request that return one or the other.  All of them are decided in one
    step, and charged together or not at all.

    A text counts for each caller, whom ``key`` tells apart: a function of the
    request, a ``client_ip(...)``, or a ``Depends(...)``; without it the key of
    the `Limiter`.  It counts for each route by itself; ``by="path"`` tells
    apart its URLs too, and ``by="app"`` counts over all routes, as those do
    that have the same ``scope``, any name.  With ``per_method`` a route of
    several methods counts each by itself.  ``cost`` is a number or a function
    of the request; where ``exempt_when`` returns true nothing is asked.
    Functions may be async, and may do without their argument; one that returns
    limits may ask for the ``key`` of the caller, by that name.

    As a parameter of a route it is the Decision, or None if nothing was asked.
    """

    def __init__(self, *limits: Any,
                 key: Callable[..., Any] | ClientIp | Depends | None = None,
                 cost: int | Callable[..., Any] = 1, by: By = "route",
                 scope: str | None = None, methods: Sequence[str] | None = None,
                 per_method: bool = False,
                 exempt_when: Callable[..., Any] | None = None) -> None:
        if not limits:
            raise TypeError("RateLimit needs limits, such as '5/minute'")
        if by not in ("route", "path", "app"):
            raise ValueError(f"by must be route, path or app, is {by!r}")
        for one in limits:
            if isinstance(one, str):
                parse(one)
            elif not callable(one) and not isinstance(one, Sequence):
                raise TypeError("a limit must be a text, a path or a function, "
                                f"not {type(one).__name__}")
        self._limits = [_limit_function(one) if callable(one) else one
                        for one in limits]
        self._key = (None if key is None or isinstance(key, Depends)
                     else _key_function(key))
        self._cost = _of_request(cost) if callable(cost) else cost
        self._by = by
        self._scope = scope
        self._per_method = per_method
        self._methods = methods and {name.upper() for name in methods}
        self._exempt_when = exempt_when and _of_request(exempt_when)
        self._default = False
        self.__signature__ = _signature(key)

    async def __call__(self, connection: HTTPConnection, key: Any = _UNKNOWN
                       ) -> Decision | None:
        """Ask the limiter; FastAPI does this."""
        limiter = _limiter_of(connection)
        if not await self._applies(limiter, connection):
            return None
        paths: list[Any] = []
        for limit in self._limits:
            if key is _UNKNOWN and (isinstance(limit, str) or callable(limit)):
                key = await settled((self._key or limiter.key)(connection))
            if callable(limit):
                limit = await settled(limit(connection, key))
            if isinstance(limit, str):
                rule = limiter.plain.rule(limit, self._scope_of(connection))
                paths += rule.paths(self._key_in(connection, _text_of(key)))
            else:
                paths.append(await _path(limit, connection))
        cost = (await settled(self._cost(connection))
                if callable(self._cost) else self._cost)
        return await limiter._authorize(connection, paths, cost)

    async def _applies(self, limiter: Limiter, connection: HTTPConnection
                       ) -> bool:
        if not limiter.enabled:
            return False
        scope = connection.scope
        if self._methods and scope.get("method") not in self._methods:
            return False
        if self._default:
            endpoint = scope.get("endpoint")
            if getattr(endpoint, _EXEMPT, False) or getattr(
                    endpoint, _OVERRIDES, False):
                return False
        return not (self._exempt_when is not None
                    and await settled(self._exempt_when(connection)))

    def _scope_of(self, connection: HTTPConnection) -> str:
        method: str | None = None
        if self._per_method:
            method = connection.scope.get("method", "WS")
        if self._scope is not None or self._by == "app":
            scope = "app" if self._scope is None else self._scope
            return f"{scope}@{method}" if method else scope
        return route_of(connection.scope, method)

    def _key_in(self, connection: HTTPConnection, key: Any) -> Any:
        if self._by != "path":
            return key
        return joined(connection.scope["path"], key)


class Limiter:
    """The limiter of an application, whom its `RateLimit`s ask.

    ``limits`` is the tree of paths, or an AsyncLimiter, and may be left out
    where all limits stand at the routes; ``store``, ``clock`` and ``options``
    are those of AsyncLimiter.  ``key_func`` tells callers apart and is by
    default the address of the client.  ``default_limits`` are texts for every
    route that has no decorator of its own and comes after `init_app`.
    ``headers`` and ``reset`` are those of Decision.headers.

    Limits may also stand at a route as decorators, in the manner of slowapi:
    `limit`, `shared_limit` and `exempt`.
    """

    def __init__(self, key_func: Callable[..., Any] | ClientIp = client_ip(),
                 *, app: FastAPI | None = None,
                 limits: Limits | AsyncLimiter | None = None,
                 store: str = "memory://",
                 default_limits: Iterable[str] = (), enabled: bool = True,
                 headers: Style = "ietf", reset: Reset = "delta",
                 clock: Clock | None = None, **options: object) -> None:
        if isinstance(default_limits, str):
            default_limits = [default_limits]
        self.enabled = enabled  #: whether anything is asked at all
        self.plain = PlainLimits(_ROOT)  #: the limits given as texts
        self._keeper = Keeper(_NO_LIMITS if limits is None else limits, store,
                              {"clock": clock, **options})
        self._keeper.put_beside(self.plain.schema())
        self.key = _key_function(key_func)  #: tells callers apart
        self._default = [RateLimit(text) for text in default_limits]
        for one in self._default:
            one._default = True
        self._told: tuple[Style, Reset] = (headers, reset)
        # What decorators were put on: none of it is a route's, or that stands
        # below the limit.
        self._inner: weakref.WeakSet[Any] = weakref.WeakSet()
        self._apps: weakref.WeakSet[FastAPI] = weakref.WeakSet()
        if app is not None:
            self.init_app(app)

    @property
    def limiter(self) -> AsyncLimiter:
        """The limiter that is asked."""
        return self._keeper.limiter

    def init_app(self, app: FastAPI) -> None:
        """Look after `app`: its headers, its denials, its start and end."""
        app.state.limiter = self
        self._apps.add(app)
        app.add_middleware(_Middleware, limiter=self)
        for kind, handler in _HANDLERS.items():
            app.exception_handlers.setdefault(kind, handler)
        app.router.dependencies[:0] = [Depends(one) for one in self._default]

    def limit(self, limit_value: Any,
              key_func: Callable[..., Any] | ClientIp | None = None, *,
              per_method: bool = False,
              cost: int | Callable[..., Any] = 1,
              methods: Sequence[str] | None = None,
              exempt_when: Callable[..., Any] | None = None,
              override_defaults: bool = True
              ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator with the effect of a RateLimit at the route.

        It stands below that of the route.  The function needs no parameter for
        the request.
        """
        return _Decorator(self, RateLimit(
            limit_value, key=key_func, cost=cost, methods=methods,
            per_method=per_method, exempt_when=exempt_when), override_defaults)

    def shared_limit(self, limit_value: Any, scope: str,
                     key_func: Callable[..., Any] | ClientIp | None = None, *,
                     cost: int | Callable[..., Any] = 1,
                     exempt_when: Callable[..., Any] | None = None,
                     override_defaults: bool = True
                     ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator for routes that are counted as one, by `scope`."""
        return _Decorator(self, RateLimit(
            limit_value, key=key_func, cost=cost, scope=scope,
            exempt_when=exempt_when), override_defaults)

    def exempt(self, endpoint: Endpoint) -> Endpoint:
        """Spare a route the default limits."""
        setattr(endpoint, _EXEMPT, True)
        return endpoint

    def _check_endpoint(self, endpoint: Any) -> None:
        """Raise RuntimeError if a limit was put on a route's function later."""
        if endpoint is not None and endpoint in self._inner:
            raise RuntimeError(
                f"the limit of {endpoint.__qualname__} stands above its route, "
                "which has the function without it: put @limiter.limit(...) "
                "below the route")

    async def _authorize(self, connection: HTTPConnection, paths: list[Any],
                         cost: Any) -> Decision:
        if self.plain.has_news:
            # A route is asked for the first time.  With a large tree to put its
            # limits beside that may take long.
            await asyncio.to_thread(self.plain.update, self._keeper)
        decision = await decide(self.limiter, paths, cost)
        record: Record = connection.scope["limitree"]
        record.decisions.append(decision)
        if decision.limited:
            raise RateLimitExceeded(decision)
        return decision


class _Middleware(Telling):
    """Tells in every response what was decided, and lets requests know whom to
    ask."""

    def __init__(self, app: Any, limiter: Limiter) -> None:
        super().__init__(app, limiter._keeper, *limiter._told)
        self._limiter = limiter

    async def serve(self, scope: Scope, receive: Any, send: Any) -> None:
        limiter = scope["limitree"].limiter = self._limiter

        async def checked(message: Message) -> None:
            limiter._check_endpoint(scope.get("endpoint"))
            await send(message)

        await self.app(scope, receive, checked if limiter._inner else send)


def _limiter_of(connection: HTTPConnection) -> Limiter:
    record = connection.scope.get("limitree")
    if record is None or record.limiter is None:
        raise RuntimeError("RateLimit has nobody to ask: the application needs "
                           "a limitree.fastapi.Limiter(app=app)")
    return cast(Limiter, record.limiter)


def route_of(scope: Scope, method: str | None = None) -> str:
    """Return the name of a route, with what it is mounted at: "GET/items/<id>".

    It has all methods of the route, or the one that is given.  Written so, no
    byte of it has to be escaped in keys and policies.
    """
    # Routes of an included router know their prefix only here.
    context = scope.get("fastapi", {}).get("effective_route_context")
    route = getattr(context, "starlette_route", None) or context
    if getattr(route, "path_format", None) is None:
        route = scope.get("route")
    methods = [method] if method else getattr(route, "methods", None) or ["WS"]
    path = getattr(route, "path_format", None) or getattr(
        scope.get("endpoint"), "__qualname__", "unknown")
    name = f"{','.join(sorted(methods))}{_mount_of(scope)}{path}"
    return name.translate(_PLAIN)


def _mount_of(scope: Scope) -> str:
    root = scope.get("root_path", "")
    mount = root.removeprefix(scope.get("app_root_path", root))
    values = {str(value): name
              for name, value in scope.get("path_params", {}).items()}
    return "/".join(f"{{{values[part]}}}" if part in values else part
                    for part in mount.split("/"))


def _of_request(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return `function` as one that takes the request, if it takes nothing."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is not one.KEYWORD_ONLY and one.kind is not one.VAR_KEYWORD
           for one in parameters):
        return function
    return lambda connection: function()


def _limit_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as one that takes the request and the key."""
    names = list(inspect.signature(function).parameters)
    if names == ["key"]:
        return lambda connection, key: function(key)
    if "key" in names:
        return lambda connection, key: function(connection, key=key)
    of_request = _of_request(function)
    return lambda connection, key: of_request(connection)


def _key_function(key: Callable[..., Any] | ClientIp) -> Callable[[Any], Any]:
    if isinstance(key, ClientIp):
        return lambda connection: key.of_scope(connection.scope)
    return _of_request(key)


def _text_of(value: Any) -> Any:
    """Return a primary key as text; None is refused by the limiter."""
    if type(value) is int or isinstance(value, uuid.UUID):
        return str(value)
    return value


async def _path(limit: Any, connection: HTTPConnection) -> Any:
    if limit is None or isinstance(limit, bytes):
        raise TypeError("a limit must be a text or a path, not "
                        f"{type(limit).__name__}")
    return [_text_of(await settled(_of_request(part)(connection))
                     if callable(part) else part) for part in limit]


def _signature(key: Any) -> inspect.Signature:
    """What FastAPI is to give to a RateLimit."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("connection", kind,
                                    annotation=HTTPConnection)]
    if isinstance(key, Depends):
        parameters.append(inspect.Parameter("key", kind, default=key,
                                            annotation=Any))
    return inspect.Signature(parameters)


class _Decorator:
    """What `limit` and `shared_limit` return: puts a RateLimit on a route."""

    def __init__(self, limiter: Limiter, limit: RateLimit,
                 override_defaults: bool) -> None:
        self._limiter = limiter
        self._limit = limit
        self._override_defaults = override_defaults

    @property
    def __name__(self) -> str:
        """Raises TypeError: FastAPI asks for it if this is to be a route."""
        raise TypeError("a limit was given to a route in place of a function: "
                        "@limiter.limit needs the limits in parentheses, "
                        "@limiter.limit(\"5/minute\")")

    def __call__(self, endpoint: Endpoint) -> Endpoint:
        if not callable(endpoint):
            raise TypeError("limits are put on a function, not on "
                            f"{endpoint!r}")
        self._limiter._inner.add(endpoint)
        for app in self._limiter._apps:
            for route in app.routes:
                self._limiter._check_endpoint(getattr(route, "endpoint", None))
        signature = inspect.signature(endpoint)
        name = f"limitree_{len(signature.parameters)}"
        kind = inspect.Parameter.KEYWORD_ONLY
        limited: Any = _without(endpoint, name)
        # First of all, so that nothing is done for a request that is denied.
        limited.__signature__ = signature.replace(parameters=[
            inspect.Parameter(name, kind, default=Depends(self._limit)),
            *(one.replace(kind=kind)
              for one in signature.parameters.values())])
        setattr(limited, _OVERRIDES, self._override_defaults)
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


async def rate_limit_exceeded_handler(connection: Any, error: Exception
                                      ) -> Response | None:
    """Answer a request that was denied: a 429, or the end of a websocket."""
    decision = cast(LimitExceeded, error).decision
    return await _answer(connection, web.denial(decision, "none"), 1008)


async def _store_error_handler(connection: Any, error: Exception
                               ) -> Response | None:
    return await _answer(connection, web.unavailable(cast(StoreError, error)),
                         1013)


async def _answer(connection: Request | WebSocket, answer: web.Answer,
                  code: int) -> Response | None:
    response = Response(answer.body, answer.status, dict(answer.headers))
    if not isinstance(connection, WebSocket):
        return response
    if can_respond(connection.scope):
        await connection.send_denial_response(response)
    else:
        await connection.close(code, answer.reason)
    return None


_HANDLERS: dict[Any, Any] = {
    RateLimitExceeded: rate_limit_exceeded_handler,
    LimitExceeded: rate_limit_exceeded_handler,
    StoreError: _store_error_handler,
}
