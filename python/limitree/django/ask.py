"""The question to a limiter about one request: paths and their costs."""

from __future__ import annotations

import inspect
import uuid
from typing import TYPE_CHECKING, Any

from limitree.decision import Decision

if TYPE_CHECKING:
    from limitree.aio import AsyncLimiter
    from limitree.limiter import Limiter


class Ask:
    """Some paths, decided all or nothing, and what each of them costs."""

    __slots__ = ("costs", "paths")

    def __init__(self) -> None:
        self.paths: list[list[Any]] = []
        self.costs: list[int] = []

    def add(self, path: list[Any], cost: int) -> None:
        """Add a path."""
        self.paths.append(path)
        self.costs.append(cost)

    def authorize(self, limiter: Limiter) -> Decision:
        """Charge them all, or none; may wait for the store."""
        if len(self.paths) == 1:
            return limiter.authorize(*self.paths[0], cost=self.costs[0])
        return limiter.authorize_all(self.paths, self.costs)

    async def authorize_awaited(self, limiter: AsyncLimiter) -> Decision:
        """The same on the event loop."""
        if len(self.paths) == 1:
            return await limiter.authorize(*self.paths[0], cost=self.costs[0])
        return await limiter.authorize_all(self.paths, self.costs)

    def peek(self, limiter: Limiter) -> Decision:
        """Return the decision of authorize, but charge nothing."""
        return limiter.peek_all(self.paths, self.costs)

    async def peek_awaited(self, limiter: AsyncLimiter) -> Decision:
        """The same on the event loop."""
        return await limiter.peek_all(self.paths, self.costs)

    async def settle(self) -> None:
        """Await the results of async key functions."""
        known: dict[int, Any] = {}  # several limits of a rate share a key
        for path in self.paths:
            for place, part in enumerate(path):
                if inspect.isawaitable(part):
                    if id(part) not in known:
                        known[id(part)] = part, text_of(await part)
                    path[place] = known[id(part)][1]


def text_of(value: Any) -> Any:
    """Return a primary key as text, and anything else as it is.

    So the limiter gets None, and refuses it: None never means "no limit".
    """
    if type(value) is int or isinstance(value, uuid.UUID):
        return str(value)
    return value
