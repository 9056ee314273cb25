"""The limiter for threads; limitree.aio has the limiter for asyncio."""

from __future__ import annotations

import sys
import time

from limitree.descriptor_limiter import DescriptorLimiter
from limitree.errors import LimitExceeded
from limitree.limits import (
    NO_LIMITS,
    NOT_GIVEN,
    read,
    read_descriptors,
    read_node,
    text_of_options,
)
from limitree.locks import ForkLock
from limitree.wait import Waiting, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Any, TypeVar
    from weakref import WeakKeyDictionary

    from limitree.decision import Decision
    from limitree.demand import Cost, CostOf, Segment, SegmentOf
    from limitree.limits import Limits, Replace
    from limitree.lines import Lines
    from limitree.redis_client import RedisClient
    from limitree.stats import LimitStats, Stats
    from limitree.wait import Clock, Duration

    _Function = TypeVar("_Function", bound=Callable[..., Any])

# As limitree.h numbers them.
_REPLACE: dict[Replace, int] = {False: 0, True: 1, "added": 2}

_LOOK_AGAIN = 0.002  # seconds, while waiting for calls to end

#: The clock of limiters that are made without one; limitree.testing sets it.
default_clock: Clock | None = None
#: The beginnings of limiters in memory that were made without a clock, if they
#: may have to begin again: limitree.pytest_plugin sets it.
beginnings: WeakKeyDictionary[Limiter, Beginning] | None = None


class Beginning:
    """What a limiter was made from, and what was added to it since."""

    def __init__(self, texts: list[tuple[bytes, bytes]],
                 options: Mapping[str, str]) -> None:
        self.texts = texts
        self.options = options
        self.put: dict[bytes, tuple[bytes, int]] = {}


