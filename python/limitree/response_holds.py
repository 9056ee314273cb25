"""Reservations that last as long as a response.

The integrations with web frameworks share them.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import datetime
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from limitree.errors import StoreError
from limitree.functions import Asking, run, run_awaited
from limitree.holds import ns_of
from limitree.reservation import Reserved
from limitree.usage import read_usage, warn_once
from limitree.wait import Duration
from limitree.web import logger

if TYPE_CHECKING:
    from limitree.aio import AsyncLimiter
    from limitree.limiter import Limiter
    from limitree.path_costs import PathCosts, Used

#: The option of integrations: whether to reserve, or for how long.
Reserve = Union[bool, Duration]


def reserve_of(reserve: Any) -> bool | float:
    """Return the option `reserve` as False, True or seconds.

    Raises TypeError for other types, ConfigError for a text that is not a
    duration, ValueError for one that is out of range.
    """
    if isinstance(reserve, bool):
        return reserve
    if not isinstance(reserve, (int, float, str, datetime.timedelta)):
        raise TypeError("reserve must be True, False or a duration such as "
                        f"'30s', not {type(reserve).__name__}")
    return ns_of(reserve, "reserve") / 1e9


class _Open:
    """A reservation that was not settled yet."""

    __slots__ = ("ask", "awaited", "held", "limiter", "renewed", "said")

    def __init__(self, held: Reserved, ask: PathCosts, limiter: Limiter,
                 awaited: AsyncLimiter | None) -> None:
        self.held = held
        self.ask = ask
        self.limiter = limiter
        self.awaited: Any = awaited
        self.said: Mapping[int, Any] = {}  # what functions say, by paths
        self.renewed = self.now()

    def now(self) -> int:
        """Return nanoseconds of the clock of the limiter."""
        return (self.limiter.clock or time.monotonic_ns)()

    def look_at(self, response: Any) -> None:
        """Ask the functions what `response` costs, once."""
        if self.said:
            return
        try:
            self.said = self.ask.said_of(response)
        except Exception:
            logger.exception("a deduct_when failed, so its response costs what "
                             "was held")
            self.said = dict.fromkeys(self.ask.settling, True)

    def settling(self, used: Used, limiter: Any) -> Asking:
        """End it by `limiter`, whose answer may have to be awaited."""
        hold = self.held._hold
        with self.held._ending():
            yield (limiter._cancel_hold(hold) if used is False
                   else limiter._settle_hold(hold, used, {}))


class Holds:
    """What a request holds until its response has ended.

    It is settled once: by what functions say of the response, by its header
    ``x-usage``, or as held.  Nothing here raises an error because of the store
    or of what a response has used: a reservation that is not settled ends by
    itself.
    """

    # Every request has one, and few hold something: these are not set until
    # they are needed.
    open: Sequence[_Open] = ()  #: what is held
    _response: Any = None  # a stream, of which functions say later
    _context: contextvars.Context | None = None
    _usage: Mapping[str, int] | None = None
    _loop: Any = None
    _timer: asyncio.TimerHandle | None = None
    _renewing: asyncio.Task[None] | None = None
    #: A later limit has denied the request, so nothing was used.
    denied = False
    #: The handler has raised an error, so nothing was used unless the response
    #: to that says so.
    failed = False
    started = False  #: status and headers are known
    is_over = False  #: the end of the response is not seen any more

    def __bool__(self) -> bool:
        return bool(self.open)

    @property
    def can_be_awaited(self) -> bool:
        """Whether all was added with the limiter for asyncio."""
        return all(one.awaited is not None for one in self.open)

    def add(self, decision: Any, ask: PathCosts, limiter: Limiter,
            awaited: AsyncLimiter | None = None) -> None:
        """Settle `decision` with the response, if it is a reservation.

        With `awaited`, which is `limiter` for asyncio, it may be settled and
        renewed on the event loop.
        """
        if isinstance(decision, Reserved) and decision.held:
            one = _Open(decision, ask, limiter, awaited)
            self.open = [*self.open, one]
            if awaited is not None:
                self.renew_on_loop()

    # ---- The response -------------------------------------------------------

    def start(self, headers: Iterable[tuple[str, str]]) -> None:
        """Note the headers of the response."""
        self.started = True
        lines = [value for name, value in headers if name.lower() == "x-usage"]
        self._usage = read_usage(", ".join(lines)) if lines else None

    def answer(self, response: Any, streams: bool) -> None:
        """Ask functions about `response`: a stream when it has ended, in the
        context of now."""
        if self.denied:
            return
        if streams:
            self._response = response
            self._context = contextvars.copy_context()
            return
        for one in self.open:
            one.look_at(response)

    # ---- Its end ------------------------------------------------------------

    def end(self) -> None:
        """Settle what is held; if a greenlet is killed meanwhile, that, too."""
        run(self._settling(False))

    async def end_awaited(self) -> None:
        """The same on the event loop.

        Each request to the store is on its way before this waits for the first
        time, so a task that is cancelled here settles all the same.
        """
        await run_awaited(self._settling(True))

    def _settling(self, awaited: bool) -> Asking:
        killed = None
        for one, used in self._ending():
            limiter = one.awaited if awaited else one.limiter
            try:
                with _no_errors():
                    yield from one.settling(used, limiter)
                if one.held._is_open:
                    with _no_errors():
                        yield from one.settling(None, limiter)
            except GeneratorExit:
                raise
            except BaseException as error:
                killed = error
        if killed is not None:
            raise killed

    def _ending(self) -> Iterator[tuple[_Open, Used]]:
        """Yield what is still to be settled, and as what."""
        self.is_over = True
        found, self.open = self.open, ()
        self._stop()
        for one in found:
            if one.held._is_open:  # the handler has not settled it
                yield one, self._used(one)

    def _used(self, one: _Open) -> Used:
        if self.denied:
            return False
        if self._context is not None:
            self._context.run(one.look_at, self._response)
        otherwise = not self.failed if self._usage is None else self._usage
        try:
            return one.ask.used(one.said, otherwise)
        except Exception as error:
            warn_once("cost", f"a response costs what was held: {error}")
            return None

    # ---- Renewal ------------------------------------------------------------

    @property
    def renews(self) -> bool:
        """Whether something is held for a duration of the option."""
        return any(one.ask.hold for one in self.open)

    def renew(self) -> None:
        """Extend what is held, when half of its duration has passed."""
        for one in self.open:
            hold, now = one.ask.hold, one.now()
            if hold and now - one.renewed >= hold * 5e8:
                one.renewed = now
                if one.held._is_open:
                    with _no_errors():
                        one.limiter._extend_hold(one.held._hold, hold)

    def use_loop(self) -> None:
        """Renew on the event loop of this thread what others add, too."""
        self._loop = asyncio.get_running_loop()

    def renew_on_loop(self) -> None:
        """Do so by a timer, if this thread, or the request, has a loop."""
        if self._timer is not None or not self.renews:
            return
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            if self._loop is not None:
                with contextlib.suppress(RuntimeError):  # it is closed
                    self._loop.call_soon_threadsafe(self.renew_on_loop)
            return
        self._set_timer()

    def _set_timer(self) -> None:
        halves = [one.ask.hold / 2 for one in self.open if one.ask.hold]
        self._timer = (self._loop.call_later(min(halves), self._tick)
                       if halves else None)

    def _tick(self) -> None:
        self._renewing = self._loop.create_task(self._renew_awaited())

    async def _renew_awaited(self) -> None:
        for one in self.open:
            if one.ask.hold and one.held._is_open:
                with _no_errors():
                    await one.awaited._extend_hold(one.held._hold, one.ask.hold)
        self._set_timer()

    def _stop(self) -> None:
        timer, self._timer = self._timer, None
        if timer is None:
            return
        try:
            if asyncio.get_running_loop() is self._loop:
                timer.cancel()
                return
        except RuntimeError:  # another thread ends the response
            pass
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(timer.cancel)


@contextlib.contextmanager
def _no_errors() -> Iterator[None]:
    try:
        yield
    except (StoreError, RuntimeError) as error:
        # The limiter itself logs that its store fails, once.
        logger.debug("a reservation ends by itself: %s", error)
    except (TypeError, ValueError, OverflowError) as error:
        warn_once("cost", f"a response costs what was held: {error}")
    except Exception:
        logger.exception("a reservation ends by itself")


#: What most requests hold.
NOTHING = Holds()
