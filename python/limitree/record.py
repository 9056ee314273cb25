"""What was decided about one connection, until its response has ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

from limitree import web
from limitree.aio import AsyncLimiter
from limitree.errors import StoreError
from limitree.path_costs import PathCosts
from limitree.response_holds import NOTHING, Holds


class Record:
    """The decisions about one connection: ``scope["limitree"]``."""

    __slots__ = ("ahead", "decisions", "deferred", "forget", "holds",
                 "limiter")

    def __init__(self) -> None:
        #: In the order they were made; what is reserved is an AsyncReservation.
        self.decisions: list[Any] = []
        #: What is held until the response has ended, or the websocket is
        #: closed.
        self.holds = NOTHING
        #: What is charged by the response, if at all, each with the index of
        #: its decision and its limiter.
        self.deferred: list[tuple[int, PathCosts, AsyncLimiter]] = []
        #: The answers to limits that were decided in one step with others, but
        #: have not been asked yet.
        self.ahead: dict[Any, Any] = {}
        #: The integration that handles the connection, if there is one.
        self.limiter: Any = None
        #: Lets the task of the request end without what is held.
        self.forget: Any = None

    def note(self, ask: PathCosts | None, decision: Any, limiter: AsyncLimiter
             ) -> Any:
        """Keep what `limiter` has decided about `ask`, and return it."""
        if ask is not None and ask.deferred and decision.allowed:
            self.deferred.append((len(self.decisions), ask, limiter))
        self.decisions.append(decision)
        if decision.limited:
            self.let_go()
        if ask is not None:
            if self.holds is NOTHING:
                self.holds = Holds()
            self.holds.add(decision, ask, limiter._limiter, limiter)
        return decision

    def let_go(self) -> None:
        """Charge nothing of what is held."""
        if self.holds.open:
            self.holds.denied = True

    def drop(self) -> None:
        """Forget the last decision, which is given back."""
        self.decisions.pop()
        self.deferred = [one for one in self.deferred
                         if one[0] < len(self.decisions)]
        self.let_go()

    async def answer(self, status: int, headers: Iterable[tuple[str, str]]
                     ) -> None:
        """Charge what functions say of a response that begins."""
        if not self.deferred and not self.holds.open:
            return
        started = web.Started.of(status, headers)
        if self.holds.open:
            self.holds.answer(started, False)
        deferred, self.deferred = self.deferred, []
        for place, ask, limiter in deferred:
            # The application has done its work, so a 503 would be wrong; the
            # limiter has logged that its store fails.
            with contextlib.suppress(StoreError):
                self.decisions[place] = await ask.charge(limiter, started,
                                                         True)
