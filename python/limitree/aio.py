"""The limiter for asyncio."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, TypeVar, cast

from limitree import envoy, lines
from limitree._native import Hold, denial_or_none
from limitree.decision import Decision
from limitree.delivery import Watch
from limitree.demand import (
    Cost,
    CostOf,
    Costs,
    Demand,
    Parts,
    Segment,
    SegmentOf,
)
from limitree.errors import LimitExceeded
from limitree.holds import ns_of, usage_of
from limitree.limiter import Limiter
from limitree.limits import NOT_GIVEN, Limits, Replace
from limitree.envoy import (
    Descriptors,
    DescriptorStats,
    EnvoyResponse,
    EnvoyStats,
)
from limitree.redis_client import RedisClient
from limitree.reservation import AsyncReservation, Reserving
from limitree.stats import LimitStats, Stats
from limitree.wait import Clock, Duration, Waiting, seconds_of

Function = TypeVar("Function", bound=Callable[..., Awaitable[Any]])
_Result = TypeVar("_Result")

# The operations of limitree_decide.
_AUTHORIZE, _PEEK, _SPEND, _REFUND = range(4)


class _Inner(Limiter):
    """The limiter behind an AsyncLimiter."""

    _awaited = True


class AsyncLimiter:
    """A Limiter whose answers are awaited.

    Takes the arguments and raises the errors of Limiter; methods that do not
    ask the store, such as ``reload``, are not awaited.  With ``memory://`` and
    ``shm://`` an answer is there at once: awaiting it does not yield to other
    tasks, and any event loop works.  With another store the running loop, which
    must have ``add_reader``, watches its connections; there is no thread.  A
    task that is cancelled while it waits may have charged.
    """

    def __init__(self, limits: Limits = NOT_GIVEN,
                 store: str | RedisClient = "memory://", *,
                 clock: Clock | None = None, levels: bool = False,
                 descriptors: Limits | None = None,
                 merge_domains: bool = False, **options: object) -> None:
        self._limiter = _Inner(limits, store, clock=clock, levels=levels,
                               descriptors=descriptors,
                               merge_domains=merge_domains, **options)
        # Without a remote store there is nothing to watch.
        self._watch = Watch(self._limiter) if self._limiter.is_remote else None

    async def authorize(self, *path: Segment, cost: Cost = 1,
                        levels: bool | None = None) -> Decision:
        """Charge every limit along `path` if all allow it, else none."""
        if self._watch is None:
            return self._limiter.authorize(*path, cost=cost, levels=levels)
        return await self._watch.ask(_AUTHORIZE, path, False, cost, levels)

    async def authorize_all(self, paths: Iterable[Iterable[Segment]],
                            cost: Costs = 1, *,
                            levels: bool | None = None,
                            part: Parts | None = None) -> Decision:
        """Charge every limit along all of `paths`, or none."""
        if self._watch is None:
            return self._limiter.authorize_all(paths, cost, levels=levels,
                                               part=part)
        return await self._watch.ask(_AUTHORIZE, paths, True, cost, levels,
                                     part)

    async def peek_all(self, paths: Iterable[Iterable[Segment]],
                       cost: Costs = 1, *,
                       levels: bool | None = None,
                       part: Parts | None = None) -> Decision:
        """Return the Decision of authorize_all, but charge nothing."""
        if self._watch is None:
            return self._limiter.peek_all(paths, cost, levels=levels,
                                          part=part)
        return await self._watch.ask(_PEEK, paths, True, cost, levels,
                                     part)

    async def spend_all(self, paths: Iterable[Iterable[Segment]],
                        cost: Costs = 1, *,
                        levels: bool | None = None,
                        part: Parts | None = None) -> Decision:
        """Charge along all of `paths`, even if the costs do not fit."""
        if self._watch is None:
            return self._limiter.spend_all(paths, cost, levels=levels,
                                           part=part)
        return await self._watch.ask(_SPEND, paths, True, cost, levels,
                                     part)

    async def refund_all(self, paths: Iterable[Iterable[Segment]],
                         cost: Costs = 1, *,
                         levels: bool | None = None,
                         part: Parts | None = None) -> Decision:
        """Give back to every limit along all of `paths`."""
        if self._watch is None:
            return self._limiter.refund_all(paths, cost, levels=levels,
                                            part=part)
        return await self._watch.ask(_REFUND, paths, True, cost, levels,
                                     part)

    async def authorize_action_for_user(
            self, user: Segment, action: Segment, cost: Cost = 1, *,
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

    def reserve(self, *path: Segment, cost: Cost = 1,
                hold: Duration | None = None, levels: bool | None = None
                ) -> Reserving:
        """Decide as authorize, and hold the cost, as Limiter.reserve.

        The result is for ``await`` and for ``async with``.  For a task that is
        cancelled while it waits nothing stays held.
        """
        return Reserving(self._reserve(Hold(path, False, cost), hold, levels))

    def reserve_all(self, paths: Iterable[Iterable[Segment]], cost: Costs = 1,
                    *, hold: Duration | None = None,
                    levels: bool | None = None, part: Parts | None = None
                    ) -> Reserving:
        """Reserve along all of `paths`, or nothing, as authorize_all."""
        return Reserving(self._reserve(Hold(paths, True, cost, part), hold,
                                       levels))

    async def settle(self, receipt: Segment, cost: Costs | None = None,
                     **units: int) -> int:
        """Settle a reservation by its receipt, as Limiter.settle."""
        return await self._settle_hold(Hold.of_receipt(receipt), cost, units)

    async def cancel(self, receipt: Segment) -> int:
        """Cancel a reservation by its receipt."""
        return await self._cancel_hold(Hold.of_receipt(receipt))

    async def extend(self, receipt: Segment, hold: Duration) -> int:
        """Extend a reservation by its receipt."""
        return await self._extend_hold(Hold.of_receipt(receipt), hold)

    async def _reserve(self, made: Hold, hold: Duration | None,
                       levels: bool | None) -> AsyncReservation:
        ns = 0 if hold is None else ns_of(hold)
        if self._watch is None:
            decision = self._limiter._reserve(made, ns, levels, None)
        else:
            decision = await self._watch.reserve(made, ns, levels)
        return AsyncReservation(self, made, decision)

    async def _settle_hold(self, made: Hold, cost: Costs | None,
                           units: dict[str, int]) -> int:
        used = usage_of(cost, units)
        return await self._held(
            lambda make: self._limiter._settle(made, used, make))

    async def _cancel_hold(self, made: Hold) -> int:
        return await self._held(
            lambda make: self._limiter._cancel(made, make))

    async def _extend_hold(self, made: Hold, hold: Duration) -> int:
        ns = ns_of(hold)
        return await self._held(
            lambda make: self._limiter._extend(made, ns, make))

    async def _held(self, start: Callable[[Any], Any]) -> int:
        if self._watch is None:
            return cast("Decision", start(None)).held
        return (await self._watch.ask_about(start)).held

    async def peek(self, *path: Segment, cost: Cost = 1,
                   levels: bool | None = None) -> Decision:
        """Return the Decision of authorize, but charge nothing."""
        if self._watch is None:
            return self._limiter.peek(*path, cost=cost, levels=levels)
        return await self._watch.ask(_PEEK, path, False, cost, levels)

    async def spend(self, *path: Segment, cost: Cost = 1,
                    levels: bool | None = None) -> Decision:
        """Charge `cost` even if it does not fit."""
        if self._watch is None:
            return self._limiter.spend(*path, cost=cost, levels=levels)
        return await self._watch.ask(_SPEND, path, False, cost, levels)

    async def refund(self, *path: Segment, cost: Cost = 1,
                     levels: bool | None = None) -> Decision:
        """Give `cost` back to every limit along `path`."""
        if self._watch is None:
            return self._limiter.refund(*path, cost=cost, levels=levels)
        return await self._watch.ask(_REFUND, path, False, cost, levels)

    async def should_rate_limit(self, domain: Segment, descriptors: Descriptors,
                                hits_addend: int = 1, *, metadata: bool = False
                                ) -> EnvoyResponse:
        """Answer a request of Envoy, as Limiter.should_rate_limit."""
        return await self._ask_envoy(
            envoy.request(domain, descriptors, hits_addend, metadata))

    async def peek_descriptors(self, domain: Segment, descriptors: Descriptors,
                               hits_addend: int = 1, *, metadata: bool = False
                               ) -> EnvoyResponse:
        """Answer what should_rate_limit would, as Limiter.peek_descriptors."""
        return await self._ask_envoy(
            envoy.request(domain, descriptors, hits_addend, metadata,
                          looks=True))

    async def _ask_envoy(self, request: envoy.Request) -> EnvoyResponse:
        if self._watch is None:
            return self._limiter._ask_envoy(request)
        return envoy.response(await self._watch.ask_envoy(request))

    async def reset_descriptors(self, domain: Segment, descriptors: Descriptors
                                ) -> None:
        """Forget the buckets that should_rate_limit would reach; see reset."""
        await self._aside(self._limiter.reset_descriptors, domain, descriptors)

    async def reset(self, *path: Segment, leaf: bool = False) -> None:
        """Forget the buckets along `path`, or only those of its last node.

        Do not call it for each request: with a store on another machine it
        takes a thread of the loop's executor.
        """
        await self._aside(self._limiter.reset, *path, leaf=leaf)

    async def block(self, *path: Segment, duration: Duration) -> None:
        """Deny every request along `path`, as Limiter.block; see reset."""
        await self._aside(self._limiter.block, *path, duration=duration)

    async def unblock(self, *path: Segment) -> None:
        """End a block, as Limiter.unblock; see reset."""
        await self._aside(self._limiter.unblock, *path)

    def set_pressure(self, pressure: float) -> None:
        """Set how busy this process is, as Limiter.set_pressure."""
        self._limiter.set_pressure(pressure)

    async def ping(self) -> float:
        """Check that the store answers, as Limiter.ping; see reset."""
        return await self._aside(self._limiter.ping)

    async def _aside(self, function: Callable[..., _Result],
                     *args: Any, **kwargs: Any) -> _Result:
        """Call `function`, in a thread if it may wait for the store."""
        if self._watch is None:
            return function(*args, **kwargs)
        client = self._limiter._client
        if client is not None:  # it may have to answer in this loop
            client.loop = asyncio.get_running_loop()
        return await asyncio.to_thread(function, *args, **kwargs)

    async def acquire(self, *path: Segment, cost: Cost = 1,
                      timeout: Duration | None = None,
                      max_queue: int | None = None) -> Decision:
        """Authorize, waiting until `cost` fits, at most for `timeout`.

        As Limiter.acquire; each event loop has its own line.  Other tasks run
        while it waits; a task that is cancelled during that has charged
        nothing.
        """
        lines.check_most(max_queue)
        return await lines.acquire_awaited(
            self, self._limiter._line, path, cost,
            Waiting(timeout, self._limiter.clock), max_queue)

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

    def reload(self, limits: Limits | None = None) -> None:
        """Replace the limits, as Limiter.reload."""
        self._limiter.reload(limits)

    def reload_descriptors(self, descriptors: Limits | None = None) -> None:
        """Replace the descriptors, as Limiter.reload_descriptors."""
        self._limiter.reload_descriptors(descriptors)

    def descriptor_stats(self) -> list[DescriptorStats]:
        """Return the hits of rules, by their names in metrics."""
        return self._limiter.descriptor_stats()

    def envoy_stats(self) -> EnvoyStats:
        """Return the counters of requests of Envoy."""
        return self._limiter.envoy_stats()

    def put(self, name: str, node: str | Mapping[str, object], *,
            replace: Replace = False) -> None:
        """Add one top-level name, or replace it, as Limiter.put."""
        self._limiter.put(name, node, replace=replace)

    def stats(self) -> Stats:
        """Return the counters."""
        return self._limiter.stats()

    def prometheus(self) -> str:
        """Return all counters in the text format of Prometheus."""
        return self._limiter.prometheus()

    def explain(self, *path: Segment) -> str:
        """Return how `path` goes down the tree, as Limiter.explain."""
        return self._limiter.explain(*path)

    def limit_stats(self) -> list[LimitStats]:
        """Return the counters of each limit."""
        return self._limiter.limit_stats()

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
