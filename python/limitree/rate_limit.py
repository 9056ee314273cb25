"""Limits of requests or calls, whatever framework they come from.

A `RateLimit` says what is limited, and for whom.  Integrations gather those of
a request in one Step, which is decided all or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from limitree.clients import ClientIp
from limitree.decision import Decision
from limitree.demand import Cost, Segment
from limitree.functions import Asking, limit_function, of_request, text_of
from limitree.path_costs import DeductWhen, PathCosts, denying
from limitree.plain import PlainLimits, joined, parse
from limitree.response_holds import Reserve, reserve_of
from limitree.web import (
    check_path,
    counted_as,
    is_one_of,
    methods_of,
    not_a_segment,
)

By = Literal["route", "path", "app"]
#: A function of the request and the decision, which may return a response.
Breach = Callable[[Any, Decision], Any]

#: No key is known yet.
UNKNOWN: Any = object()

#: Makes the path of a route a name of the tree.
PLAIN = str.maketrans({"{": "<", "}": ">", "*": "%2A"})


class Where(Protocol):
    """Where a request goes to."""

    @property
    def method(self) -> str:
        """Such as "GET"; "WS" for a websocket."""

    @property
    def url(self) -> str:
        """The path of its URL."""

    def route(self, method: str | None = None) -> str:
        """Return the name of its route, of all methods or of one."""


class Place(NamedTuple):
    """A place that has no routes."""

    method: str
    url: str

    def route(self, method: str | None = None) -> str:
        """Return the same name for all."""
        return f"app@{method}" if method else "app"


class Site(Protocol):
    """What the RateLimits of an application have in common."""

    on_breach: Breach | None

    @property
    def plain(self) -> PlainLimits:
        """The limits that are texts."""

    @property
    def key(self) -> Callable[[Any], Any]:
        """Tells callers apart."""


class RateLimit:
    """Limits that a request meets together, with one key and at one cost.

    ``limits`` are texts such as ``"5/second; 100/hour"``; paths of the tree, in
    which a segment may be a function of the request; and functions of the
    request that return one or the other.  ``at`` is the URL path for which they
    are, or several; ``/static/*`` means everything below ``/static/``.
    docs/fastapi.md describes all other arguments.
    """

    def __init__(self, *limits: Any,
                 key: Callable[..., Any] | ClientIp | None = None,
                 cost: Cost | Callable[..., Any] = 1,
                 reserve: Reserve = False, by: By = "route",
                 scope: str | None = None,
                 at: str | Iterable[str] | None = None,
                 methods: str | Iterable[str] | None = None,
                 per_method: bool = False,
                 exempt_when: Callable[..., Any] | None = None,
                 deduct_when: DeductWhen | None = None,
                 on_breach: Breach | None = None,
                 error_message: str | Callable[[], str] | None = None) -> None:
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
        self.reserve = reserve_of(reserve)
        if self.reserve and all(isinstance(one, str) for one in limits):
            raise TypeError("reserve is for paths of the tree: a text such as "
                            "'5/minute' holds nothing")
        self._limits = [self._limit_function(one) if callable(one) else one
                        for one in limits]
        self._key = None if key is None else self.key_function(key)
        self._cost = self._function(cost) if callable(cost) else cost
        self._by = by
        self._scope = scope
        self._at = (at,) if isinstance(at, str) else tuple(at or ())
        self._is_at = is_one_of(self._at)
        self._per_method = per_method
        self._methods = methods_of(methods)
        self._exempt_when = exempt_when and self._function(exempt_when)
        self.deduct_when = deduct_when
        self.on_breach = on_breach
        self.error_message = error_message

    # Functions may leave out the request; a decorator of functions has others.
    @staticmethod
    def _function(function: Callable[..., Any]) -> Callable[..., Any]:
        return of_request(function)

    @staticmethod
    def _limit_function(function: Callable[..., Any]) -> Callable[..., Any]:
        return limit_function(function)

    @classmethod
    def key_function(cls, key: Any) -> Callable[..., Any]:
        """Return a function that finds the caller of a request."""
        return cls._function(key)

    def asking(self, site: Site, request: Any, where: Where,
               key: Any = UNKNOWN) -> Asking:
        """Return the paths of a request, none if it is exempt, and its cost.

        `key` is the caller, if that is known.
        """
        if self._methods and where.method not in self._methods:
            return [], 0
        if self._at and not self._is_at(where.url):
            return [], 0
        if self._exempt_when is not None and (yield self._exempt_when(request)):
            return [], 0
        paths: list[Any] = []
        for limit in self._limits:
            if key is UNKNOWN and (isinstance(limit, str) or callable(limit)):
                key = yield (self._key or site.key)(request)
            found = (yield limit(request, key)) if callable(limit) else limit
            if isinstance(found, str):
                rule = site.plain.rule(found, self._scope_of(where),
                                       callable(limit))
                paths += rule.paths(self._key_in(site, where, key))
            else:
                paths.append((yield from self._path(found, limit, request,
                                                    where)))
        cost = self._cost
        return paths, ((yield cost(request)) if callable(cost) else cost)

    def _scope_of(self, where: Where) -> str:
        method = counted_as(where.method) if self._per_method else None
        if self._scope is not None or self._by == "app":
            scope = "app" if self._scope is None else self._scope
            return f"{scope}@{method}" if method else scope
        if self._at:
            return (f"{method or ''}{','.join(self._at)}").translate(PLAIN)
        return where.route(method)

    def _key_in(self, site: Site, where: Where, key: Any) -> Segment:
        found = text_of(key)
        if not isinstance(found, (str, bytes)):
            raise not_a_segment(f"the key of {where.route()}", found,
                                self._key_source or site.key)
        return found if self._by != "path" else joined(where.url, found)

    @property
    def _key_source(self) -> Any:
        return self._key

    def _path(self, path: Any, source: Any, request: Any, where: Where
              ) -> Asking:
        if path is None or isinstance(path, bytes):
            raise TypeError("a limit must be a text or a path, not "
                            f"{type(path).__name__}")
        found: list[Segment] = []
        for part in path:
            if callable(part):
                source = part
                part = yield self._function(part)(request)
            segment = text_of(part)
            if not isinstance(segment, (str, bytes)):
                raise not_a_segment(f"segment {len(found)} of the path of "
                                    f"{where.route()}", segment, source)
            found.append(segment)
        return found

    def check(self, limiter: Any, where: str) -> None:
        """Raise UnknownRoot for a path that the tree does not have."""
        for limit in self._limits:
            if not isinstance(limit, str) and not callable(limit):
                check_path(limiter, limit, where)


class Step:
    """Limits that are decided all or nothing, and whose they are."""

    def __init__(self) -> None:
        self.ask = PathCosts()
        self._owners: list[RateLimit] = []

    def add(self, limit: RateLimit, paths: list[Any], cost: Cost) -> None:
        """Add the paths of `limit`, the results of asking."""
        first = len(self.ask.paths)
        self.ask.paths += paths
        self.ask.costs += [cost] * len(paths)
        if paths:
            self.ask.defer(first, limit.deduct_when, limit.reserve)
        self._owners += [limit] * len(paths)

    def asking(self, limits: Iterable[RateLimit], site: Site, request: Any,
               where: Where) -> Asking:
        """Add all of these limits.

        A function that raises an error ends the step: see PathCosts.refuse.
        """
        for limit in limits:
            try:
                paths, cost = yield from limit.asking(site, request, where)
            except Exception as error:
                self.ask.refuse(error)
                return
            self.add(limit, paths, cost)

    def answering(self, site: Site, request: Any, decision: Decision
                  ) -> Asking:
        """Call on_breach of the application and of the limits that deny.

        Returns the last response of these functions, or None, and the message
        of a limit, or None.
        """
        found = denying(self._owners, decision,
                        len(self.ask.paths) - len(self._owners))
        response = yield from breaching(
            [site.on_breach, *(limit.on_breach for limit in found)], request,
            decision)
        return response, message_of(found)


def breaching(functions: Iterable[Breach | None], request: Any,
              decision: Decision) -> Asking:
    """Call each of these functions once; return the last response, or None."""
    response = None
    for breach in dict.fromkeys(functions):
        if breach is not None:
            found = yield breach(request, decision)
            response = response if found is None else found
    return response


def message_of(limits: Iterable[Any]) -> str | None:
    """Return the first error_message of the limits that deny, or None."""
    for limit in limits:
        message = limit.error_message
        if message is not None:
            return str(message() if callable(message) else message)
    return None
