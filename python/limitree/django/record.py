"""The decisions about one request, kept as ``request.limitree``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpRequest

from limitree.decision import Decision
from limitree.path_costs import PathCosts
from limitree.headers import tightness
from limitree.response_holds import Holds

if TYPE_CHECKING:
    from limitree.django.site import Site


class Record:
    """The decisions on one request, in the order they were made."""

    __slots__ = ("decisions", "deferred", "denial", "has_middleware", "holds",
                 "is_asgi", "told")

    def __init__(self, has_middleware: bool, is_asgi: bool) -> None:
        #: What is reserved is a Reservation, or an AsyncReservation if it was
        #: awaited.
        self.decisions: list[Decision] = []
        #: What is held until the response has ended.
        self.holds = Holds()
        #: What may be charged after the response because it was allowed, each
        #: with the index of its decision.
        self.deferred: list[tuple[int, PathCosts]] = []
        #: The decision for which the view was not run.
        self.denial: Decision | None = None
        #: The message of the limit that denied, and a response of on_breach.
        self.told: tuple[str | None, Any] = (None, None)
        self.has_middleware = has_middleware
        #: Whether the event loop, if there is one, serves other requests: under
        #: WSGI an async view has its own loop, in the request's thread.
        self.is_asgi = is_asgi

    @property
    def decision(self) -> Decision | None:
        """The tightest decision: a denial, or the longest wait; or None."""
        return max(self.decisions, key=tightness, default=None)

    def check(self, ask: PathCosts) -> None:
        """Raise RuntimeError if nobody sees the response that `ask` needs."""
        if (ask.deferred or ask.reserves) and not self.has_middleware:
            raise RuntimeError(
                f"{'reserve' if ask.reserves else 'deduct_when'} needs "
                "LimitreeMiddleware, which sees the response")

    def note(self, decision: Decision, ask: PathCosts, site: Site) -> None:
        """Keep a decision, and what depends on the response."""
        if ask.deferred and decision.allowed:
            self.deferred.append((len(self.decisions), ask))
        self.decisions.append(decision)
        self.holds.add(decision, ask, site.limiter,
                       site.awaited if self.is_asgi else None)

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
