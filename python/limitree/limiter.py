"""The limiter for threads; limitree.aio has the one for asyncio."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, TypeVar

from limitree import _native
from limitree.decision import Decision
from limitree.demand import CostOf, Demand, Segment, SegmentOf
from limitree.errors import LimitExceeded
from limitree.limits import Limits, read, text_of_options
from limitree.locks import ForkLock
from limitree.stats import LimitStats, Stats
from limitree.wait import Clock, Waiting

Function = TypeVar("Function", bound=Callable[..., Any])

#: The clock of limiters that are made without one; limitree.testing sets it.
default_clock: Clock | None = None


class Limiter(_native.Limiter):
    """Decides whether the caller named by a path may act now.

    ``limits`` is a path, YAML text, a dict or a list of those, see
    ``limitree.limits.read``;
    ``store`` is a URL and ``options`` are those of docs/configuration.md, also
    as int, float or bool.  ``clock`` returns nanoseconds since 1970 as an int,
    for tests; None takes the system's.  With ``levels`` decisions carry the
    verdict of each limit, which ``Decision.headers()`` needs.

    Raises ConfigError if limits or options are refused, OSError if a file
    cannot be read.  May be used from any number of threads, and after a fork;
    with ``memory://`` each process then counts for itself.
    """

    def __init__(self, limits: Limits, store: str = "memory://", *,
                 clock: Clock | None = None, levels: bool = False,
                 **options: object) -> None:
        if clock is None:
            clock = default_clock
        named = text_of_options({"store": store, **options})
        texts = read(limits)
        super().__init__(texts, named, clock, levels)
        self._limits = limits
        self._texts = texts  # of self._limits, as they were read
        self._beside: dict[str, object] = {}
        self._swapping = ForkLock()
        self._store = named["store"]
        self.clock = clock  #: as it was given, or None

    def reload(self, limits: Limits | None = None) -> None:
        """Swap the limits; requests under way finish on the old ones.

        None reads the file again that the limits came from.  Raises ConfigError
        and OSError as the constructor does, and the old limits stay.
        """
        if limits is None:
            limits = self._limits
        texts = read(limits)
        with self._swapping:
            self._swap(texts, self._beside)
            self._limits, self._texts = limits, texts

    def put_beside(self, schema: Mapping[str, object]) -> None:
        """Keep top-level names beside the limits, whatever reload brings.

        For integrations, which have limits of their own: `schema` is what
        stands below the key of that name in a limits.yaml; names that were put
        before are replaced.  No file is read.  Raises ConfigError if a name is
        one of the limits too, and everything stays as it was.
        """
        with self._swapping:
            beside = {**self._beside, **schema}
            self._swap(self._texts, beside)
            self._beside = beside

    def _swap(self, texts: list[tuple[bytes, bytes]],
              beside: Mapping[str, object]) -> None:
        own = read({"schema": beside}) if beside else []
        # The longer text last: each is read together with those before it.
        self._reload(own + texts)

    def stats(self) -> Stats:
        """Return the counters; takes about 1 ms per million buckets."""
        return Stats(*self._stats())

    def limit_stats(self) -> list[LimitStats]:
        """Return the counters of each limit, in the order of the tree."""
        return [LimitStats(*one) for one in self._limit_stats()]

    def acquire(self, *path: Segment, cost: int = 1,
                timeout: float | None = None) -> Decision:
        """Authorize, waiting until `cost` fits, at most `timeout` seconds.

        None waits as long as it takes.  Raises LimitExceeded, at once if the
        wait would be longer than what is left, and what authorize raises.
        Nobody is kept in line: of several who wait the first to ask again wins.
        """
        waiting = Waiting(timeout, self.clock)
        while True:
            decision = self.authorize(*path, cost=cost)
            if decision.allowed:
                return decision
            waiting.sleep(waiting.next(decision))

    def limit(self, *path: SegmentOf, cost: CostOf = 1
              ) -> Callable[[Function], Function]:
        """Return a decorator for functions that act only when authorized.

        A segment, or the cost, may be a callable: it gets the arguments of the
        function and returns the segment.  If the request is denied the function
        is not run and LimitExceeded is raised.

        For an async function the store must be in memory, else TypeError is
        raised: asking another machine would stop the event loop.  AsyncLimiter
        has the same decorator.
        """
        demand = Demand(path, cost)

        def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            segments, tokens = demand.of_call(args, kwargs)
            decision = self.authorize(*segments, cost=tokens)
            if decision.limited:
                raise LimitExceeded(decision)

        def decorate(function: Function) -> Function:
            if not inspect.iscoroutinefunction(function):
                @functools.wraps(function)
                def limited(*args: Any, **kwargs: Any) -> Any:
                    check(args, kwargs)
                    return function(*args, **kwargs)
                return limited  # type: ignore[return-value]

            if self.is_remote:
                raise TypeError("an async function must not wait for "
                                f"{self._store}: use AsyncLimiter")

            @functools.wraps(function)
            async def limited_async(*args: Any, **kwargs: Any) -> Any:
                check(args, kwargs)
                return await function(*args, **kwargs)
            return limited_async  # type: ignore[return-value]

        return decorate

    def __enter__(self) -> Limiter:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = " closed" if self.closed else ""
        return f"<limitree.Limiter {self._store.split('@')[-1]}{state}>"
