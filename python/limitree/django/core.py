"""Functions that ask without decorating a view, as in django-ratelimit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection
from typing import Any, TypedDict

from django.http import HttpRequest

from limitree.decision import Decision
from limitree.django.current import current
from limitree.django.decorators import group_of
from limitree.path_costs import PathCosts
from limitree.django.record import record_of
from limitree.django.rule import ALL, Key, RateOf, Rule, with_methods


class Usage(TypedDict):
    """The use of a rate."""

    count: int  #: requests counted, including this one if it was charged
    limit: int  #: requests that the rate allows at once
    should_limit: bool  #: whether this request is one too many
    time_left: int  #: seconds until the bucket is full
    decision: Decision  #: the complete decision


@with_methods
def get_usage(request: HttpRequest, group: str | None = None,
              fn: Callable[..., Any] | None = None, key: Key | None = None,
              rate: RateOf | None = None,
              method: str | Collection[str] | None = ALL,
              increment: bool = False) -> Usage | None:
    """Return the use of a rate; charge it only with `increment`.

    ``group``, or the name of ``fn``, names the rate.  Returns None if the
    request is not limited, because of its method or because the rate is None.
    Raises TypeError without a group and a function, or without a rate, and what
    the limiter raises.

    It waits for the store; async views use ``limitree.django.async_limiter``.
    """
    if group is None:
        if fn is None:
            raise TypeError("give the group of a rate, or a function")
        group = group_of(fn)
    if rate is None:
        return None
    site = current()
    rule = _rule(key, rate, method if method is None or isinstance(method, str)
                 else tuple(method))
    ask = PathCosts()
    rule.put(ask, site, group, request, (), {})
    if not ask.paths or not site.conf.enabled:
        return None
    decision = (ask.authorize if increment else ask.peek)(site.limiter)
    if increment:
        record_of(request).decisions.append(decision)
    used = decision.limit - decision.remaining
    if increment == decision.limited:
        used += 1 if increment else -1
    return {"count": used, "limit": decision.limit,
            "should_limit": decision.limited,
            "time_left": math.ceil(decision.binding_reset_after),
            "decision": decision}


@with_methods
def is_ratelimited(request: HttpRequest, group: str | None = None,
                   fn: Callable[..., Any] | None = None, key: Key | None = None,
                   rate: RateOf | None = None,
                   method: str | Collection[str] | None = ALL,
                   increment: bool = False) -> bool:
    """Return whether a request is one too many, as in get_usage."""
    usage = get_usage(request, group, fn, key, rate, method, increment)
    return usage is not None and usage["should_limit"]


@functools.lru_cache(maxsize=256)
def _rule(key: Key | None, rate: RateOf,
          method: str | tuple[str, ...] | None) -> Rule:
    return Rule((), key=key, rate=rate, method=method)
