"""What is to be done when a task of asyncio has ended, however it ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

#: Coroutines that are on their way: the loop itself forgets them.
_ending: set[asyncio.Task[None]] = set()


def when_done(task: asyncio.Task[Any],
              end: Callable[[], Coroutine[Any, Any, None]]
              ) -> Callable[[], None]:
    """Run `end` after `task`; return a function that calls this off."""
    loop = task.get_loop()

    def begin(_: object) -> None:
        if not loop.is_closed():
            ending = loop.create_task(end())
            _ending.add(ending)
            ending.add_done_callback(_ending.discard)

    def call_off() -> None:
        task.remove_done_callback(begin)

    task.add_done_callback(begin)
    return call_off
