"""The paths of one request, decided in one step, and their costs."""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union

from limitree.decision import Decision
from limitree.demand import Cost, Costs
from limitree.web import not_a_segment, returned_by

if TYPE_CHECKING:
    from limitree.aio import AsyncLimiter
    from limitree.demand import Part
    from limitree.limiter import Limiter

Owner = TypeVar("Owner")

#: Returns whether a response costs anything, or what it costs.
DeductWhen = Callable[[Any], Union[bool, Cost]]
#: What a reservation has used: None is what was held, False is nothing.
Used = Union[Costs, None, Literal[False]]


def in_utf8(path: Sequence[Any]) -> Sequence[Any]:
    """Return `path`, or bytes of it that are unique if it is not UTF-8.

    aiohttp and Sanic have bytes of a header that are no UTF-8 as lone
    surrogates, and JSON may have these, too.  They are a caller like others: an
    error would be one that any client can cause.
    """
    try:
        for part in path:
            if isinstance(part, str) and not part.isascii():
                part.encode()
    except UnicodeEncodeError:
        return [part.encode(errors="surrogatepass")
                if isinstance(part, str) else part for part in path]
    return path


class PathCosts:
    """Some paths, decided all or nothing, and what each of them costs."""

    __slots__ = ("costs", "deferred", "hold", "paths", "refusal", "reserves",
                 "settling")

    def __init__(self) -> None:
        self.paths: list[Any] = []  #: each a sequence of segments
        self.costs: list[Cost] = []
        #: The paths, by number, that are charged after the response, if at all.
        #: All others are charged at once.
        self.deferred: dict[int, DeductWhen] = {}
        #: Whether the paths are reserved, all but the deferred ones.
        self.reserves = False
        self.hold: float | None = None  #: seconds; None: as each limit says
        #: What the response says that a reserved path has used.
        self.settling: dict[int, DeductWhen] = {}
        #: The error of a function that returns a later path, such as one that
        #: checks a password.
        self.refusal: Exception | None = None

    @classmethod
    def of(cls, paths: Iterable[Any], cost: Cost, reserve: bool | float
           ) -> PathCosts:
        """Return `paths`, each at this cost; `reserve` is from reserve_of."""
        made = cls()
        made.paths = list(paths)
        made.costs = [cost] * len(made.paths)
        made.defer(0, None, reserve)
        return made

    def add(self, path: Sequence[Any], cost: Cost) -> None:
        """Add a path."""
        self.paths.append(path)
        self.costs.append(cost)

    def defer(self, first: int, when: DeductWhen | None,
              reserve: bool | float = False) -> None:
        """Charge the paths from number `first` on by what `when` returns.

        With `reserve`, from reserve_of, they are held until then, and so is all
        else that is not deferred.
        """
        if reserve:
            self.reserves = True
            if reserve is not True:
                self.hold = max(reserve, self.hold or 0.0)
        if when is not None:
            (self.settling if reserve else self.deferred).update(
                dict.fromkeys(range(first, len(self.paths)), when))

    def refuse(self, error: Exception) -> None:
        """Keep `error` until the paths that are known have been decided: limits
        count what a function behind them refuses.

        Raises it at once if there are none.
        """
        if not self.paths:
            raise error
        self.refusal = error

    def pass_on(self) -> None:
        """Raise the error that was kept, if any; call it if the paths allow."""
        if self.refusal is not None:
            try:
                raise self.refusal
            finally:
                self.refusal = None  # its traceback refers to this object

    def _parts(self) -> list[Part]:
        return ["check" if number in self.deferred else "charge"
                for number in range(len(self.paths))]

    # These return what the methods of `limiter` return: a Decision or, for an
    # AsyncLimiter, an awaitable of one.

    def authorize(self, limiter: Limiter | AsyncLimiter,
                  levels: bool | None = None) -> Any:
        """Decide, and charge what is charged at once; may wait for the store.

        What is reserved and allowed is a Reservation, or an AsyncReservation.
        """
        self.paths = [in_utf8(path) for path in self.paths]
        if self.reserves:
            return _after(self._authorize(limiter, levels), _unless_denied)
        return self._authorize(limiter, levels)

    def _authorize(self, limiter: Limiter | AsyncLimiter, levels: bool | None
                   ) -> Any:
        take: Callable[..., Any] = limiter.authorize_all
        if self.reserves:
            take = functools.partial(limiter.reserve_all, hold=self.hold)
        elif not self.deferred and len(self.paths) == 1:
            return limiter.authorize(*self.paths[0], cost=self.costs[0],
                                     levels=levels)
        if not self.deferred:
            return take(self.paths, joined(self.costs), levels=levels)
        parts = self._parts()
        if not self._defers_more():
            return take(self.paths, joined(self.costs), levels=levels,
                        part=parts)
        # A bucket that two paths reach is charged the larger of their costs,
        # so one that is only looked at would be charged, too.
        now = self._charged_at_once()

        def charge(seen: Decision) -> Any:
            if seen.limited:
                return seen
            return take(self.paths, now, levels=levels, part=parts)

        return _after(limiter.peek_all(self.paths, joined(self.costs),
                                       levels=levels), charge)

    def _defers_more(self) -> bool:
        """Whether some path that is charged later costs more than another."""
        charged = [_units_of(cost) for number, cost in enumerate(self.costs)
                   if number not in self.deferred]
        return any(units.get(unit, 0) < later for number in self.deferred
                   for unit, later in _units_of(self.costs[number]).items()
                   for units in charged)

    def give_back(self, limiter: Limiter | AsyncLimiter) -> Any:
        """Give back what was charged at once."""
        return limiter.refund_all(self.paths, self._charged_at_once())

    def _charged_at_once(self) -> Any:
        return joined([_nothing(cost) if number in self.deferred else cost
                       for number, cost in enumerate(self.costs)])

    def peek(self, limiter: Limiter) -> Decision:
        """Return the decision of authorize, but charge nothing."""
        self.paths = [in_utf8(path) for path in self.paths]
        return limiter.peek_all(self.paths, joined(self.costs))

    def charge(self, limiter: Limiter | AsyncLimiter, response: Any,
               levels: bool | None = None) -> Any:
        """Charge what `response` costs; return the decision after it."""
        costs = self._due(response)
        due = [number for number, cost in enumerate(costs) if cost != 0]
        if not due:
            return limiter.peek_all(self.paths, 0, levels=levels)
        cost = joined(costs)
        if cost is costs or len(due) == len(costs):
            return limiter.spend_all(self.paths, cost, levels=levels)
        # A cost in other units is charged on all paths of a call.
        spent = limiter.spend_all([self.paths[number] for number in due],
                                  joined([costs[number] for number in due]))
        return _after(spent, lambda _: limiter.peek_all(self.paths, 0,
                                                        levels=levels))

    def _due(self, response: Any) -> list[Cost]:
        """Return what each path costs after `response`."""
        costs: list[Cost] = [0] * len(self.costs)
        for number, found in _said(self.deferred, response).items():
            if found is True:
                costs[number] = self.costs[number]
            else:
                costs[number] = (found if isinstance(found, Mapping)
                                 else int(found or 0))
        return costs

    def said_of(self, response: Any) -> dict[int, bool | Cost]:
        """Return what functions say of reserved paths."""
        return _said(self.settling, response)

    def used(self, said: Mapping[int, bool | Cost], otherwise: bool | Cost
             ) -> Used:
        """Return what a request has used, for settle.

        `said` is from said_of; `otherwise` is for all other paths.
        """
        found = [False if number in self.deferred
                 else said.get(number, otherwise)
                 for number in range(len(self.paths))]
        if all(one is True for one in found):
            return None
        if not any(one or isinstance(one, Mapping) for one in found):
            return False
        units: dict[str, Any] = {}
        kept: set[str] = set()  # units of paths that are not cancelled
        for one, cost in zip(found, self.costs):
            if isinstance(one, Mapping):
                for unit, number in one.items():
                    units[unit] = max(number, units.get(unit, number))
            if one or isinstance(one, Mapping):
                kept.update(_units_of(cost))
        for cost in self.costs:
            for unit in _units_of(cost):
                if unit not in kept:
                    units.setdefault(unit, 0)
        units["request"] = [_requests(one, cost)
                            for one, cost in zip(found, self.costs)]
        return units

    async def settle(self) -> None:
        """Await the results of async key functions."""
        known: dict[int, Any] = {}  # several limits of a rate share a key
        for count, path in enumerate(self.paths):
            try:
                await _settle(path, known)
            except Exception as error:
                self._cut(count)
                return self.refuse(error)

    def _cut(self, count: int) -> None:
        """Forget all but `count` paths."""
        for path in self.paths[count:]:
            for part in path:
                if inspect.iscoroutine(part):  # otherwise Python warns of it
                    part.close()
        del self.paths[count:], self.costs[count:]
        for later in (self.deferred, self.settling):
            for number in [one for one in later if one >= count]:
                del later[number]


