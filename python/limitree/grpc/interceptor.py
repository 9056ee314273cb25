"""The interceptor of servers with threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import grpc

from limitree.clients import ClientIp
from limitree.demand import Cost
from limitree.denials import log_denial
from limitree.errors import StoreError
from limitree.grpc.gate import (
    Call,
    Gate,
    Refusal,
    behavior_of,
    ended,
    refusal_of,
    used_nothing,
    with_behavior,
)
from limitree.headers import Style
from limitree.limiter import Limiter
from limitree.limits import NO_LIMITS, Limits
from limitree.rate_limit import Breach, RateLimit, Step, run
from limitree.response_holds import Holds, Reserve
from limitree.web import options_of


class RateLimitInterceptor(grpc.ServerInterceptor):
    __doc__ = f"""Limits the calls of a ``grpc.server``.
{(Gate.__doc__ or '').partition(chr(10))[2]}"""

    def __init__(self, limits: Limits | Limiter | None = None,
                 store: str | None = None, *,
                 path: Callable[[Call], Any] | None = None,
                 rules: Iterable[RateLimit] = (),
                 key: Callable[..., Any] | ClientIp | None = None,
                 strategy: str | None = None,
                 cost: Cost | Callable[[Call], Any] = 1,
                 reserve: Reserve = False, exclude: Iterable[str] = (),
                 headers: Style = "ietf", on_breach: Breach | None = None,
                 **options: Any) -> None:
        self._gate = Gate(
            path=path, rules=rules, key=key, strategy=strategy, cost=cost,
            reserve=reserve, exclude=exclude, headers=headers,
            on_breach=on_breach)
        if not isinstance(limits, Limiter):
            limits = Limiter(NO_LIMITS if limits is None else limits,
                             store or "memory://", **options_of(options))
        elif store is not None or options:
            raise TypeError("store and options belong to the limiter: give "
                            "them where it is made")
        self.limiter = limits  #: the limiter that is asked
        self._gate.check(limits, limits)

    def intercept_service(self, continuation: Callable[[Any], Any],
                          handler_call_details: Any) -> Any:
        """Return the handler of a call, behind its limits."""
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or self._gate.is_excluded(method):
            return handler
        behavior = behavior_of(handler)

        def limited(request: Any, context: Any) -> Any:
            with self._admitted(method, context):
                return behavior(request, context)

        def limited_stream(request: Any, context: Any) -> Iterator[Any]:
            with self._admitted(method, context) as holds:
                for response in behavior(request, context):
                    holds.started = True
                    yield response
                    holds.renew()

        return with_behavior(handler, limited_stream
                             if handler.response_streaming else limited)

    @contextlib.contextmanager
    def _admitted(self, method: str, context: Any) -> Iterator[Holds]:
        """Hold what a call needs until it ends; ends it if it is denied."""
        call, step = Call(method, context), Step()
        run(self._gate.asking(step, call))
        self._gate.plain.update(self.limiter)
        holds = Holds()
        if not step.ask.paths:
            yield holds
            return
        decision, refusal = self._decide(step, call)
        if refusal is not None:
            context.set_trailing_metadata(refusal.trailers)
            context.abort(refusal.code, refusal.details)
        holds.add(decision, step.ask, self.limiter)
        raised = False
        try:
            step.ask.pass_on()
            yield holds
        except BaseException as error:
            raised = isinstance(error, Exception)
            holds.failed = raised and used_nothing(holds, context)
            raise
        finally:
            self._end(step, holds, context, raised)

    def _decide(self, step: Step, call: Call) -> tuple[Any, Refusal | None]:
        try:
            decision = step.ask.authorize(self.limiter, True)
        except StoreError as error:
            return None, refusal_of(error)
        if decision.allowed:
            return decision, None
        log_denial(decision)
        return decision, run(self._gate.refusing(step, call, decision))

    def _end(self, step: Step, holds: Holds, context: Any, raised: bool
             ) -> None:
        if not step.ask.deferred and not holds:
            return
        how = ended(context, raised)
        if holds:
            holds.answer(how, False)
        try:
            if step.ask.deferred:
                # The limiter has logged that its store fails.
                with contextlib.suppress(StoreError):
                    step.ask.charge(self.limiter, how)
        finally:
            holds.end()
