"""Limits as texts on functions: what ``limit`` of both limiters puts there."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from limitree.decision import Decision, Level
from limitree.demand import Segment
from limitree.errors import ConfigError, LimitExceeded
from limitree.locks import ForkLock
from limitree.plain import PlainLimits, parse
from limitree.rate_limit import Breach, RateLimit, Step, run, run_awaited

if TYPE_CHECKING:
    from limitree.aio import AsyncLimiter
    from limitree.limiter import Limiter

Function = TypeVar("Function", bound=Callable[..., Any])

_decision: contextvars.ContextVar[Decision | None] = contextvars.ContextVar(
    "limitree.calls", default=None)
_lock = ForkLock()


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

    def __init__(self, *limits: Any, on_breach: Any = None, **options: Any
                 ) -> None:
        breach: Breach | None = on_breach and (
            lambda call, decision: on_breach(decision))
        super().__init__(*limits, on_breach=breach, **options)


class Calls:
    """The functions that one limiter limits by texts."""

    on_breach: Breach | None = None

    def __init__(self, limiter: Limiter) -> None:
        self.plain = PlainLimits("call")
        self.plain.update(limiter)  # the name must be free
        self._limiter = limiter

    def key(self, call: Call) -> str:
        """Return the caller where a limit has no key: there is one for all."""
        return ""

    @property
    def decision(self) -> Decision | None:
        """The decision about the limited function that runs, or None."""
        return _decision.get()

    def levels_of(self, key: Segment) -> list[Level]:
        """Return what is left of a caller's texts; charges nothing."""
        return self.plain.levels_of(self._limiter, key)

    def reset(self, key: Segment) -> None:
        """Forget what a caller has used of texts."""
        self.plain.reset(self._limiter, key)


def calls_of(limiter: Limiter) -> Calls:
    """Return the Calls of a limiter, which makes them."""
    with _lock:
        found: Calls | None = vars(limiter).get("_calls")
        if found is None:
            found = Calls(limiter)
            vars(limiter)["_calls"] = found
        return found


def is_text(path: tuple[Any, ...]) -> bool:
    """Whether a path is limits in words, or a function that returns some."""
    if len(path) != 1 or not isinstance(path[0], str):
        return False
    try:
        return bool(parse(path[0]))
    except ConfigError:
        return False


class _Mark(NamedTuple):
    """An attribute of limited functions, which other decorators copy."""

    function: Callable[..., Any]
    limited: Callable[..., Any]
    calls: Calls
    limits: list[CallLimit]


def limited_by(limiter: Limiter, awaited: AsyncLimiter | None,
               limit: CallLimit, function: Function) -> Function:
    """Return `function` under `limit`, and under those that it already has.

    All are decided in one step.  With `awaited`, an async function awaits it.
    """
    calls, limits, inner = calls_of(limiter), [limit], function
    mark: _Mark | None = getattr(function, "_limitree", None)
    if mark is not None and mark.limited is function and mark.calls is calls:
        limits += mark.limits
        inner = mark.function  # type: ignore[assignment]
    limited = (_awaited if inspect.iscoroutinefunction(inner) else _sync)(
        inner, limits, calls, limiter, awaited)
    functools.update_wrapper(limited, inner)
    setattr(limited, "_limitree", _Mark(inner, limited, calls, limits))
    return limited  # type: ignore[return-value]


def _sync(function: Callable[..., Any], limits: list[CallLimit], calls: Calls,
          limiter: Limiter, awaited: AsyncLimiter | None
          ) -> Callable[..., Any]:
    where = _At(function)

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
             calls: Calls, limiter: Limiter, awaited: AsyncLimiter | None
             ) -> Callable[..., Any]:
    where = _At(function)

    async def limited(*args: Any, **kwargs: Any) -> Any:
        call, step = Call(args, kwargs), Step()
        await run_awaited(step.asking(limits, calls, call, where))
        calls.plain.update(limiter)
        if not step.ask.paths:
            return await function(*args, **kwargs)
        decision = step.ask.authorize(awaited or limiter, True)
        if awaited is not None:
            decision = await decision
        if decision.limited:
            return _answer(decision, *await run_awaited(
                step.answering(calls, call, decision)))
        step.ask.pass_on()
        with _seen(decision):
            result = await function(*args, **kwargs)
        if step.ask.deferred:
            charged: Any = step.ask.charge(awaited or limiter, result)
            if awaited is not None:
                await charged
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
