"""Throttles for Django REST framework.

The classes have the names and attributes of ``rest_framework.throttling``, so a
project only changes the import.  They count in limitree: exactly, across all
processes that share its store, and without a cache.

``LimitreeThrottle`` asks a whole tree at once.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Union, cast

from rest_framework import throttling
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from limitree.decision import Decision
from limitree.demand import Cost, Segment
from limitree.django.current import current
from limitree.django.record import record_of
from limitree.errors import ClientGone, ConfigError
from limitree.functions import run
from limitree.path_costs import DeductWhen, PathCosts, not_a_path, segment_of
from limitree.plain import algorithm_of
from limitree.response_holds import Reserve, reserve_of
from limitree.web import counted_as, logger, methods_of

#: A path of the tree, or a list of paths.
Paths = Union[Sequence[Segment], Sequence[Sequence[Segment]]]

#: For programs that change the import of all throttles.
BaseThrottle = throttling.BaseThrottle

__all__ = ["AnonRateThrottle", "BaseThrottle", "LimitreeThrottle",
           "ScopedRateThrottle", "SimpleRateThrottle", "UserRateThrottle"]


class _Throttle(throttling.BaseThrottle):
    """The base of all throttles here: it keeps a decision.

    All throttles of a view are decided in one step: if one of them denies, none
    is charged.  A throttle with its own ``allow_request`` decides for itself.
    """

    #: Tokens that a request takes, or a dict of units: {"tokens": 812}.
    cost: Cost = 1
    #: A method that gets the response, and returns whether the request is
    #: charged, or what it costs; None: it is charged before its view
    #: runs.
    deduct_when: DeductWhen | None = None
    #: Of a LimitreeThrottle: whether limits with hold or concurrent are held
    #: until the response has ended, or for how long; renewed while a stream is
    #: sent.
    reserve: Reserve = False
    _reserve: bool | float = False
    #: The method or methods that are limited; None: all.
    methods: str | Iterable[str] | None = None
    _methods: frozenset[str] | None = None
    #: Of a rate: whether each method counts separately; HEAD counts as GET.
    per_method: bool = False
    #: A method that gets the request and the decision when this throttle
    #: denies.  Behind LimitreeMiddleware it may return the response.
    on_breach: Callable[..., Any] | None = None
    #: The text of the denial, or a function that returns it.
    error_message: str | Callable[[], str] | None = None
    #: The decision on the last request, or None.
    decision: Decision | None = None

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._reserve = reserve_of(cls.reserve)
        cls._methods = methods_of(cls.methods)
        if cls._reserve and issubclass(cls, throttling.SimpleRateThrottle):
            raise TypeError("reserve is for a LimitreeThrottle: a rate holds "
                            "nothing")

    def throttle_cost(self, request: Request, view: APIView) -> Cost:
        """Return the tokens that `request` takes."""
        return self.cost

    def exempt_when(self, request: Request, view: APIView) -> bool:
        """Return whether this throttle leaves `request` alone."""
        return False

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Charge all throttles of the view, or none; return whether this one
        allows the request."""
        if not current().conf.enabled:
            return True
        # Not with getattr(request), which would also look at Django's request;
        # tests may give anything if there is no rate.
        joint: _Joint | None = getattr(request, "__dict__", {}).get(
            "_limitree_joint")
        twin = None if joint is None else joint.twin_of(self, view)
        if joint is None or twin is None:
            throttles = _joined(self, view)
            if len(throttles) == 1:
                return self._allow_alone(request, view)
            joint, twin = _Joint(self, throttles, request, view), self
            setattr(request, "_limitree_joint", joint)
        else:
            vars(self).update(vars(twin))
        if twin not in joint.owners:
            return True
        self.decision = joint.decision
        return self._told(request, twin not in joint.denying)

    def _allow_alone(self, request: Request, view: APIView) -> bool:
        ask = PathCosts()
        self._put_if(ask, request, view)
        if not ask.paths:
            return True
        ask.defer(0, self.deduct_when, self._reserve)
        self.decision = _decided(request, ask)
        return self._told(request, self.decision.allowed)

    def _told(self, request: Request, allowed: bool) -> bool:
        if not allowed:
            record = record_of(request._request)
            site, decision = current(), cast("Decision", self.decision)
            message, response = run(site.breached([self], request, decision))
            record.told = message, response or record.told[1]
            if message is not None:
                self._answer(False)
                raise Throttled(self.wait(), message)
        return self._answer(allowed)

    def _put_if(self, ask: PathCosts, request: Request, view: APIView) -> None:
        if self._methods is not None and request.method not in self._methods:
            return
        if not self.exempt_when(request, view):
            self._put(ask, request, view)

    def _put(self, ask: PathCosts, request: Request, view: APIView) -> None:
        """Add what this throttle charges."""
        raise NotImplementedError

    def _answer(self, allowed: bool) -> bool:
        return allowed

    def get_ident(self, request: Request) -> str:
        """Return the address of the client in its canonical form.

        NUM_PROXIES of REST framework is the number of trusted proxies; if it is
        None, the setting LIMITREE decides.  A client cannot choose its address.
        Requests without an address, as on a Unix socket that is not trusted,
        count as one client; a log message says so once.
        """
        try:
            return current().client_ip(request._request,
                                       api_settings.NUM_PROXIES)
        except ClientGone:
            return ""
        except ValueError as error:
            if isinstance(error, ConfigError) or request.META.get(
                    "REMOTE_ADDR"):
                raise
            _warn_of_no_address(str(error))
            return ""

    def wait(self) -> float | None:
        """Return the seconds until the request would be allowed.

        None if it was allowed, or no wait is long enough.
        """
        decision = self.decision
        if decision is None or decision.retry_after == math.inf:
            return None
        return decision.retry_after


