"""The limiter for asyncio."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from limitree import envoy
from limitree._native import denial_or_none
from limitree.decision import Decision
from limitree.delivery import Watch
from limitree.demand import CostOf, Demand, Segment, SegmentOf
from limitree.envoy import Descriptors, EnvoyResponse
from limitree.errors import LimitExceeded
from limitree.limiter import Limiter
from limitree.limits import NOT_GIVEN, Limits
from limitree.wait import Clock, Duration, Waiting, seconds_of

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    _P = ParamSpec("_P")
    _R = TypeVar("_R")

Function = TypeVar("Function", bound=Callable[..., Awaitable[Any]])

# The operations of limitree_decide.
_AUTHORIZE, _PEEK, _SPEND, _REFUND = range(4)


def _of_limiter(method: Callable[Concatenate[Limiter, _P], _R]
                ) -> Callable[Concatenate[AsyncLimiter, _P], _R]:
    """Return a method of AsyncLimiter that calls one of its Limiter."""
    @functools.wraps(method)
    def call(self: AsyncLimiter, /, *args: _P.args, **kwargs: _P.kwargs
             ) -> _R:
        return method(self._limiter, *args, **kwargs)
    return call


def _deciding(method: Callable[Concatenate[Limiter, _P], Decision],
              ask: Callable[Concatenate[Watch, int, _P], Awaitable[Decision]],
              operation: int
              ) -> Callable[Concatenate[AsyncLimiter, _P],
                            Coroutine[Any, Any, Decision]]:
    """The same for a decision; `ask` waits for it if the store is remote."""
    @functools.wraps(method)
    async def decide(self: AsyncLimiter, /, *args: _P.args,
                     **kwargs: _P.kwargs) -> Decision:
        if self._watch is None:
            return method(self._limiter, *args, **kwargs)
        return await ask(self._watch, operation, *args, **kwargs)
    return decide


class AsyncLimiter:
    """A Limiter whose answers are awaited.

    Takes the arguments and raises the errors of Limiter; methods that do not
    ask the store, such as ``reload``, are not awaited.  With ``memory://`` and
    ``shm://`` an answer is there at once: awaiting it does not yield to other
    tasks, and any event loop works.  With another store the running loop, which
    must have ``add_reader``, watches its connections; there is no thread.  A
    task that is cancelled while it waits may have charged.
    """

    def __init__(self, limits: Limits = NOT_GIVEN, store: str = "memory://",
                 *, clock: Clock | None = None, levels: bool = False,
                 descriptors: Limits | None = None,
                 merge_domains: bool = False, **options: object) -> None:
        self._limiter = Limiter(limits, store, clock=clock, levels=levels,
                                descriptors=descriptors,
                                merge_domains=merge_domains, **options)
        # Without a remote store there is nothing to watch.
        self._watch = Watch(self._limiter) if self._limiter.is_remote else None

    authorize = _deciding(Limiter.authorize, Watch.ask, _AUTHORIZE)
    peek = _deciding(Limiter.peek, Watch.ask, _PEEK)
    spend = _deciding(Limiter.spend, Watch.ask, _SPEND)
    refund = _deciding(Limiter.refund, Watch.ask, _REFUND)

    authorize_all = _deciding(Limiter.authorize_all, Watch.ask_all, _AUTHORIZE)
    peek_all = _deciding(Limiter.peek_all, Watch.ask_all, _PEEK)
    spend_all = _deciding(Limiter.spend_all, Watch.ask_all, _SPEND)
    refund_all = _deciding(Limiter.refund_all, Watch.ask_all, _REFUND)

    async def authorize_action_for_user(
            self, user: Segment, action: Segment, cost: int = 1, *,
            levels: bool | None = None) -> Decision | None:
        """Return None if `user` may do `action` now, else the Decision.

        This Decision is true, so ``if limited:`` works.
        """
        if self._watch is None:
            return self._limiter.authorize_action_for_user(user, action, cost,
                                                           levels=levels)
        decision = await self.authorize("user", user, action, cost=cost,
                                        levels=levels)
        return denial_or_none(decision)

    async def should_rate_limit(self, domain: Segment, descriptors: Descriptors,
                                hits_addend: int = 1, *, metadata: bool = False
                                ) -> EnvoyResponse:
        """Answer a request of Envoy, as Limiter.should_rate_limit."""
        if self._watch is None:
            return self._limiter.should_rate_limit(
                domain, descriptors, hits_addend, metadata=metadata)
        request = (domain, envoy.read(descriptors),
                   envoy.hits_of(hits_addend), metadata)
        return envoy.response(await self._watch.ask_envoy(request))

    async def reset(self, *path: Segment, leaf: bool = False) -> None:
        """Forget the buckets along `path`, or only those of its last node.

        Do not call it for each request: with a store on another machine it
        takes a thread of the loop's executor.
        """
        if self._watch is None:
            self._limiter.reset(*path, leaf=leaf)
        else:
            await asyncio.to_thread(self._limiter.reset, *path, leaf=leaf)

    async def ping(self) -> float:
        """Check that the store answers, as Limiter.ping; see reset."""
        if self._watch is None:
            return self._limiter.ping()
        return await asyncio.to_thread(self._limiter.ping)

    async def acquire(self, *path: Segment, cost: int = 1,
                      timeout: Duration | None = None) -> Decision:
        """Authorize, waiting until `cost` fits, at most for `timeout`.

        As Limiter.acquire.  Other tasks run while it waits; a task that is
        cancelled during that has charged nothing.
        """
        waiting = Waiting(timeout, self._limiter.clock)
        while True:
            decision = await self.authorize(*path, cost=cost)
            if decision.allowed:
                return decision
            seconds = waiting.next(decision)
            if waiting.is_manual:
                waiting.sleep(seconds)
                seconds = 0
            await asyncio.sleep(seconds)

    def limit(self, *path: SegmentOf, cost: CostOf = 1
              ) -> Callable[[Function], Function]:
        """Return a decorator for async functions, as Limiter.limit.

        Raises TypeError for a function that is not async.
        """
        demand = Demand.of_decorator(path, cost)

        def decorate(function: Function) -> Function:
            if not inspect.iscoroutinefunction(function):
                raise TypeError(f"{function!r} is not an async function: use "
                                "Limiter")

            @functools.wraps(function)
            async def limited(*args: Any, **kwargs: Any) -> Any:
                segments, tokens = demand.of_call(args, kwargs)
                decision = await self.authorize(*segments, cost=tokens)
                if decision.limited:
                    raise LimitExceeded(decision)
                return await function(*args, **kwargs)
            return limited  # type: ignore[return-value]

        return decorate

    # These do not ask the store.
    descriptor_stats = _of_limiter(Limiter.descriptor_stats)
    envoy_stats = _of_limiter(Limiter.envoy_stats)
    limit_stats = _of_limiter(Limiter.limit_stats)
    prometheus = _of_limiter(Limiter.prometheus)
    put = _of_limiter(Limiter.put)
    reload = _of_limiter(Limiter.reload)
    reload_descriptors = _of_limiter(Limiter.reload_descriptors)
    set_pressure = _of_limiter(Limiter.set_pressure)
    stats = _of_limiter(Limiter.stats)

    @property
    def closed(self) -> bool:
        """Whether close was called."""
        return self._limiter.closed

    async def close(self, drain: Duration = 0) -> None:
        """Release the store; later calls raise RuntimeError.

        Calls that wait for an answer have `drain`, seconds or a text such as
        "2s", to get it; then they raise RuntimeError.
        """
        seconds = seconds_of(drain, "drain")
        self._limiter._refuse()
        if self._watch is not None:
            if seconds > 0:
                await self._watch.drain(seconds)
            self._watch.detach()
        self._limiter.close()

    async def __aenter__(self) -> AsyncLimiter:
        return self

    async def __aexit__(self, kind: type[BaseException] | None,
                        error: BaseException | None,
                        trace: TracebackType | None) -> None:
        await self.close()

    def __repr__(self) -> str:
        return repr(self._limiter).replace("Limiter", "AsyncLimiter", 1)
