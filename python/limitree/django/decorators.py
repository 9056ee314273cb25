"""The decorator of views."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, NamedTuple, TypeVar

from asgiref.sync import iscoroutinefunction

from limitree.demand import CostOf
from limitree.django.current import current
from limitree.django.exceptions import Ratelimited
from limitree.path_costs import DeductWhen
from limitree.django.record import record_of
from limitree.django.response import too_many_awaited
from limitree.django.rule import (
    ALL,
    Key,
    Part,
    RateOf,
    Rule,
    known,
    with_methods,
)
from limitree.django.site import Site
from limitree.rate_limit import Breach
from limitree.response_holds import Reserve
from limitree.django.steps import Bound, Step, steps_of

View = TypeVar("View", bound=Callable[..., Any])


@with_methods
def ratelimit(*path: Part, group: str | None = None, key: Key | None = None,
              rate: RateOf | None = None,
              method: str | Collection[str] | None = ALL, block: bool = True,
              cost: CostOf = 1, deduct_when: DeductWhen | None = None,
              reserve: Reserve = False,
              exempt_when: Callable[..., Any] | None = None,
              on_breach: Breach | None = None,
              error_message: str | Callable[[], str] | None = None
              ) -> Callable[[View], View]:
    """Return a decorator for views that run only if a limit allows it.

    The limit is a path of the tree, whose segments may be functions of the
    view's arguments, or a `rate` such as "5/m" for each `key`:

        @ratelimit("user", keys.user, "trade")
        @ratelimit(key="ip", rate="5/m;100/h")

    ``key``, ``rate``, ``group``, ``method`` and ``block`` are those of
    django-ratelimit.  ``cost`` is a number of tokens, a dict of units such as
    ``{"tokens": 812}``, or a function of the view's arguments.  With
    ``deduct_when``, a function of the response, a request that does not fit is
    denied, but the charge follows the response: `cost` if the function returns
    True, or the cost it returns.  With ``reserve``, limits with ``hold`` or
    ``concurrent`` are held until the response has ended, and ``deduct_when``
    says what they are then settled as.  A duration is the hold, which is
    renewed while a stream is sent.  If ``exempt_when``, a function of the
    view's arguments, returns true, the limiter is not asked.  ``on_breach`` is
    called with the request and the Decision if this limit denies, and may
    return the response; ``error_message`` is the text of the denial.

    All decorators of a view that block decide all or nothing, in one step.
    For methods of a class use ``method_decorator``.

    Raises TypeError, ValueError or ConfigError for arguments that are not
    valid.  The view raises Ratelimited or, if `block` is false, sets
    ``request.limited``.
    """
    if rate is not None and len(path) == 1 and group is None:
        group, path = _only_text(path[0]), ()  # as in django-ratelimit
    if rate is None and len(path) == 1 and callable(path[0]):
        raise TypeError("ratelimit needs a path that begins with a name, or a "
                        "rate: @ratelimit(key=\"ip\", rate=\"5/m\")")
    rule = Rule(path, group=group, key=key, rate=rate, method=method,
                block=block, cost=cost, deduct_when=deduct_when,
                reserve=reserve, exempt_when=exempt_when, on_breach=on_breach,
                error_message=error_message)

    def decorate(view: View) -> View:
        return _limited(Bound(rule, rule.group or group_of(view)), view)

    return decorate


class _Mark(NamedTuple):
    """An attribute of decorated views, which other decorators copy."""

    view: Callable[..., Any]
    limited: Callable[..., Any]
    rules: list[Bound]


def _limited(bound: Bound, view: View) -> View:
    rules = [bound]
    mark: _Mark | None = getattr(view, "_limitree", None)
    if mark is not None and mark.limited is view:
        rules += mark.rules
        view = mark.view  # type: ignore[assignment]
    if not isinstance(view, functools.partial):  # each request makes one
        known.setdefault(bound.rule, set()).add(bound.group)
    steps = steps_of(rules)
    limited = (_limited_awaited if iscoroutinefunction(view)
               else _limited_sync)(view, steps)
    functools.update_wrapper(limited, view)
    setattr(limited, "_limitree", _Mark(view, limited, rules))
    return limited  # type: ignore[return-value]


def _limited_sync(view: Callable[..., Any], steps: list[Step]
                  ) -> Callable[..., Any]:
    def limited(request: Any, *args: Any, **kwargs: Any) -> Any:
        record = getattr(request, "limitree", None) or record_of(request)
        site = current()
        if site.conf.enabled:
            if record.is_asgi and _on_event_loop():
                return _finish_awaited(site, view, steps, request, args, kwargs)
            for step in steps:
                denial = step.decide(site, record, request, args, kwargs)
                if denial is not None:
                    raise site.exception(denial, record.told)
        return view(request, *args, **kwargs)

    return limited


def _limited_awaited(view: Callable[..., Any], steps: list[Step]
                     ) -> Callable[..., Any]:
    async def limited(request: Any, *args: Any, **kwargs: Any) -> Any:
        return await _finish_awaited(current(), view, steps, request, args,
                                     kwargs)

    return limited


async def _finish_awaited(site: Site, view: Callable[..., Any],
                          steps: list[Step], request: Any,
                          args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    record = record_of(request)
    for step in steps if site.conf.enabled else ():
        denial = await step.decide_awaited(site, record, request, args, kwargs)
        if denial is not None:
            error = site.exception(denial, record.told)
            # Django would handle an exception in another thread.
            if record.has_middleware and type(error) is Ratelimited:
                return await too_many_awaited(site, request, error)
            raise error
    response = view(request, *args, **kwargs)
    return await response if inspect.isawaitable(response) else response


def _on_event_loop() -> bool:
    """Whether other requests would wait for this one.

    A class with async methods has a dispatch that is not async.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _only_text(group: Any) -> str:
    if not isinstance(group, str):
        raise TypeError(f"a group must be a text, not {type(group).__name__}")
    return group


def rules_of(view: Any) -> list[Rule]:
    """Return the limits of a view, or those of a class or its dispatch."""
    owners = [view]
    kind = getattr(view, "view_class", None) or getattr(view, "cls", None)
    if kind is not None:
        owners += [getattr(kind, name, None)
                   for name in ("dispatch", *kind.http_method_names)]
    found = [bound.rule for owner in owners
             for bound in getattr(getattr(owner, "_limitree", None), "rules",
                                  ())]
    return list(dict.fromkeys(found))


def default_of(site: Site, view: Any) -> Step | None:
    """Return the step of VIEW_DEFAULT, if `view` has no limits of its own.

    REST framework has default throttles for its views.
    """
    rule = site.view_default
    if rule is None:
        return None
    found: Step | None = None
    with contextlib.suppress(KeyError, TypeError):  # it may have no hash
        found = site.view_steps[view]
        return found
    kind = getattr(view, "cls", None)
    if not rules_of(view) and not hasattr(kind, "get_throttles"):
        known.setdefault(rule, set()).add(group_of(view))
        found = Step([Bound(rule, group_of(view))])
    with contextlib.suppress(TypeError):
        site.view_steps[view] = found
    return found


def group_of(view: Callable[..., Any]) -> str:
    """Return the name of a view's rates: its dotted path."""
    if isinstance(view, functools.partial):  # of method_decorator
        method = view.func
        kind = type(getattr(method, "__self__", method))
        return f"{kind.__module__}.{kind.__qualname__}.{method.__name__}"
    found: Any = getattr(view, "view_class", view)
    if not hasattr(found, "__qualname__"):  # an object, such as a Feed
        found = type(found)
    return f"{found.__module__}.{found.__qualname__}"
