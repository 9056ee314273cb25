"""The decisions about one request, kept as ``request.limitree``."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from limitree.decision import Decision
from limitree.path_costs import PathCosts
from limitree.headers import tightness


class Record:
    """The decisions on one request, in the order they were made."""

    __slots__ = ("decisions", "deferred", "denial", "has_middleware", "is_asgi")

    def __init__(self, has_middleware: bool, is_asgi: bool) -> None:
        self.decisions: list[Decision] = []
        #: What may be charged after the response because it was allowed, each
        #: with the index of its decision.
        self.deferred: list[tuple[int, PathCosts]] = []
        #: The decision for which the view was not run.
        self.denial: Decision | None = None
        self.has_middleware = has_middleware
        #: Whether the event loop, if there is one, serves other requests: under
        #: WSGI an async view has its own loop, in the request's thread.
        self.is_asgi = is_asgi

    @property
    def decision(self) -> Decision | None:
        """The tightest decision: a denial, or the longest wait; or None."""
        return max(self.decisions, key=tightness, default=None)

    def note(self, decision: Decision, ask: PathCosts) -> None:
        """Keep a decision; raises RuntimeError if its charge depends on a
        response that nobody sees."""
        if ask.deferred:
            if not self.has_middleware:
                raise RuntimeError("deduct_when needs LimitreeMiddleware, "
                                   "which sees the response")
            if decision.allowed:
                self.deferred.append((len(self.decisions), ask))
        self.decisions.append(decision)

    def charged(self, place: int, decision: Decision) -> None:
        """Replace a decision with the one after the response."""
        self.decisions[place] = decision


def record_of(request: HttpRequest) -> Record:
    """Return the record of `request`; makes it if it is missing.

    Raises TypeError if `request` is not a request.
    """
    found: Record | None = getattr(request, "limitree", None)
    if found is not None:
        return found
    if not hasattr(request, "META"):
        raise TypeError("the first argument of the view is not a request: "
                        "decorate methods with method_decorator(...)")
    return begin(request, Record(False, hasattr(request, "scope")))


def begin(request: Any, record: Record) -> Record:
    """Give `request` its record."""
    request.limitree = record
    request.limited = False
    return record
