"""The interceptor of servers with threads."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from limitree.denials import log_denial
from limitree.errors import StoreError
from limitree.functions import run
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
from limitree.lifespan import limiter_of
from limitree.limiter import Limiter
from limitree.rate_limit import Step
from limitree.response_holds import Holds


class RateLimitInterceptor(Gate, grpc.ServerInterceptor):
    __doc__ = f"""Limits the calls of a ``grpc.server``.
{(Gate.__doc__ or '').partition(chr(10))[2]}"""

    def _open(self, limits: Any, store: str | None, options: dict[str, Any]
              ) -> Limiter:
        self.limiter = limiter_of(limits, store, options)  #: that is asked
        return self.limiter

    def _update(self) -> None:
        self.plain.update(self.limiter)

    def intercept_service(self, continuation: Callable[[Any], Any],
                          handler_call_details: Any) -> Any:
        """Return the handler of a call, behind its limits."""
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or self._is_excluded(method):
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
        run(self._asking(step, call))
        self._update()
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
        return decision, run(self._refusing(step, call, decision))

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
