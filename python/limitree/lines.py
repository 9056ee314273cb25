"""``acquire``: callers wait for one path in line, first come, first served.

Only the first of a line asks the limiter and sleeps; all others wait for their
turn.  A line is in one process.
"""

from __future__ import annotations

# Not threading, which takes longer to import; gevent replaces this, too.
import _thread
import os
import sys

from limitree.errors import LimitExceeded
from limitree.locks import ForkLock
from limitree.wait import Waiting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from typing import Any

    from limitree._native import Decision
    from limitree.demand import Cost


class Turn:
    """A caller in a line."""

    __slots__ = ("cost", "denial", "is_first", "number", "wake")

    def __init__(self, cost: Cost, wake: Callable[[], object]) -> None:
        self.cost = cost if isinstance(cost, int) else 0
        self.denial: Decision | None = None  #: the last one of the first
        self.is_first = False
        self.number = 0  # in the line
        self.wake = wake  #: says that it is this caller's turn


class _Line:
    """The callers that wait for one path."""

    def __init__(self) -> None:
        self.turns: dict[int, Turn] = {}
        self.cost = 0  # of all
        self.first = self.next = 0  # numbers


class Lines:
    """The lines of one limiter; one is forgotten when nobody waits."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._lines: dict[Hashable, _Line] = {}
        self._process = os.getpid()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._lines

    def __len__(self) -> int:
        with self._lock:
            return sum(len(line.turns) for line in self._lines.values())

    def enter(self, key: Hashable, turn: Turn, most: int | None) -> int | None:
        """Put `turn` at the end of a line; return the cost of those before it.

        None, and it is not put there, if it would have to wait, but `most`
        callers are there.
        """
        with self._lock:
            if self._process != os.getpid():
                # The threads that wait are those of another process.
                self._lines, self._process = {}, os.getpid()
            line = self._lines.setdefault(key, _Line())
            if line.turns and most is not None and len(line.turns) >= most:
                return None
            turn.is_first = not line.turns
            turn.number, line.next = line.next, line.next + 1
            line.turns[turn.number] = turn
            ahead, line.cost = line.cost, line.cost + turn.cost
            return ahead

    def leave(self, key: Hashable, turn: Turn) -> None:
        """Take `turn` out of its line; the next one comes to its turn."""
        with self._lock:
            line = self._lines.get(key)
            if line is None or line.turns.get(turn.number) is not turn:
                return  # after a fork
            del line.turns[turn.number]
            line.cost -= turn.cost
            if not line.turns:
                del self._lines[key]
            elif turn.is_first:
                while line.first not in line.turns:  # they have left
                    line.first += 1
                first = line.turns[line.first]
                first.is_first = True
                first.wake()

    def gives_up(self, key: Hashable, decision: Decision) -> LimitExceeded:
        """Return the error of a caller who gives up, and would get `decision`.

        If its cost fits, those before it are why it was not admitted.
        """
        with self._lock:
            line = self._lines.get(key)
            if line is not None and decision.allowed:
                denial = line.turns[line.first].denial
                decision = decision if denial is None else denial
        return LimitExceeded(decision)


def check_most(most: Any) -> None:
    """Raise ValueError unless it is None or a number of callers."""
    if most is not None and (isinstance(most, bool) or
                             not isinstance(most, int) or most < 0):
        raise ValueError(f"max_queue must be a number of callers, is {most!r}")


def _full(error: LimitExceeded, most: int | None) -> LimitExceeded:
    error.message = f"limit exceeded: {most} callers are waiting already"
    return error


def _check(decision: Decision, waiting: Waiting) -> None:
    """Raise LimitExceeded if a caller would wait for too long in line.

    `decision` is about all that come before it, too.
    """
    wait = decision.retry_after
    if wait is not None and wait != float("inf"):
        waiting.next(decision)


def _may_wait() -> bool:
    """Whether a thread that waits lets others run: greenlets need patches."""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is None or bool(monkey.is_module_patched("threading"))


def acquire(limiter: Any, lines: Lines, path: tuple[Any, ...], cost: Cost,
            waiting: Waiting, most: int | None,
            denial: Decision | None = None) -> Decision:
    """Authorize, waiting in line until `cost` fits.

    `denial` is the answer of now, if nobody was in line.
    """
    check_most(most)
    called = _thread.allocate_lock()
    called.acquire()
    turn = Turn(cost, called.release)
    turn.denial = denial
    if not _may_wait():
        return _ask(limiter, path, cost, waiting, turn)
    ahead = lines.enter(path, turn, most)
    if ahead is None:
        raise _full(lines.gives_up(path, limiter.peek(*path, cost=cost)), most)
    try:
        if not turn.is_first:
            turn.denial = None
            if waiting.left is not None and turn.cost:
                _check(limiter.peek(*path, cost=ahead + turn.cost), waiting)
            left = waiting.left
            if left is None or left > _thread.TIMEOUT_MAX:
                left = -1
            if not called.acquire(True, left):
                raise lines.gives_up(path, limiter.peek(*path, cost=cost))
        return _ask(limiter, path, cost, waiting, turn)
    finally:
        lines.leave(path, turn)


def _ask(limiter: Any, path: tuple[Any, ...], cost: Cost, waiting: Waiting,
         turn: Turn) -> Decision:
    while True:
        if turn.denial is not None:
            waiting.sleep(waiting.next(turn.denial))
        decision: Decision = limiter.authorize(*path, cost=cost)
        if decision.allowed:
            return decision
        turn.denial = decision


async def acquire_awaited(limiter: Any, lines: Lines, path: tuple[Any, ...],
                          cost: Cost, waiting: Waiting, most: int | None
                          ) -> Decision:
    """The same on the event loop; each loop has its own lines."""
    import asyncio
    loop = asyncio.get_running_loop()
    called: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not called.done():
            called.set_result(None)

    turn = Turn(cost, wake)
    line = (*path, id(loop))
    ahead = lines.enter(line, turn, most)
    if ahead is None:
        decision: Decision = await limiter.peek(*path, cost=cost)
        raise _full(lines.gives_up(line, decision), most)
    try:
        if not turn.is_first:
            if waiting.left is not None and turn.cost:
                _check(await limiter.peek(*path, cost=ahead + turn.cost),
                       waiting)
            # Not wait_for, which may swallow that the task is cancelled.
            done, _ = await asyncio.wait([called], timeout=waiting.left)
            if not done:
                decision = await limiter.peek(*path, cost=cost)
                raise lines.gives_up(line, decision)
        while True:
            decision = await limiter.authorize(*path, cost=cost)
            if decision.allowed:
                return decision
            turn.denial = decision
            seconds = waiting.next(decision)
            if waiting.is_manual:
                waiting.sleep(seconds)
                seconds = 0
            await asyncio.sleep(seconds)
    finally:
        lines.leave(line, turn)