def denying(owners: Sequence[Owner], decision: Decision, first: int = 0
            ) -> list[Owner]:
    """Return the owners of the paths that deny, each once.

    `owners` are those of the paths from number `first` on.  All of them, if the
    decision does not know its levels.
    """
    if decision.levels is None or not owners:
        return list(dict.fromkeys(owners))
    return list(dict.fromkeys(
        owners[level.path - first] for level in decision.levels
        if level.limited and level.mode != "shadow" and level.path >= first))


def joined(costs: list[Any]) -> Any:
    """Return the costs of some paths as one cost for all of them.

    Each path keeps its cost in "request".  A cost in another unit is that of
    the request, on all paths: if they name different ones, the largest counts.
    """
    units: dict[str, Any] = {}
    has_units = False
    for cost in costs:
        if type(cost) is int or not isinstance(cost, Mapping):
            continue
        has_units = True
        for unit, number in cost.items():
            if unit not in units or units[unit] < number:
                units[unit] = number
    if not has_units:
        return costs
    units["request"] = [cost.get("request", 1) if isinstance(cost, Mapping)
                        else cost for cost in costs]
    return units


def _said(functions: Mapping[int, DeductWhen], response: Any
          ) -> dict[int, bool | Cost]:
    """Return what functions say of `response`; each is asked once."""
    results: dict[int, bool | Cost] = {}
    for when in functions.values():
        if id(when) not in results:
            results[id(when)] = when(response)
    return {number: results[id(when)] for number, when in functions.items()}


