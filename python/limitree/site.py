"""The limiter that the routes of an application ask, whatever its framework.

A framework's `Limiter` is a Site that knows its requests and its error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from limitree.aio import AsyncLimiter
from limitree.asgi import HeaderMiddleware, PlainSite
from limitree.clients import ClientIp, client_ip
from limitree.decision import Decision
from limitree.demand import Cost
from limitree.denials import log_denial
from limitree.functions import run_awaited
from limitree.headers import HeaderOptions, Reset, RetryAfter, Style
from limitree.lifespan import LimiterLifespan, Receive, Scope, Send
from limitree.limits import Limits
from limitree.path_costs import DeductWhen
from limitree.plain import PlainLimits
from limitree.rate_limit import Breach, RateLimit, Step, Where
from limitree.record import Record
from limitree.response_holds import Reserve
from limitree.wait import Clock

_ROOT = "route"

#: Attributes that decorators set on the function of a route.
LIMITS = "_limitree_limits"
EXEMPT, OVERRIDES = "_limitree_exempt", "_limitree_overrides"

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class RouteLimit(RateLimit):
    """A RateLimit whose functions get a request that has a ``scope``."""

    #: A default limit gives way to others; one of the application does not.
    is_default = is_application = False

    @classmethod
    def key_function(cls, key: Any) -> Callable[..., Any]:
        """Return a function that finds the caller of a request."""
        if isinstance(key, ClientIp):
            return lambda request: cls.address_of(key, request)
        return super().key_function(key)

    @staticmethod
    def address_of(clients: ClientIp, request: Any) -> str:
        """Return the address of the client of a request."""
        return clients.of_scope(request.scope)

    def applies_to(self, endpoint: object) -> bool:
        """Whether the function of a route has not opted out."""
        if not self.is_default and not self.is_application:
            return True
        return not (getattr(endpoint, EXEMPT, False) or (
            self.is_default and getattr(endpoint, OVERRIDES, False)))


class Site(PlainSite):
    """The limiter of an application, and how it finds its callers.

    ``limits`` is the tree of paths, or an AsyncLimiter; leave it out if all
    limits are at the routes.  ``store``, ``clock`` and ``options`` are those of
    AsyncLimiter.  ``key_func`` returns the key of the caller, by default the
    address of the client.  ``default_limits`` are texts for every route without
    its own decorator, ``application_limits`` for all routes together.
    ``strategy`` is the algorithm of texts that name none: "fixed-window",
    "moving-window" or "sliding-window-counter", as in slowapi, or one of
    limitree's.  ``on_breach`` is called for each denial, with the request
    and the Decision, and may return a response.  ``headers`` and ``reset`` are
    those of Decision.headers.  With ``retry_after="http-date"`` the header
    Retry-After is a date.
    """

    _kind: type[RouteLimit] = RouteLimit
    #: Makes the error of a Decision, a message or None, and a response or None.
    _error: Callable[..., Exception]

    def __init__(self, key_func: Callable[..., Any] | ClientIp = client_ip(),
                 *, app: Any = None,
                 limits: Limits | AsyncLimiter | None = None,
                 store: str = "memory://",
                 default_limits: Iterable[str] = (),
                 application_limits: Iterable[str] = (),
                 strategy: str | None = None,
                 on_breach: Breach | None = None, enabled: bool = True,
                 headers: Style = "ietf", reset: Reset = "delta",
                 retry_after: RetryAfter = "delta-seconds",
                 clock: Clock | None = None, **options: object) -> None:
        # An application is callable, too.
        if any(hasattr(key_func, of_application) for of_application in (
                "router", "asgi_app", "asgi_router")):
            raise TypeError("the application goes into app=, or to init_app()")
        self._headers = HeaderOptions.of(headers, reset, retry_after)
        self._begin()
        self.enabled = enabled  #: whether anything is asked at all
        #: The limits given as texts.
        self.plain = PlainLimits(_ROOT, strategy)
        self._lifespan = LimiterLifespan(limits, store,
                                         {"clock": clock, **options})
        self.plain.update(self._lifespan)  # the name must be free
        self.key = self._kind.key_function(key_func)  #: tells callers apart
        self.on_breach = on_breach
        #: The limits of every route.
        self._everywhere: list[RouteLimit] = []
        for text in _texts(application_limits):
            self._everywhere.append(self._limit(text, by="app"))
            self._everywhere[-1].is_application = True
        for text in _texts(default_limits):
            self._everywhere.append(self._limit(text))
            self._everywhere[-1].is_default = True
        if app is not None:
            self.init_app(app)

    def _limit(self, *limits: Any, **options: Any) -> RouteLimit:
        return self._kind(*limits, **options)

    def _begin(self) -> None:
        """Set what init_app needs."""

    def init_app(self, app: Any) -> None:
        """Add the limiter to `app`: headers, denials, start and end."""
        raise NotImplementedError

    # ---- Decorators ---------------------------------------------------------

    def limit(self, limit_value: Any,
              key_func: Callable[..., Any] | ClientIp | None = None, *,
              per_method: bool = False,
              cost: Cost | Callable[..., Any] = 1,
              reserve: Reserve = False,
              methods: str | Iterable[str] | None = None,
              exempt_when: Callable[..., Any] | None = None,
              override_defaults: bool = True,
              deduct_when: DeductWhen | None = None,
              on_breach: Breach | None = None,
              error_message: str | Callable[[], str] | None = None,
              scope: str | None = None
              ) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator with the effect of a RateLimit at the route.

        Put it below the decorator of the route.  The function needs no
        parameter for the request.
        """
        return self._decorator(self._limit(
            limit_value, key=key_func, cost=cost, reserve=reserve, scope=scope,
            methods=methods, per_method=per_method, exempt_when=exempt_when,
            deduct_when=deduct_when, on_breach=on_breach,
            error_message=error_message), override_defaults)

    def shared_limit(self, limit_value: Any, scope: str,
                     key_func: Callable[..., Any] | ClientIp | None = None,
                     **options: Any) -> Callable[[Endpoint], Endpoint]:
        """Return a decorator for routes that count together, as `scope`.

        The other arguments are those of `limit`.
        """
        return self.limit(limit_value, key_func, scope=scope, **options)

    def exempt(self, endpoint: Endpoint) -> Endpoint:
        """Exempt a route from the limits of every route."""
        self._check(endpoint)
        setattr(endpoint, EXEMPT, True)
        return endpoint

    def _decorator(self, limit: RouteLimit, override_defaults: bool
                   ) -> Callable[[Endpoint], Endpoint]:
        def put(endpoint: Endpoint) -> Endpoint:
            self._check(endpoint)
            limits = [limit, *vars(endpoint).get(LIMITS, ())]
            setattr(endpoint, LIMITS, limits)
            if override_defaults:
                setattr(endpoint, OVERRIDES, True)
            return endpoint
        return put

    def _check(self, endpoint: object) -> None:
        if not self._may_have_limits(endpoint):
            raise TypeError("limits are put on a function, not on "
                            f"{endpoint!r}")

    def _may_have_limits(self, endpoint: object) -> bool:
        return callable(endpoint)

    def limits_of(self, endpoint: Any, method: str) -> list[RouteLimit]:
        """Return the limits of a route's function, or of its class."""
        kind = getattr(endpoint, "view_class", endpoint)
        # What as_view has made may have limits, its class, and each method.
        of_method = getattr(kind, method.lower(), None)
        if of_method is None and method == "HEAD":  # frameworks run get()
            of_method = getattr(kind, "get", None)
        owners = list(dict.fromkeys((endpoint, kind, of_method)))
        own: list[RouteLimit] = [limit for owner in owners
                                 for limit in getattr(owner, LIMITS, ())]
        return [one for one in self._everywhere
                if all(one.applies_to(owner) for owner in owners)] + own

    # ---- Requests -----------------------------------------------------------

    def record_of(self, request: Any) -> Record:
        """Return the decisions about a request."""
        found: Record = request.scope["limitree"]
        return found

    def exceeded(self, decision: Decision, step: Step, message: str | None,
                 response: Any) -> Exception:
        """Return the error of a request that was denied."""
        return self._error(decision, message, response)

    async def ask(self, limits: Iterable[RouteLimit], request: Any,
                  where: Where) -> None:
        """Decide `limits` in one step; raises what `exceeded` returns."""
        step = Step()
        await run_awaited(step.asking(limits, self, request, where))
        if step.ask.paths:
            await self.authorize(request, step)
            step.ask.pass_on()

    async def authorize(self, request: Any, step: Step) -> Any:
        """Return the Decision on `step`, or the AsyncReservation.

        Raises what `exceeded` returns if it is denied.
        """
        if self.plain.has_news:
            # The first request of a route.  Its limits are read together with
            # those of other routes, which may take long if there are many.
            await asyncio.to_thread(self.plain.update, self._lifespan)
        limiter, ask = self.limiter, step.ask
        decision = self.record_of(request).note(
            ask, await ask.authorize(limiter, True), limiter)
        if decision.limited:
            log_denial(decision)
            response, message = await run_awaited(
                step.answering(self, request, decision))
            raise self.exceeded(decision, step, message, response)
        return decision


class SiteMiddleware(HeaderMiddleware):
    """Reports what a Site has decided in every response."""

    def __init__(self, app: Any, limiter: Any) -> None:
        super().__init__(app, limiter._lifespan, *limiter._headers)
        self._limiter = limiter

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["limitree"].limiter = self._limiter
        await self.app(scope, receive, send)


class Connection:
    """Where an ASGI connection goes to, as a Where that knows no route."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope

    @property
    def method(self) -> str:
        return str(self._scope.get("method", "WS"))

    @property
    def url(self) -> str:
        return str(self._scope["path"])


def _texts(texts: Iterable[str]) -> Iterable[str]:
    return [texts] if isinstance(texts, str) else texts
