"""The decisions about one request, kept as ``request.limitree``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Union

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from limitree.decision import Decision
from limitree.django.ask import Ask

#: Returns whether a response costs, or how much.
DeductWhen = Callable[[Any], Union[bool, int]]


class Deferred(NamedTuple):
    """A charge that waits for the response."""

    ask: Ask
    when: DeductWhen

    def costs(self, response: HttpResponseBase) -> list[int] | None:
        """Return the costs of a response, None if it is free."""
        found = self.when(response)
        if found is True:
            return self.ask.costs
        return [int(found)] * len(self.ask.costs) if found else None


class Record:
    """The decisions on one request, in the order they were made."""

    __slots__ = ("decisions", "deferred", "denial", "has_middleware", "is_asgi")

    def __init__(self, has_middleware: bool, is_asgi: bool) -> None:
        self.decisions: list[Decision] = []
        self.deferred: list[Deferred] = []
        #: The decision for which the view was not run.
        self.denial: Decision | None = None
        self.has_middleware = has_middleware
        #: Whether the event loop, if there is one, has other requests: under
        #: WSGI an async view has one of its own, in the request's thread.
        self.is_asgi = is_asgi

    @property
    def decision(self) -> Decision | None:
        """The tightest decision: a denial, or the longest wait; or None."""
        return max(self.decisions, key=tightness, default=None)

    def due(self, response: HttpResponseBase) -> list[tuple[Ask, list[int]]]:
        """Return the deferred charges that `response` costs."""
        found = []
        for one in self.deferred:
            costs = one.costs(response)
            if costs is not None:
                found.append((one.ask, costs))
        return found


def tightness(decision: Decision) -> tuple[bool, float, int]:
    """Return a key that orders decisions by how near a limit is."""
    return decision.limited, decision.next_after, -decision.remaining


def record_of(request: HttpRequest) -> Record:
    """Return the record of `request`; makes it if it is missing.

    Raises TypeError if `request` is not a request.
    """
    found: Record | None = getattr(request, "limitree", None)
    if found is not None:
        return found
    if not hasattr(request, "META"):
        raise TypeError("the first argument of the view is no request: "
                        "decorate methods with method_decorator(...)")
    return begin(request, Record(False, hasattr(request, "scope")))


def begin(request: Any, record: Record) -> Record:
    """Give `request` its record."""
    request.limitree = record
    request.limited = False
    return record