def _requests(found: bool | Cost, cost: Cost) -> int:
    """Return what a path has used in "request"; `cost` is what it holds."""
    held = _units_of(cost)["request"]
    if isinstance(found, Mapping):
        return found.get("request", held)
    return held if found is True else found or 0


def _unless_denied(found: Any) -> Any:
    """Return a reservation; what was denied holds nothing to be settled."""
    return getattr(found, "decision", found) if found.limited else found


def _units_of(cost: Cost) -> Mapping[str, int]:
    return ({"request": 1, **cost} if isinstance(cost, Mapping)
            else {"request": cost})


def _nothing(cost: Cost) -> Cost:
    return (dict.fromkeys(_units_of(cost), 0) if isinstance(cost, Mapping)
            else 0)


def _after(first: Any, then: Callable[[Decision], Any]) -> Any:
    """Return `then` of the Decision `first`, awaitable if that is."""
    return (_awaited_after(first, then) if inspect.isawaitable(first)
            else then(first))


async def _awaited_after(first: Any, then: Callable[[Decision], Any]) -> Any:
    decision = then(await first)
    return await decision if inspect.isawaitable(decision) else decision


async def _settle(path: list[Any], known: dict[int, Any]) -> None:
    for place, part in enumerate(path):
        if inspect.isawaitable(part):
            if id(part) not in known:
                known[id(part)] = part, segment_of(await part, part)
            path[place] = known[id(part)][1]


def segment_of(value: Any, source: Any, where: str = "") -> Any:
    """Return what the function `source` has returned, as a segment of a path.

    A primary key, an int or a UUID, becomes a text.  Raises TypeError for what
    is not a segment, such as None, which never means "no limit"; the error
    names `source`, and `where` it is.
    """
    if isinstance(value, (str, bytes)):
        return value
    if type(value) is int or isinstance(value, uuid.UUID):
        return str(value)
    if inspect.isawaitable(value):  # see settle()
        return value
    raise not_a_segment(f"{where}a segment", value, source)


def not_a_path(where: str, source: Any) -> TypeError:
    """Return the error that `source` has caused by a text."""
    return TypeError(f"{where}a path must be a sequence of segments, not a text"
                     + returned_by(source))
