"""The dependency that limits a route or an application."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from fastapi.params import Depends
from starlette.requests import HTTPConnection

from limitree.asgi import settled
from limitree.clients import ClientIp
from limitree.demand import Cost, Segment
from limitree.fastapi.site import Site, site_of
from limitree.fastapi.scope import (
    calls_of,
    key_function,
    limit_function,
    of_request,
    route_of,
    text_of,
)
from limitree.lifespan import Scope
from limitree.path_costs import PathCosts
from limitree.plain import joined, parse
from limitree.response_holds import Reserve, reserve_of
from limitree.web import (
    check_path,
    counted_as,
    methods_of,
    not_a_segment,
)

By = Literal["route", "path", "app"]

#: Attributes that decorators set on the function of a route.
EXEMPT, OVERRIDES = "_limitree_exempt", "_limitree_overrides"

_UNKNOWN = object()  # no dependency has given a key
_TAKEN = object()  # a limit that was called before has taken its decision


class RateLimit:
    """A dependency that lets a request pass, or raises RateLimitExceeded.

    ``limits`` are texts such as ``"5/second; 100/hour"``; paths of the tree, in
    which a segment may be a function of the request,
    ``("user", lambda request: request.state.user, "trade")``; and functions of
    the request that return one or the other.  All of them are decided in one
    step, and charged together or not at all; so are all RateLimits that FastAPI
    calls one after the other, of applications, routers, routes and decorators.
    Another dependency between them begins a new step, because it may refuse the
    request, or find what later limits need.  A function that raises an error
    ends a step, and the limits before it have counted the request.

    A text counts for each caller.  ``key`` identifies the caller: a function of
    the request, a ``client_ip(...)``, or a ``Depends(...)``; by default the key
    of the `Limiter`.  A text also counts for each route; with ``by="path"`` for
    each URL of the route, with ``by="app"`` for all routes together.  Limits
    with the same ``scope``, any name, count together.  With ``per_method`` each
    method of a route counts separately.  ``cost`` is a number, a dict of units
    such as ``{"tokens": 812}``, or a function of the request.  With
    ``reserve``, limits of paths with ``hold`` or ``concurrent`` are held until
    the response has ended, or the websocket is closed; a duration is the hold,
    which is then renewed.  If ``exempt_when`` returns true, the limiter is not
    asked.  Functions may be async, and may leave out their argument.  A
    function that returns limits may have a parameter ``key``, which gets the
    caller's key.

    As a parameter of a route it is the Decision, the AsyncReservation if one of
    the limits of its step reserves, or None if the limiter was not asked.
    """

    def __init__(self, *limits: Any,
                 key: Callable[..., Any] | ClientIp | Depends | None = None,
                 cost: Cost | Callable[..., Any] = 1,
                 reserve: Reserve = False, by: By = "route",
                 scope: str | None = None,
                 methods: str | Iterable[str] | None = None,
                 per_method: bool = False,
                 exempt_when: Callable[..., Any] | None = None) -> None:
        if not limits:
            raise TypeError("RateLimit needs limits, such as '5/minute'")
        if by not in ("route", "path", "app"):
            raise ValueError(f"by must be route, path or app, is {by!r}")
        for one in limits:
            if isinstance(one, str):
                parse(one)
            elif not callable(one) and (isinstance(one, bytes) or
                                        not isinstance(one, Sequence)):
                raise TypeError("a limit must be a text, a path or a function, "
                                f"not {type(one).__name__}")
        self._reserve = reserve_of(reserve)
        if self._reserve and all(isinstance(one, str) for one in limits):
            raise TypeError("reserve is for paths of the tree: a text such as "
                            "'5/minute' holds nothing")
        self._limits = [limit_function(one) if callable(one) else one
                        for one in limits]
        self._key = (None if key is None or isinstance(key, Depends)
                     else key_function(key))
        self._key_source = (key.dependency if isinstance(key, Depends)
                            else self._key)
        self._cost = of_request(cost) if callable(cost) else cost
        self._by = by
        self._scope = scope
        self._per_method = per_method
        self._methods = methods_of(methods)
        self._exempt_when = exempt_when and of_request(exempt_when)
        self.is_default = False  #: a default limit gives way to others
        self.__signature__ = _signature(key)

    async def __call__(self, connection: HTTPConnection, key: Any = _UNKNOWN
                       ) -> Any:
        """Return the answer of the limiter; FastAPI calls this."""
        site = site_of(connection)
        ahead: dict[Any, Any] = connection.scope["limitree"].ahead
        if ahead.get(self, _TAKEN) is _TAKEN:
            await self._decide(site, connection, key, ahead)
        decision = ahead[self]
        ahead[self] = _TAKEN
        return decision

    async def _decide(self, site: Site, connection: HTTPConnection, key: Any,
                      ahead: dict[Any, Any]) -> None:
        """Decide this limit, and those that come next, in one step."""
        ask = PathCosts()
        asking: dict[RateLimit, bool] = {}
        for one in self._step(connection.scope, ahead):
            try:
                asked, cost = await one._asked(
                    site, connection, key if one is self else _UNKNOWN)
            except Exception:
                if one is self:
                    raise
                break  # it fails again when it is called
            ask.paths += asked
            ask.costs += [cost] * len(asked)
            asking[one] = bool(asked)
            if asked:
                ask.defer(len(ask.paths), None, one._reserve)
        decision = (await site.authorize(connection, ask) if ask.paths
                    else None)
        for one, has_paths in asking.items():
            ahead[one] = decision if has_paths else None

    def _step(self, scope: Scope, ahead: dict[Any, Any]) -> list[RateLimit]:
        """Return this limit and those that FastAPI calls right after it."""
        calls = calls_of(scope)
        step = [self]
        if self in ahead or all(call is not self for call in calls):
            return step  # called by a function
        overridden = getattr(scope.get("app"), "dependency_overrides", {})
        for call in calls:
            if not isinstance(call, RateLimit) or call in overridden:
                break
            if call not in step and call not in ahead:
                step.append(call)
        return step

    async def _asked(self, site: Site, connection: HTTPConnection, key: Any
                     ) -> tuple[list[Any], Any]:
        """Return the paths of a request, none if it is exempt, and its cost.

        `key` is from a dependency.
        """
        if not await self._applies(site, connection):
            return [], 0
        paths: list[Any] = []
        for limit in self._limits:
            if key is _UNKNOWN and (isinstance(limit, str) or callable(limit)):
                key = await settled((self._key or site.key)(connection))
            found = (await settled(limit(connection, key)) if callable(limit)
                     else limit)
            if isinstance(found, str):
                rule = site.plain.rule(found, self._scope_of(connection),
                                       callable(limit))
                paths += rule.paths(self._key_in(site, connection, key))
            else:
                paths.append(await _path(found, limit, connection))
        cost = self._cost
        return paths, (await settled(cost(connection)) if callable(cost)
                       else cost)

    def check(self, site: Site, route: str) -> None:
        """Raise UnknownRoot for a path that the tree does not have."""
        for limit in self._limits:
            if not isinstance(limit, str) and not callable(limit):
                check_path(site.limiter._limiter, limit, f"route {route}")

    async def _applies(self, site: Site, connection: HTTPConnection
                       ) -> bool:
        if not site.enabled:
            return False
        scope = connection.scope
        if self._methods and scope.get("method") not in self._methods:
            return False
        if self.is_default:
            endpoint = scope.get("endpoint")
            if getattr(endpoint, EXEMPT, False) or getattr(
                    endpoint, OVERRIDES, False):
                return False
        return not (self._exempt_when is not None
                    and await settled(self._exempt_when(connection)))

    def _scope_of(self, connection: HTTPConnection) -> str:
        method: str | None = None
        if self._per_method:
            method = counted_as(connection.scope.get("method", "WS"))
        if self._scope is not None or self._by == "app":
            scope = "app" if self._scope is None else self._scope
            return f"{scope}@{method}" if method else scope
        return route_of(connection.scope, method)

    def _key_in(self, site: Site, connection: HTTPConnection, key: Any
                ) -> Segment:
        found = text_of(key)
        if not isinstance(found, (str, bytes)):
            raise not_a_segment(f"the key of {route_of(connection.scope)}",
                                found, self._key_source or site.key)
        if self._by != "path":
            return found
        return joined(connection.scope["path"], found)


async def _path(path: Any, source: Any, connection: HTTPConnection) -> Any:
    if path is None or isinstance(path, bytes):
        raise TypeError("a limit must be a text or a path, not "
                        f"{type(path).__name__}")
    found: list[Segment] = []
    for part in path:
        if callable(part):
            source = part
            part = await settled(of_request(part)(connection))
        segment = text_of(part)
        if not isinstance(segment, (str, bytes)):
            raise not_a_segment(
                f"segment {len(found)} of the path of "
                f"{route_of(connection.scope)}", segment, source)
        found.append(segment)
    return found


def _signature(key: Any) -> inspect.Signature:
    """The parameters that FastAPI passes to a RateLimit."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("connection", kind,
                                    annotation=HTTPConnection)]
    if isinstance(key, Depends):
        parameters.append(inspect.Parameter("key", kind, default=key,
                                            annotation=Any))
    return inspect.Signature(parameters)
