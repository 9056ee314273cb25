"""A request that LiteLLM's proxy has let in, until what it took is known."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Any

from limitree.litellm.usage import Usage
from limitree.reservation import AsyncReservation
from limitree.web import logger

#: Seconds after the end of a request for its success event, which LiteLLM
#: delivers in the background.
GRACE = 5.0

_ending: set[asyncio.Task[None]] = set()  # a loop has weak references only


class Held:
    """What a request holds, and the state of the request.

    It ends once: by its answer, by an error, or by the end of its task, for
    which no hook of LiteLLM has run.
    """

    def __init__(self, reservation: AsyncReservation, call_id: object,
                 estimate: Usage, hold: float, outer: Held | None) -> None:
        self.reservation = reservation
        self.call_id = call_id
        self.estimate = estimate
        self.answer: Usage | None = None  # before other callbacks have seen it
        self.models: tuple[str, ...] = ()
        self.call_type = ""
        self.choices = 1
        self.cut_at = math.inf  # what is as long teaches nothing of its model
        self.logging: Any = None  # LiteLLM's object of the call
        self.is_sent = False  # to a provider
        self.is_streaming = False
        self.task = asyncio.current_task()
        self.has_ended = reservation.held == 0
        # Of a request that made this one, such as a tool that asks a model.
        while outer is not None and outer.has_ended:
            outer = outer.outer
        self.outer: Held | None = outer
        self._hold = hold
        self._loop = asyncio.get_running_loop()
        self._end: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        if not self.has_ended:
            self._renew_later()
            if self.task is not None:
                self.task.add_done_callback(self._task_is_done)

    @property
    def model(self) -> str:
        """The model that is asked, or the first of several."""
        return self.models[0] if self.models else ""

    async def end(self, settle: Callable[[], Awaitable[Any]]) -> None:
        """End the hold by `settle`, unless it has ended; wait for that.

        A caller that is cancelled meanwhile does not stop it.
        """
        if not self.has_ended:
            self.has_ended = True
            if self._timer is not None:
                self._timer.cancel()
            self._end = self._start(settle)
        if self._end is not None:
            await asyncio.shield(self._end)

    def _start(self, ask: Callable[[], Awaitable[Any]]) -> asyncio.Task[None]:
        task = self._loop.create_task(_quietly(ask))
        _ending.add(task)
        task.add_done_callback(_ending.discard)
        return task

    def _renew_later(self) -> None:
        self._timer = self._loop.call_later(self._hold / 2, self._renew)

    def _renew(self) -> None:
        self._start(lambda: self.reservation.extend(self._hold))
        self._renew_later()

    def _task_is_done(self, _: object) -> None:
        if self.has_ended or self.is_streaming or self._loop.is_closed():
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(GRACE, self._give_up)

    def _give_up(self) -> None:
        """Settle as held: nobody has said what the request took."""
        if not self.has_ended and not self.is_streaming:
            self.has_ended = True
            self._end = self._start(self.reservation.settle)


async def _quietly(ask: Callable[[], Awaitable[Any]]) -> None:
    try:
        await ask()
    except Exception as error:
        # The answer is on its way to the client: the hold ends by itself.
        logger.warning("limitree.litellm: what a request holds stays held "
                       "until its end: %s", error)