def _decided(request: Request, ask: PathCosts, levels: bool | None = None
             ) -> Decision:
    """Decide `ask`, and keep the decision with Django's request."""
    site, record = current(), record_of(request._request)
    record.check(ask)
    decision: Decision = ask.authorize(site.limiter, levels)
    record.note(decision, ask, site)
    record.holds.denied |= decision.limited
    return decision


class _Joint:
    """The throttles of a view, decided in one step for one request.

    REST framework asks them one after the other, so the first that is asked
    asks for all.
    """

    def __init__(self, first: _Throttle, throttles: list[_Throttle],
                 request: Request, view: APIView) -> None:
        self._view = view
        self._waiting = [one for one in throttles if one is not first]
        #: The throttle of each path.
        self.owners: list[_Throttle] = []
        #: The throttles that deny the request.
        self.denying: list[_Throttle] = []
        self.decision: Decision | None = None
        ask = PathCosts()
        try:
            for one in throttles:
                number = len(ask.paths)
                one._put_if(ask, request, view)
                if len(ask.paths) > number:
                    ask.defer(number, one.deduct_when, one._reserve)
                self.owners += [one] * (len(ask.paths) - number)
        except Exception as error:
            ask.refuse(error)
        if not ask.paths:
            return
        self.decision = decision = _decided(request, ask, True)
        if decision.limited:
            self.denying = [
                self.owners[level.path] for level in decision.levels or ()
                if level.limited and level.mode != "shadow"
            ] or self.owners[:1]
        else:
            ask.pass_on()

    def twin_of(self, throttle: _Throttle, view: APIView) -> _Throttle | None:
        """Return the object that was decided here in place of `throttle`.  Each
        object is returned once."""
        if view is self._view and _may_join(throttle):
            for place, one in enumerate(self._waiting):
                if type(one) is type(throttle):
                    return self._waiting.pop(place)
        return None


def _joined(first: _Throttle, view: APIView) -> list[_Throttle]:
    """Return the throttles of `view` that are decided with `first`."""
    if not _may_join(first) or _has_one(view):
        return [first]
    found = [cast("_Throttle", one) for one in view.get_throttles()
             if _may_join(one)]
    for place, one in enumerate(found):
        if type(one) is type(first):
            found[place] = first
            return found
    return [first]


def _has_one(view: APIView) -> bool:
    """Whether it is clear at once that `view` has no throttles to join."""
    make = getattr(type(view), "get_throttles", None)
    return make is None or (make is APIView.get_throttles
                            and len(view.throttle_classes) == 1)


def _may_join(throttle: object) -> bool:
    """Whether a throttle decides only by its paths."""
    return (isinstance(throttle, _Throttle)
            and type(throttle).allow_request is _Throttle.allow_request)