class Limiter(DescriptorLimiter):
    """Decides whether the caller named by a path may act now.

    ``limits`` is a path, YAML text, a dict or a list of those: see
    ``limitree.limits.read``.  ``store`` is a URL, or a client such as
    ``redis.Redis(...)``, which then sends the commands.  ``options`` are those
    of docs/configuration.md, as text, int, float or bool.  ``clock``, for
    tests, returns nanoseconds since 1970 as an int; None is the system's clock.
    With ``levels`` decisions carry the verdict of each limit, which
    ``Decision.headers()`` needs.

    ``descriptors`` are files of envoyproxy/ratelimit, for should_rate_limit, in
    the same forms; a path may be that of a folder.  Several may have the same
    domain if ``merge_domains``.  ``limits`` may then be left out.

    Raises ConfigError if limits or options are not valid, OSError if a file
    cannot be read, StoreError if the file of ``shm://`` cannot be used.  May be
    used from any number of threads, and after a fork; with ``memory://`` each
    process then counts for itself, and ``shm://myapp`` is one memory for all.
    """

    _awaited = False  # whether a client may answer in an event loop

    def __init__(self, limits: Limits = NOT_GIVEN,
                 store: str | RedisClient = "memory://", *,
                 clock: Clock | None = None, levels: bool = False,
                 descriptors: Limits | None = None,
                 merge_domains: bool = False, **options: object) -> None:
        has_clock = clock is not None
        if clock is None:
            clock = default_clock
        if limits is NOT_GIVEN:
            if descriptors is None:
                raise TypeError("a limiter needs limits, descriptors, or both")
            limits = NO_LIMITS
        is_cluster = False
        if hasattr(store, "execute_command"):
            from limitree import redis_client
            self._client = redis_client.sender_of(store, self._awaited)
            is_cluster = redis_client.is_cluster(store)
            named = text_of_options(options)
            self._store = redis_client.name_of(store)
        elif store is None:  # os.environ.get("STORE"): which one is not known
            raise TypeError("store must be a URL such as memory:// or "
                            "redis://localhost:6379, not NoneType")
        else:
            named = text_of_options({"store": store, **options})
            self._store = named["store"]
        texts = read(limits)
        super().__init__(
            texts, named, clock, levels,
            ([] if descriptors is None else read_descriptors(descriptors),
             merge_domains), (self._client, is_cluster))
        if self._client is not None:
            self._client.bind(self)
        self._limits = limits
        self._descriptors = descriptors
        self._swapping = ForkLock()
        if self.is_remote:
            _refuse_eventlet()
        if "gevent.monkey" in sys.modules:
            self._import_all()
        if descriptors is not None:
            import limitree.envoy  # not during the first request
        if (beginnings is not None and not has_clock and not self.is_shared):
            beginnings[self] = Beginning(texts, named)
        self.clock = clock  #: as it was given, or None

    def _import_all(self) -> None:
        """Import what calls may need.

        The calls must not do it in one of many threads: imports may then take
        gevent's locks, which may be lost between threads.
        """
        import logging  # noqa: F401  the native module logs
        import limitree.envoy
        if self.is_remote:
            import limitree.delivery
            import limitree.greenlets
            import limitree.reservation  # noqa: F401

    def reload(self, limits: Limits | None = None) -> None:
        """Replace the limits; running requests finish on the old ones.

        None reads the file of the limits again.  Names that put has added
        stay.  Raises ConfigError, also for limits with one of those names, and
        OSError as the constructor does; the old limits then stay.
        """
        if limits is None:
            limits = self._limits
        texts = read(limits)
        with self._swapping:
            self._reload(texts)
            self._limits = limits
            if self._beginning is not None:
                self._beginning.texts = texts

    def put(self, name: str, node: str | Mapping[str, object], *,
            replace: Replace = False) -> None:
        """Add or replace one top-level name; the others are not read again.

        `node` is the content of that name in a limits.yaml, as YAML text or as
        a dict.  Buckets keep their state.  Raises ConfigError for a mistake,
        and for a name that exists, unless `replace` is true; with "added", put
        replaces only a name that it has added.
        """
        if replace not in _REPLACE:
            raise ValueError("replace must be True, False or \"added\", is "
                             f"{replace!r}")
        key, yaml, how = name.encode(), read_node(node), _REPLACE[replace]
        self._put(key, yaml, how)
        if self._beginning is not None:
            self._beginning.put[key] = yaml, how

    def stats(self) -> Stats:
        """Return the counters; takes about 1 ms per million buckets."""
        from limitree.stats import Stats
        [(_, values)] = self._stats()
        return Stats(**values)

    def limit_stats(self) -> list[LimitStats]:
        """Return the counters of each limit, in the order of the tree."""
        from limitree.stats import LimitStats
        return [LimitStats(policy, **values)
                for policy, values in self._limit_stats()]

    def ping(self) -> float:
        """Check that the store answers; return the seconds that took.

        Raises StoreError or StoreTimeout if it does not.
        """
        return self._aside(super().ping)

    def reset(self, *path: Segment, leaf: bool = False) -> None:
        """Forget the buckets of every limit along `path`.

        With `leaf`, only those of the deepest node that has limits.  Blocks and
        counted denials stay.  Raises what authorize raises.
        """
        forget = super().reset
        self._aside(lambda: forget(*path, leaf=leaf))

    def block(self, *path: Segment, duration: Duration) -> None:
        """Deny every request along `path` for `duration` from now on.

        That is a number of seconds or a text such as "1d".  A limit on the path
        must say ``block: true``; the deepest one counts.  An earlier block is
        replaced.  Raises ValueError if there is none; StoreError if the store
        fails, whatever on_store_error says; and what authorize raises.
        """
        ns = round(min(seconds_of(duration, "duration"), 9e9) * 1e9)
        self._aside(lambda: self._block(*path, ns))

    def unblock(self, *path: Segment) -> None:
        """End a block, and forget the denials that were counted there."""
        self._aside(lambda: self._block(*path, None))

    def _begin_again(self, clock: Clock | None) -> None:
        """Start over with full buckets and another clock, as if just made.

        For tests, of limiters with a Beginning.
        """
        first = self._beginning
        if first is None or self.closed:
            return
        self._renew(first.texts, first.options, clock)
        for name, (yaml, replace) in first.put.items():
            self._put(name, yaml, replace)
        self.clock = clock

    @property
    def _beginning(self) -> Beginning | None:
        return None if beginnings is None else beginnings.get(self)

    def close(self, drain: Duration = 0) -> None:
        """Release the store; later calls raise RuntimeError.

        Running calls have `drain`, seconds or a text such as "2s", to end.
        Then calls that wait through gevent are cancelled with a RuntimeError,
        and calls in threads end at their own deadline.
        """
        seconds = seconds_of(drain, "drain")
        self._refuse()
        deadline = time.monotonic() + seconds
        while self._busy and time.monotonic() < deadline:
            time.sleep(_LOOK_AGAIN)
        if self._greenlets is not None:
            self._greenlets.detach()
        super().close()
        if self._client is not None:
            self._client.end()

    def acquire(self, *path: Segment, cost: Cost = 1,
                timeout: Duration | None = None,
                max_queue: int | None = None) -> Decision:
        """Authorize, waiting until `cost` fits, at most for `timeout`.

        That is a number of seconds or a text such as "500ms"; None waits as
        long as it takes.  Callers of one path wait in line within this process:
        the first to come is the first to go, and only it asks again.  Raises
        LimitExceeded, at once if the wait would be longer than the time left,
        or if `max_queue` callers wait already; and what authorize raises.
        """
        waiting = Waiting(timeout, self.clock)
        decision = None
        if path not in vars(self).get("_lines", ()):
            decision = self.authorize(*path, cost=cost)
            if decision.allowed:
                return decision
        from limitree import lines
        return lines.acquire(self, self._line, path, cost, waiting, max_queue,
                             decision)

    @property
    def _line(self) -> Lines:
        from limitree.lines import Lines
        found: Lines = vars(self).setdefault("_lines", Lines())
        return found

    def limit(self, *path: SegmentOf, cost: CostOf = 1
              ) -> Callable[[_Function], _Function]:
        """Return a decorator for functions that run only when authorized.

        A segment after the first, or the cost, may be a callable: it gets the
        arguments of the function and returns the segment or the cost.  If the
        request is denied, the function does not run, and LimitExceeded is
        raised.

        For an async function the store must not be remote, otherwise TypeError
        is raised: asking another machine would stop the event loop.
        AsyncLimiter has the same decorator.
        """
        import functools
        import inspect

        from limitree.demand import Demand
        demand = Demand.of_decorator(path, cost)

        def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            segments, tokens = demand.of_call(args, kwargs)
            decision = self.authorize(*segments, cost=tokens)
            if decision.limited:
                raise LimitExceeded(decision)

        def decorate(function: _Function) -> _Function:
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
        return f"<limitree.Limiter {shown_store(self._store)}{state}>"


def shown_store(url: str) -> str:
    """Return `url` without user, password and options, which shm:// shows."""
    if url.startswith("shm://"):
        return url
    return url.split("@")[-1].split("?")[0]


def shown_option(name: str, value: object) -> str:
    """Return the value of an option without what is secret."""
    if name.endswith("password"):
        return "***"
    return shown_store(str(value)) if "://" in str(value) else str(value)


def _refuse_eventlet() -> None:
    """Raise RuntimeError if a call would stop all green threads."""
    patcher = sys.modules.get("eventlet.patcher")
    if patcher is not None and patcher.is_monkey_patched("socket"):
        raise RuntimeError("a store on another machine cannot be asked under "
                           "eventlet, whose green threads would all wait: use "
                           "gevent, threads or asyncio")
