"""Limits as texts on functions.

    calls = Calls(limiter)

    @calls.limit("5/minute", key=lambda user: user)
    def report(user): ...
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from limitree.aio import AsyncLimiter
from limitree.decision import Decision
from limitree.demand import CostOf, Segment
from limitree.errors import LimitExceeded
from limitree.functions import run, run_awaited, settled
from limitree.limiter import Limiter
from limitree.plain import PlainLimits
from limitree.rate_limit import Breach, RateLimit, Step

Function = TypeVar("Function", bound=Callable[..., Any])

_decision: contextvars.ContextVar[Decision | None] = contextvars.ContextVar(
    "limitree.calls", default=None)


class Call(NamedTuple):
    """The arguments of a function."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


class _At(NamedTuple):
    """A function, as a Where."""

    function: Callable[..., Any]
    method: str = "call"
    url: str = ""

    def route(self, method: str | None = None) -> str:
        """Return its name."""
        function = self.function
        return f"{function.__module__}.{function.__qualname__}"


def _of_call(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, key=None: function(*call.args, **call.kwargs)


class CallLimit(RateLimit):
    """A RateLimit whose functions get the arguments of the call."""

    @staticmethod
    def _function(function: Callable[..., Any]) -> Callable[..., Any]:
        return _of_call(function)

    @staticmethod
    def _limit_function(function: Callable[..., Any]) -> Callable[..., Any]:
        return _of_call(function)


class Calls:
    """The functions that a limiter limits by texts.

    ``limiter`` is a Limiter or, for async functions, an AsyncLimiter; then
    methods that ask it are awaited.  ``strategy`` is the algorithm of texts
    that name none.  A limiter has one of these for each `name`, a top-level
    name of its tree.
    """

    on_breach: Breach | None = None

    def __init__(self, limiter: Limiter | AsyncLimiter, *,
                 strategy: str | None = None, name: str = "call") -> None:
        self.plain = PlainLimits(name, strategy)
        self.plain.update(limiter)  # the name must be free
        self._limiter: Any = limiter
        self._is_async = isinstance(limiter, AsyncLimiter)

    def limit(self, *limits: Any, key: Callable[..., Any] | None = None,
              cost: CostOf = 1, scope: str | None = None,
              exempt_when: Callable[..., Any] | None = None,
              deduct_when: Callable[[Any], Any] | None = None,
              on_breach: Callable[[Decision], Any] | None = None,
              error_message: str | Callable[[], str] | None = None
              ) -> Callable[[Function], Function]:
        """Return a decorator for functions that run only when authorized.

        `limits` are texts such as "5/second; 100/hour", paths of the tree, and
        functions that return one or the other.  Functions get the arguments of
        the call, and `deduct_when` its result.  `key` returns the caller;
        without it there is one for all.  If the call is denied, LimitExceeded
        is raised, unless `on_breach` returns something: that is the result.

        All decorators of one function are decided in one step.
        """
        breach: Breach | None = None
        if on_breach is not None:
            def breach(call: Call, decision: Decision) -> Any:
                return on_breach(decision)
        limit = CallLimit(
            *limits, key=key, cost=cost, scope=scope, exempt_when=exempt_when,
            deduct_when=deduct_when, error_message=error_message,
            on_breach=breach)
        return lambda function: self._limited(limit, function)

    def _limited(self, limit: CallLimit, function: Function) -> Function:
        limits, inner = [limit], function
        mark: _Mark | None = getattr(function, "_limitree", None)
        if mark is not None and mark.limited is function and mark.calls is self:
            limits += mark.limits
            inner = mark.function  # type: ignore[assignment]
        is_async = inspect.iscoroutinefunction(inner)
        if is_async and not self._is_async and self._limiter.is_remote:
            raise TypeError("an async function must not wait for a store: give "
                            "Calls an AsyncLimiter")
        if self._is_async and not is_async:
            raise TypeError(f"{function!r} is not an async function: give "
                            "Calls a Limiter")
        limited = (_awaited if is_async else _sync)(inner, limits, self)
        functools.update_wrapper(limited, inner)
        setattr(limited, "_limitree", _Mark(inner, limited, self, limits))
        return limited  # type: ignore[return-value]

    def key(self, call: Call) -> str:
        """Return the caller where a limit has no key: there is one for all."""
        return ""

    @property
    def decision(self) -> Decision | None:
        """The decision about the limited function that runs, or None."""
        return _decision.get()

    def levels_of(self, key: Segment) -> Any:
        """Return what is left of a caller's texts; charges nothing."""
        plain = self.plain
        return (plain.levels_of_awaited if self._is_async else plain.levels_of)(
            self._limiter, key)

    def reset(self, key: Segment) -> Any:
        """Forget what a caller has used of texts."""
        plain = self.plain
        return (plain.reset_awaited if self._is_async else plain.reset)(
            self._limiter, key)


class _Mark(NamedTuple):
    """An attribute of limited functions, which other decorators copy."""

    function: Callable[..., Any]
    limited: Callable[..., Any]
    calls: Calls
    limits: list[CallLimit]


def _sync(function: Callable[..., Any], limits: list[CallLimit], calls: Calls
          ) -> Callable[..., Any]:
    where, limiter = _At(function), calls._limiter

    def limited(*args: Any, **kwargs: Any) -> Any:
        call, step = Call(args, kwargs), Step()
        run(step.asking(limits, calls, call, where))
        calls.plain.update(limiter)
        if not step.ask.paths:
            return function(*args, **kwargs)
        decision = step.ask.authorize(limiter, True)
        if decision.limited:
            return _answer(decision, *run(step.answering(calls, call,
                                                         decision)))
        step.ask.pass_on()
        with _seen(decision):
            result = function(*args, **kwargs)
        if step.ask.deferred:
            step.ask.charge(limiter, result)
        return result
    return limited


def _awaited(function: Callable[..., Any], limits: list[CallLimit],
             calls: Calls) -> Callable[..., Any]:
    where, limiter = _At(function), calls._limiter

    async def limited(*args: Any, **kwargs: Any) -> Any:
        call, step = Call(args, kwargs), Step()
        await run_awaited(step.asking(limits, calls, call, where))
        calls.plain.update(limiter)
        if not step.ask.paths:
            return await function(*args, **kwargs)
        decision = await settled(step.ask.authorize(limiter, True))
        if decision.limited:
            return _answer(decision, *await run_awaited(
                step.answering(calls, call, decision)))
        step.ask.pass_on()
        with _seen(decision):
            result = await function(*args, **kwargs)
        if step.ask.deferred:
            await settled(step.ask.charge(limiter, result))
        return result
    return limited


@contextlib.contextmanager
def _seen(decision: Decision) -> Iterator[None]:
    token = _decision.set(decision)
    try:
        yield
    finally:
        _decision.reset(token)


def _answer(decision: Decision, response: Any, message: str | None) -> Any:
    """Return what an on_breach has returned, or raise LimitExceeded."""
    if response is not None:
        return response
    error = LimitExceeded(decision)
    error.message = message
    raise error