class LimitreeThrottle(_Throttle):
    """Asks the tree of the setting LIMITREE, all limits at once.

    A subclass chooses the path:

        class Trades(LimitreeThrottle):
            def throttle_path(self, request, view):
                return "user", str(request.user.pk), "trade"

    A view may do so instead, with a method of the same name.
    """

    def throttle_path(self, request: Request, view: APIView) -> Paths | None:
        """Return the path of `request`, or a list of paths, or None for none.
        """
        of_view = getattr(view, "throttle_path", None)
        if of_view is None:
            raise NotImplementedError(
                f"neither {type(self).__name__} nor {type(view).__name__} has "
                "a method throttle_path(request, view)")
        found: Paths | None = of_view(request)
        return found

    def _put(self, ask: PathCosts, request: Request, view: APIView) -> None:
        found: Any = self.throttle_path(request, view)
        if found is None:
            return
        where = f"{type(view).__name__}: "
        if isinstance(found, (str, bytes)):
            raise not_a_path(where, self.throttle_path)
        cost = self.throttle_cost(request, view)
        if not found or isinstance(found[0], (str, bytes)):
            found = [found]  # one path
        paths = [[segment_of(part, self.throttle_path, where) for part in path]
                 for path in found]
        for path in paths:  # all or none
            ask.add(path, cost)


class SimpleRateThrottle(_Throttle, throttling.SimpleRateThrottle):
    """A rate for each key that ``get_cache_key`` returns.

    ``rate``, ``scope``, ``THROTTLE_RATES``, ``get_rate`` and ``parse_rate`` are
    those of REST framework; ``cache`` and ``timer`` are not used.  A rate may
    name its algorithm, as in "5/min sliding_log", or be several, as in
    "5/min; 100/hour".
    """

    def _put(self, ask: PathCosts, request: Request, view: APIView) -> None:
        found = self.throttle_rate(request, view)
        if found is None:
            return
        self.key = self.get_cache_key(request, view)
        if self.key is None:
            return
        scope = self.scope or type(self).__qualname__
        if self.per_method:
            scope = f"{scope}@{counted_as(str(request.method))}"
        current().put_rate(ask, scope, self._rate_of(found), str(self.key),
                           self.throttle_cost(request, view),
                           type(self).throttle_rate is not
                           SimpleRateThrottle.throttle_rate)

    def parse_rate(self, rate: Any) -> Any:
        """Return count and seconds of a rate, the first of several."""
        return super().parse_rate(rate.partition(";")[0]
                                  if isinstance(rate, str) else rate)

    def _rate_of(self, rate: Any) -> str:
        """Return what `rate` says, with periods in seconds."""
        found = []
        for one in rate.split(";") if isinstance(rate, str) else [rate]:
            text, words = _rate_and_words(one)
            count, seconds = self.parse_rate(text)
            found.append(f"{count}/{seconds}{words}")
        return "; ".join(found)

    def throttle_rate(self, request: Request, view: APIView) -> str | None:
        """Return the rate for `request`; None: it is not limited."""
        return self.rate

    def _answer(self, allowed: bool) -> bool:
        return self.throttle_success() if allowed else self.throttle_failure()

    def throttle_success(self) -> bool:
        """Called for a request that is allowed."""
        return True


@functools.lru_cache(maxsize=256)
def _rate_and_words(rate: str) -> tuple[str, str]:
    """Return "5/min" and " sliding_log" of both in one text.

    All else is for `parse_rate`, which a subclass may have its own.
    """
    rate = rate.strip() if isinstance(rate, str) else rate
    rest, _, words = rate.partition(" ") if isinstance(rate, str) else ("",) * 3
    try:
        return (rest, f" {algorithm_of(words)}") if words else (rate, "")
    except ConfigError:
        return rate, ""


class AnonRateThrottle(SimpleRateThrottle, throttling.AnonRateThrottle):
    """A rate for each address of clients that are not logged in."""


class UserRateThrottle(SimpleRateThrottle, throttling.UserRateThrottle):
    """A rate for each user, or address of a client that is not logged in."""


class ScopedRateThrottle(SimpleRateThrottle, throttling.ScopedRateThrottle):
    """A rate for each user and ``throttle_scope`` of views."""

    def __init__(self) -> None:
        # The view chooses the rate, so it is not known yet.
        pass

    def _put(self, ask: PathCosts, request: Request, view: APIView) -> None:
        self.scope = getattr(view, self.scope_attr, None)
        if self.scope:
            self.rate = self.get_rate()
            super()._put(ask, request, view)


def _warn_of_no_address(why: str) -> None:
    """Warn once, not for each request."""
    if not _warned:
        _warned.append(why)
        logger.warning("throttles count all requests without an address as "
                       "one client: %s", why)


_warned: list[str] = []
