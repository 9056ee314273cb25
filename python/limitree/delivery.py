"""Delivers the answers of a store to the tasks that wait for them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Union, cast

from limitree.demand import Costs, Parts
from limitree.errors import StoreError, StoreTimeout
from limitree.locks import ForkLock

if TYPE_CHECKING:
    from limitree._native import Decision, Hold, Limiter
    from limitree.envoy import Request


class Waiter(Protocol):
    """Waits for an answer, but not on a loop of asyncio."""

    def settle(self, decision: Any, error: Exception | None) -> None:
        """Take the answer or the error."""


Answer = tuple[Union["asyncio.Future[Any]", Waiter], Any,
               "Exception | None"]
# Starts a call; takes what makes a future.
Start = Callable[[Callable[[], Any]], Any]


def deliver(answers: list[Answer]) -> None:
    """Resolve the futures of a batch; called by the native module.

    If a task was cancelled, or its loop is closed, its answer is dropped.
    """
    for future, decision, error in answers:
        if not isinstance(future, asyncio.Future):
            future.settle(decision, error)
            continue
        if future.done() or future.get_loop().is_closed():
            continue
        if error is not None:
            future.set_exception(error)
        elif decision is not None:
            future.set_result(decision)


class Watch:
    """Lets one event loop at a time watch the connections of a limiter."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        # Loops of several threads may ask: what one starts is in `_waiting`
        # before another takes over, and only its thread resolves its futures.
        self._lock = ForkLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._pid = 0
        self._waiting: set[asyncio.Future[Any]] = set()
        self._due = False

    async def ask(self, operation: int, paths: object, several: bool,
                  cost: Costs, levels: bool | None,
                  part: Parts | None = None) -> Decision:
        """Return the Decision of the store.

        Raises RuntimeError while another event loop waits for answers.
        """
        answer = await self._answer(lambda make: self._limiter._start(
            operation, paths, several, cost, levels, make, part))
        return cast("Decision", answer)

    async def ask_envoy(self, request: Request) -> Any:
        """The same for Limiter._start_envoy."""
        return await self._answer(
            lambda make: self._limiter._start_envoy(*request, make))

    async def ask_about(self, start: Start) -> Decision:
        """The same for a call about a reservation, which `start` makes."""
        return cast("Decision", await self._answer(start))

    async def reserve(self, hold: Hold, hold_ns: int, levels: bool | None
                      ) -> Decision:
        """The same for Limiter._reserve.

        For a task that is cancelled while it waits nothing stays held.
        """
        answer = self._begin(lambda make: self._limiter._reserve(
            hold, hold_ns, levels, make))
        if isinstance(answer, asyncio.Future):
            answer.add_done_callback(self._end)
            try:
                await asyncio.wait([answer])
            except asyncio.CancelledError:
                answer.add_done_callback(
                    functools.partial(self._give_back, hold))
                raise
            answer = answer.result()
        return cast("Decision", answer)

    def _give_back(self, hold: Hold, answer: asyncio.Future[Any]) -> None:
        # If the limiter is closed, or the store fails, the hold ends by itself.
        with contextlib.suppress(RuntimeError, StoreError):
            try:
                decision = answer.result()
            except StoreTimeout:
                decision = None  # it may hold
            if decision is None or decision.held:
                lost = self._begin(
                    lambda make: self._limiter._cancel(hold, make))
                if isinstance(lost, asyncio.Future):
                    lost.add_done_callback(self._forget)

    def _forget(self, answer: asyncio.Future[Any]) -> None:
        self._end(answer)
        answer.exception()  # nobody else asks for it

    async def _answer(self, start: Start) -> Any:
        answer = self._begin(start)
        if not isinstance(answer, asyncio.Future):
            return answer
        try:
            return await answer
        finally:
            self._end(answer)

    def _begin(self, start: Start) -> Any:
        """Return the answer, or a future that waits for it until `_end`."""
        with self._lock:
            loop = self._attach()
            answer = start(loop.create_future)
            if isinstance(answer, asyncio.Future):
                if not self._due:
                    self._due = True
                    loop.call_soon(self._run, loop)
                self._waiting.add(answer)
        return answer

    def _end(self, answer: asyncio.Future[Any]) -> None:
        self._waiting.discard(answer)
        self._limiter._write_log()

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        # Sends all requests of this turn of the loop at once.
        with self._lock:
            if loop is self._loop:  # not left over from before another one
                self._due = False
                self._limiter._run_loop()

    def _attach(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is self._loop and os.getpid() == self._pid:
            return loop
        if os.getpid() != self._pid:  # a child of fork() watches nothing yet
            self._loop = None
            self._waiting = set()
        if self._loop is not None and not self._loop.is_closed():
            if self._waiting:
                raise RuntimeError("another event loop waits for answers of "
                                   "this limiter")
            self._loop.remove_reader(self._fd)
        self._fd = self._limiter._loop_fd()
        if self._fd >= 0:
            loop.add_reader(self._fd, self._run, loop)
            self._limiter._set_loop_wakeups(False)  # _run does that
        self._loop, self._pid = loop, os.getpid()
        self._due = False  # a call due in another loop will not come
        return loop

    async def drain(self, seconds: float) -> None:
        """Wait for the pending answers, for at most `seconds`."""
        here = asyncio.get_running_loop() is self._loop
        if self._waiting and here and self._pid == os.getpid():
            await asyncio.wait(self._waiting, timeout=seconds)

    def detach(self) -> None:
        """Stop watching; REQUIRES the thread of the loop."""
        loop, self._loop = self._loop, None
        if loop is None or loop.is_closed() or os.getpid() != self._pid:
            return
        if self._fd >= 0:
            loop.remove_reader(self._fd)
