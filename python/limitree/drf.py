"""Throttles for Django REST framework.

The classes have the names and attributes of ``rest_framework.throttling``, so a
project only changes the import.  They count in limitree: exactly, for all
processes that share its store, and without a cache.

``LimitreeThrottle`` asks a whole tree at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Union

from rest_framework import throttling
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from limitree.decision import Decision
from limitree.demand import Segment
from limitree.django.ask import Ask, text_of
from limitree.django.current import current
from limitree.django.record import record_of
from limitree.errors import ClientGone, ConfigError
from limitree.web import logger

#: A path of the tree, or a list of paths.
Paths = Union[Sequence[Segment], Sequence[Sequence[Segment]]]

__all__ = ["AnonRateThrottle", "LimitreeThrottle", "ScopedRateThrottle",
           "SimpleRateThrottle", "UserRateThrottle"]


class _Throttle(throttling.BaseThrottle):
    """The base of all throttles here: it keeps a decision."""

    #: The decision on the last request, or None.
    decision: Decision | None = None

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

    def _note(self, request: Request, decision: Decision) -> bool:
        self.decision = decision
        record_of(request._request).decisions.append(decision)
        return decision.allowed


class LimitreeThrottle(_Throttle):
    """Asks the tree of the setting LIMITREE, all limits at once.

    A subclass chooses the path:

        class Trades(LimitreeThrottle):
            def throttle_path(self, request, view):
                return "user", str(request.user.pk), "trade"

    A view may do so instead, with a method of the same name.
    """

    #: Tokens that a request takes.
    cost = 1

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

    def throttle_cost(self, request: Request, view: APIView) -> int:
        """Return the tokens that `request` takes."""
        return self.cost

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Charge all limits, or none; return whether they allow it."""
        site = current()
        found: Any = self.throttle_path(request, view)
        if found is None or not site.conf.enabled:
            return True
        paths = found if _holds_paths(found) else [found]
        if not paths:
            return True
        ask, cost = Ask(), self.throttle_cost(request, view)
        for path in paths:
            ask.add([text_of(part) for part in path], cost)
        return self._note(request, ask.authorize(site.limiter))


class SimpleRateThrottle(_Throttle, throttling.SimpleRateThrottle):
    """A rate for each key that ``get_cache_key`` returns.

    ``rate``, ``scope``, ``THROTTLE_RATES``, ``get_rate`` and ``parse_rate`` are
    those of REST framework; ``cache`` and ``timer`` are not used.
    """

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Charge the rate; return whether it allows the request."""
        site = current()
        if self.rate is None or not site.conf.enabled:
            return True
        self.key = self.get_cache_key(request, view)
        if self.key is None:
            return True
        num_requests, duration = self.parse_rate(self.rate)
        assert num_requests is not None and duration is not None
        ask = Ask()
        site.put_rate(ask, self.scope or type(self).__qualname__,
                      (num_requests, duration), str(self.key), 1)
        if self._note(request, ask.authorize(site.limiter)):
            return self.throttle_success()
        return self.throttle_failure()

    def throttle_success(self) -> bool:
        """Called for a request that is allowed."""
        return True


class AnonRateThrottle(SimpleRateThrottle, throttling.AnonRateThrottle):
    """A rate for each address of clients that are not logged in."""


class UserRateThrottle(SimpleRateThrottle, throttling.UserRateThrottle):
    """A rate for each user, or address of a client that is not logged in."""


class ScopedRateThrottle(SimpleRateThrottle, throttling.ScopedRateThrottle):
    """A rate for each user and ``throttle_scope`` of views."""

    def __init__(self) -> None:
        # The view chooses the rate, so it is not known yet.
        pass

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Charge the rate of the view's scope, if it has one."""
        self.scope = getattr(view, self.scope_attr, None)
        if not self.scope:
            return True
        self.rate = self.get_rate()
        return super().allow_request(request, view)


def _warn_of_no_address(why: str) -> None:
    """Warn once, not for each request."""
    if not _told:
        _told.append(why)
        logger.warning("throttles count all requests without an address as "
                       "one client: %s", why)


_told: list[str] = []


def _holds_paths(found: Sequence[Any]) -> bool:
    return bool(found) and not isinstance(found[0], (str, bytes))
