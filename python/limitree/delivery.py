"""How answers of a store reach the tasks that wait for them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from limitree.demand import Costs

if TYPE_CHECKING:
    from limitree._native import Decision, Limiter

Answer = tuple["asyncio.Future[Decision]", "Decision | None",
               "Exception | None"]


def deliver(answers: list[Answer]) -> None:
    """Resolve the futures of a batch; called by the native module.

    The answer for a task that was cancelled, or whose loop is closed, is
    dropped: nobody waits for it.
    """
    for future, decision, error in answers:
        if future.done() or future.get_loop().is_closed():
            continue
        if error is not None:
            future.set_exception(error)
        elif decision is not None:
            future.set_result(decision)


class Watch:
    """Lets one event loop at a time look after the connections of a limiter."""

    def __init__(self, limiter: Limiter) -> None:
        self._limiter = limiter
        self._loop: asyncio.AbstractEventLoop | None = None
        self._fd = -1
        self._pid = 0
        self._waiting = 0

    async def ask(self, operation: int, paths: object, several: bool,
                  cost: Costs, levels: bool | None) -> Decision:
        """Return the Decision of the store.

        Raises RuntimeError while another event loop waits for answers.
        """
        loop = self._attach()
        answer = self._limiter._start(operation, paths, several, cost, levels,
                                      loop.create_future)
        if not isinstance(answer, asyncio.Future):
            return answer
        self._waiting += 1
        try:
            return await answer
        finally:
            self._waiting -= 1

    def _attach(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.get_running_loop()
        if loop is self._loop and os.getpid() == self._pid:
            return loop
        if os.getpid() != self._pid:  # what the parent watched is not ours
            self._loop = None
            self._waiting = 0
        if self._loop is not None and not self._loop.is_closed():
            if self._waiting:
                raise RuntimeError("another event loop waits for answers of "
                                   "this limiter")
            self._loop.remove_reader(self._fd)
        self._fd = self._limiter._loop_fd()
        if self._fd >= 0:
            loop.add_reader(self._fd, self._limiter._run_loop)
        self._loop, self._pid = loop, os.getpid()
        return loop

    def detach(self) -> None:
        """Stop watching; REQUIRES the thread of the loop."""
        loop, self._loop = self._loop, None
        if loop is None or loop.is_closed() or os.getpid() != self._pid:
            return
        if self._fd >= 0:
            loop.remove_reader(self._fd)
