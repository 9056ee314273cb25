"""Calls that let other greenlets run while a store answers, under gevent.

If gevent has replaced the sockets of Python, a call to another machine must not
stop the hub.  So the call is pending, and gevent watches the one descriptor of
the limiter for all waiting greenlets.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import TYPE_CHECKING, Any, TypeVar

from gevent import get_hub, getcurrent, monkey, spawn
from gevent.event import AsyncResult

from limitree._native import denial_or_none
from limitree.errors import StoreError, StoreTimeout

if TYPE_CHECKING:
    from collections.abc import Callable

    from limitree._native import Hold
    from limitree.demand import Cost, Costs, Parts, Segment
    from limitree.envoy import Request
    from limitree.holds import HoldingLimiter as Limiter

    _Result = AsyncResult[Any]
else:
    _Result = AsyncResult

Result = TypeVar("Result")

# The functions for threads; those of the patched module are for greenlets.
_original = functools.partial(monkey.get_original, "_thread")
_thread_ident = _original("get_ident")


class _Answer(_Result):
    """The answer for which a greenlet waits."""

    def settle(self, decision: Any, error: Exception | None) -> None:
        """Wake the greenlet; called by limitree.delivery."""
        if error is None:
            self.set(decision)
        else:
            self.set_exception(error)


class Watch:
    """Lets the hub of one thread watch the connections of a limiter.

    It watches only while a greenlet waits, because a hub with nothing else to
    do may end.  Hubs take turns: one may ask while no other waits for answers.
    The objects of a hub are only used in its own thread, because gevent reads
    them without the lock of the interpreter.
    """

    def __init__(self) -> None:
        # A lock for threads, because waiting greenlets would never wake up.
        # The same thread may take it again, in a finalizer or a signal handler.
        self.lock = _original("RLock")()
        self._hub: Any = None
        self._pid = 0
        self._io: Any = None
        self._due = False

    def attach(self, limiter: Limiter, hub: Any) -> bool:
        """Return whether `hub` may ask; REQUIRES the lock.

        False while another thread waits for answers.
        """
        if self._hub is hub and self._pid == os.getpid():
            return True
        if self._pid == os.getpid() and limiter._pending:
            return False
        fd = limiter._loop_fd()
        if fd < 0:  # closed: the call without greenlets raises the error
            return False
        self._detach()
        self._io = hub.loop.io(fd, 1)  # 1: to read
        limiter._set_loop_wakeups(False)  # _send does that
        self._hub, self._pid = hub, os.getpid()
        self._due = False
        return True

    def watch(self, limiter: Limiter) -> None:
        """Watch until nothing is pending; REQUIRES the lock."""
        if not self._due:
            self._due = True
            self._hub.loop.run_callback(self._send, limiter, self._io)
        if not self._io.active:
            self._io.start(self._run, limiter, self._io)

    def _send(self, limiter: Limiter, io: Any) -> None:
        # Sends all requests of this turn of the hub at once.
        with self.lock:
            if io is self._io:
                self._due = False
        self._run(limiter, io)

    # Holds the lock while it reads the answers and stops watching, so that the
    # next hub to be attached finds the previous one stopped.
    def _run(self, limiter: Limiter, io: Any) -> None:
        with self.lock:
            if io is not self._io:
                return  # left over from before another hub was attached
            limiter._run_loop()
            if not limiter._pending:
                io.stop()

    def detach(self) -> None:
        """Stop watching."""
        with self.lock:
            self._detach()

    def _detach(self) -> None:
        hub, io = self._hub, self._io
        self._hub = self._io = None
        if io is None or self._pid != os.getpid():
            return
        if hub.thread_ident == _thread_ident():
            io.close()
            return
        # A hub whose thread has ended has no loop, or a destroyed one.
        with contextlib.suppress(AttributeError, ValueError):
            hub.loop.run_callback_threadsafe(io.close)


def _hub() -> Any:
    """Return the hub that must not be stopped, None if there is none."""
    if not monkey.is_module_patched("socket"):
        return None
    hub = get_hub()
    # Code that runs in the hub itself cannot wait for it.
    return None if getcurrent() is hub else hub


def ask(limiter: Limiter, start: Callable[[type[_Answer]], Any],
        lost: Callable[[_Answer], None] | None = None) -> Any:
    """Return the answer of the store; NotImplemented if the thread may block.

    `start` starts the call, with the type of what waits for its answer.  If the
    greenlet is killed while it waits, another one passes that to `lost`.
    """
    hub = _hub()
    if hub is None:
        return NotImplemented
    watch = limiter._greenlets
    if watch is None:
        # One step: several threads may come first.
        watch = limiter.__dict__.setdefault("_greenlets", Watch())
    with watch.lock:
        if not watch.attach(limiter, hub):
            return NotImplemented
        if not limiter._pending:
            limiter._run_loop()  # no hub watched since the last answer
        answer = start(_Answer)
        if not isinstance(answer, _Answer):
            return answer
        watch.watch(limiter)
    try:
        return answer.get()
    except BaseException:
        if lost is not None and (answer.successful() or not answer.ready()):
            spawn(lost, answer)
        raise
    finally:
        limiter._write_log()


# The native methods pass their arguments on to these three.

def decide(limiter: Limiter, operation: int, *path: Segment, cost: Cost = 1,
           levels: bool | None = None) -> Any:
    """Decide about one path, as ask."""
    return ask(limiter, lambda make: limiter._start(
        operation, path, False, cost, levels, make))


def decide_all(limiter: Limiter, operation: int, paths: object,
               cost: Costs = 1, levels: bool | None = None,
               part: Parts | None = None) -> Any:
    """Decide about several paths, as ask."""
    return ask(limiter, lambda make: limiter._start(
        operation, paths, True, cost, levels, make, part))


def decide_for_user(limiter: Limiter, operation: int, user: Segment,
                    action: Segment, cost: Cost = 1,
                    levels: bool | None = None) -> Any:
    """Answer authorize_action_for_user, as ask."""
    decision = decide(limiter, operation, "user", user, action, cost=cost,
                      levels=levels)
    return (decision if decision is NotImplemented
            else denial_or_none(decision))


def should_rate_limit(limiter: Limiter, request: Request) -> Any:
    """Answer a request of Envoy, as ask."""
    return ask(limiter, lambda make: limiter._start_envoy(*request, make))


def reserve(limiter: Limiter, hold: Hold, hold_ns: int, levels: bool | None
            ) -> Any:
    """Reserve, as ask; for a greenlet that is killed nothing stays held."""
    def give_back(answer: _Answer) -> None:
        with contextlib.suppress(StoreError, RuntimeError):
            try:
                decision: Any = answer.get()
            except StoreTimeout:
                decision = None  # it may hold
            if decision is None or decision.held:
                limiter._cancel_hold(hold)

    return ask(limiter, lambda make: limiter._reserve(
        hold, hold_ns, levels, make), give_back)


def aside(function: Callable[[], Result]) -> Result:
    """Return the result of `function`; if it waits, the hub keeps running."""
    hub = _hub()
    if hub is None:
        return function()
    result: Result = hub.threadpool.apply(function)
    return result
