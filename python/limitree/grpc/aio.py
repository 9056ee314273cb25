"""The interceptor of servers on an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import grpc.aio

from limitree.aio import AsyncLimiter
from limitree.denials import log_denial
from limitree.errors import StoreError
from limitree.functions import run_awaited
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
from limitree.lifespan import LimiterLifespan
from limitree.limiter import Limiter
from limitree.rate_limit import Step
from limitree.response_holds import Holds
from limitree.tasks import when_done


class AsyncRateLimitInterceptor(Gate, grpc.aio.ServerInterceptor):
    __doc__ = f"""Limits the calls of a ``grpc.aio.server``.
{(Gate.__doc__ or '').partition(chr(10))[2]}
    Functions may be async.
    """

    def _open(self, limits: Any, store: str | None, options: dict[str, Any]
              ) -> Limiter:
        self._lifespan = LimiterLifespan(
            limits, "memory://" if store is None else store, options)
        return self.limiter._limiter

    def _update(self) -> None:
        self.plain.update(self._lifespan)

    @property
    def limiter(self) -> AsyncLimiter:
        """The limiter that is asked."""
        return self._lifespan.limiter

    async def close(self) -> None:
        """Close the limiter, unless it was passed in."""
        await self._lifespan.close()

    async def intercept_service(self, continuation: Callable[[Any], Any],
                                handler_call_details: Any) -> Any:
        """Return the handler of a call, behind its limits."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or self._is_excluded(method):
            return handler
        behavior = behavior_of(handler)
        return with_behavior(handler, self._limited(
            method, behavior, bool(handler.response_streaming)))

    def _limited(self, method: str, behavior: Any, streams: bool) -> Any:
        """Return `behavior` behind its limits, as a function of its kind."""
        if inspect.isasyncgenfunction(behavior):
            async def generating(request: Any, context: Any
                                 ) -> AsyncIterator[Any]:
                admission = await self._begin(method, context)
                async with admission.awaited(context):
                    async for response in behavior(request, context):
                        admission.holds.started = True
                        yield response
            return generating
        if inspect.iscoroutinefunction(behavior):
            async def awaiting(request: Any, context: Any) -> Any:
                admission = await self._begin(method, context)
                async with admission.awaited(context):
                    return await behavior(request, context)
            return awaiting
        # grpc.aio runs other functions in threads.  This is the task of the
        # call.
        task: Any = asyncio.current_task()

        def calling(request: Any, context: Any) -> Any:
            context = _Noting(context)
            with self._in_thread(method, context, task):
                return behavior(request, context)

        def iterating(request: Any, context: Any) -> Iterator[Any]:
            context = _Noting(context)
            with self._in_thread(method, context, task) as holds:
                for response in behavior(request, context):
                    holds.started = True
                    yield response

        return iterating if streams else calling

    @contextlib.contextmanager
    def _in_thread(self, method: str, context: Any,
                   task: asyncio.Task[Any]) -> Iterator[Holds]:
        loop = task.get_loop()
        admission = asyncio.run_coroutine_threadsafe(
            self._begin(method, context), loop).result()
        if admission.refusal is not None:
            context.abort(*admission.refusal)
            raise grpc.aio.AbortError  # that abort does not always raise
        # grpc.aio forgets a generator whose client has gone away, so that it
        # never ends.
        loop.call_soon_threadsafe(when_done, task,
                                  lambda: admission.end(context))

        def end() -> None:
            asyncio.run_coroutine_threadsafe(admission.end(context),
                                             loop).result()
        # It answers at once, and the client may call again.
        context.before_abort = end
        try:
            with admission.noting(context):
                yield admission.holds
        finally:
            end()

    async def _begin(self, method: str, context: Any) -> _Admission:
        call, step = Call(method, context), Step()
        await run_awaited(self._asking(step, call))
        if self.plain.has_news:
            await asyncio.to_thread(self._update)
        admission = _Admission(step, self.limiter)
        if not step.ask.paths:
            return admission
        try:
            decision = await step.ask.authorize(self.limiter, True)
        except StoreError as error:
            admission.refusal = refusal_of(error)
            return admission
        if decision.limited:
            log_denial(decision)
            admission.refusal = await run_awaited(
                self._refusing(step, call, decision))
            return admission
        admission.holds.add(decision, step.ask, self.limiter._limiter,
                            self.limiter)
        try:
            step.ask.pass_on()
        except Exception:
            admission.holds.failed = True
            await admission.holds.end_awaited()
            raise
        return admission


class _Noting:
    """The context of a function in a thread, which cannot tell its code."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._code: Any = None
        self.before_abort: Callable[[], None] = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def code(self) -> Any:
        """Return the code that the function has set."""
        return self._code

    def set_code(self, code: Any) -> None:
        """Set the code of the call."""
        self._code = code
        self._context.set_code(code)

    def abort(self, code: Any, *details: Any) -> None:
        """End the call with an error."""
        self._code = code
        self.before_abort()
        self._context.abort(code, *details)


class _Admission:
    """A call that was decided, until its end."""

    def __init__(self, step: Step, limiter: AsyncLimiter) -> None:
        self._step = step
        self._limiter = limiter
        self.holds = Holds()
        self.refusal: Refusal | None = None
        self._is_over = self._has_raised = False

    @contextlib.asynccontextmanager
    async def awaited(self, context: Any) -> AsyncIterator[None]:
        """The time of the call, which does not begin if it was refused."""
        if self.refusal is not None:
            await context.abort(*self.refusal)
        try:
            with self.noting(context):
                yield
        finally:
            await self.end(context)

    @contextlib.contextmanager
    def noting(self, context: Any) -> Iterator[None]:
        """Note an error; a client that goes away has used something."""
        try:
            yield
        except Exception:
            self._has_raised = True
            self.holds.failed = used_nothing(self.holds, context)
            raise

    async def end(self, context: Any) -> None:
        """Charge what the end of the call says."""
        ask = self._step.ask
        if self._is_over or not (ask.deferred or self.holds):
            return
        self._is_over = True
        how = ended(context, self._has_raised)
        if self.holds:
            self.holds.answer(how, False)
        try:
            if ask.deferred:
                # The limiter has logged that its store fails.
                with contextlib.suppress(StoreError):
                    await ask.charge(self._limiter, how)
        finally:
            await self.holds.end_awaited()
