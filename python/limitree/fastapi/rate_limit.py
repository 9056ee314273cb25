"""The dependency that limits a route or an application."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from fastapi.params import Depends
from starlette.requests import HTTPConnection

from limitree.clients import ClientIp
from limitree.demand import Cost
from limitree.functions import run_awaited
from limitree.lifespan import Scope
from limitree.path_costs import DeductWhen
from limitree.rate_limit import UNKNOWN, Breach, By, Step
from limitree.response_holds import Reserve
from limitree.site import RouteLimit
from limitree.starlette.scope import Connection, calls_of
from limitree.starlette.site import Site, site_of

_TAKEN = object()  # a limit that was called before has taken its decision


class RateLimit(RouteLimit):
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
    asked.  With ``deduct_when``, a function of the response's ``status_code``
    and ``headers``, the limits are charged when the response begins, if it
    returns true.  ``on_breach`` is called with the connection and the Decision
    when one of these limits denies, and may return the response;
    ``error_message`` is the text of the denial.  Functions may be async, and
    may leave out their argument.  A function that returns limits may have a
    parameter ``key``, which gets the caller's key.

    As a parameter of a route it is the Decision, the AsyncReservation if one of
    the limits of its step reserves, or None if the limiter was not asked.
    """

    @property
    def dependency(self) -> Any:
        """Raises TypeError: FastAPI asks for what should be in Depends."""
        raise TypeError("a RateLimit goes into Depends: "
                        "dependencies=[Depends(RateLimit(\"5/minute\"))]")

    def __init__(self, *limits: Any,
                 key: Callable[..., Any] | ClientIp | Depends | None = None,
                 cost: Cost | Callable[..., Any] = 1,
                 reserve: Reserve = False, by: By = "route",
                 scope: str | None = None,
                 methods: str | Iterable[str] | None = None,
                 per_method: bool = False,
                 exempt_when: Callable[..., Any] | None = None,
                 deduct_when: DeductWhen | None = None,
                 on_breach: Breach | None = None,
                 error_message: str | Callable[[], str] | None = None) -> None:
        super().__init__(
            *limits, key=None if isinstance(key, Depends) else key, cost=cost,
            reserve=reserve, by=by, scope=scope, methods=methods,
            per_method=per_method, exempt_when=exempt_when,
            deduct_when=deduct_when, on_breach=on_breach,
            error_message=error_message)
        self._dependency = (key.dependency if isinstance(key, Depends)
                            else None)
        self.__signature__ = _signature(key)

    @property
    def _key_source(self) -> Any:
        return self._dependency or self._key

    async def __call__(self, connection: HTTPConnection, key: Any = UNKNOWN
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
        step = Step()
        asking: dict[RateLimit, bool] = {}
        endpoint = connection.scope.get("endpoint")
        for one in self._step(connection.scope, ahead):
            if not site.enabled or not one.applies_to(endpoint):
                asking[one] = False
                continue
            try:
                paths, cost = await run_awaited(one.asking(
                    site, connection, Connection(connection.scope),
                    key if one is self else UNKNOWN))
            except Exception:
                if one is self:
                    raise
                break  # it fails again when it is called
            step.add(one, paths, cost)
            asking[one] = bool(paths)
        decision = (await site.authorize(connection, step) if step.ask.paths
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


def _signature(key: Any) -> inspect.Signature:
    """The parameters that FastAPI passes to a RateLimit."""
    kind = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("connection", kind,
                                    annotation=HTTPConnection)]
    if isinstance(key, Depends):
        parameters.append(inspect.Parameter("key", kind, default=key,
                                            annotation=Any))
    return inspect.Signature(parameters)
