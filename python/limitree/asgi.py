"""Limits before an ASGI application, for HTTP and for websockets.

    app = LimitreeMiddleware(app, limits="limits.yaml", store="shm://myapp")

A denied request never reaches the application.  Responses say in headers how
much is left; the headers are added when a response starts, even a stream.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from limitree import web
from limitree.aio import AsyncLimiter
from limitree.clients import ClientIp, client_ip
from limitree.decision import Decision, Level
from limitree.demand import Cost, Segment
from limitree.delays import Delay, Delays
from limitree.denials import log_denial
from limitree.errors import ClientGone, StoreError
from limitree.functions import run_awaited, settled
from limitree.headers import HeaderOptions, Headers, Reset, RetryAfter, Style
from limitree.lifespan import (
    App,
    LimiterLifespan,
    Message,
    Receive,
    Scope,
    Send,
)
from limitree.limits import Limits
from limitree.path_costs import in_utf8
from limitree.plain import PlainLimits
from limitree.rate_limit import Breach, Place, RateLimit, Step
from limitree.record import Record
from limitree.response_holds import Reserve, reserve_of
from limitree.wait import Clock, Duration

__all__ = ["LimitreeMiddleware", "Record", "HeaderMiddleware", "refuse"]

# Of connections without rules: nobody's on_breach, and no message.
_NOTHING = Step()
# Messages with which an application begins to answer.
_STARTS = ("http.response.start", "websocket.accept",
           "websocket.http.response.start")
# Messages with which its answer has ended, unless there is more to come.
_ENDS = ("http.response.body", "websocket.close",
         "websocket.http.response.body")
_POLICY_VIOLATION, _TRY_AGAIN_LATER = 1008, 1013  # of RFC 6455


class HeaderMiddleware:
    """An ASGI middleware that reports a `Record` in headers.

    It is the base of other middleware, and decides nothing.
    """

    def __init__(self, app: App, lifespan: LimiterLifespan, style: Style,
                 reset: Reset, retry_after: RetryAfter = "delta-seconds"
                 ) -> None:
        self._headers = HeaderOptions.of(style, reset, retry_after)
        self.app = app
        self._lifespan = lifespan

    async def __call__(self, scope: Scope, receive: Receive,
                       send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._lifespan.lifespan(self.app, scope, receive,
                                        self._checking(send))
        elif kind not in ("http", "websocket"):
            await self.app(scope, receive, send)
        elif "limitree" in scope:  # an outer middleware reports it
            await self.serve(scope, receive, send)
        else:
            record = scope["limitree"] = Record()
            try:
                await self.serve(scope, receive, self._watched(record, send))
            except Exception:
                await record.answer(500, ())
                # A client that goes away, which cancels, has used something.
                if record.holds.open:
                    record.holds.failed = not record.holds.started
                raise
            finally:
                if record.holds.open:
                    await record.holds.end_awaited()

    def check(self) -> None:
        """Raise an error if the limits of a starting application are wrong."""

    def _checking(self, send: Send) -> Send:
        async def checked(message: Message) -> None:
            if message["type"] == "lifespan.startup.complete":
                self.check()
            await send(message)
        return checked

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection."""
        await self.app(scope, receive, send)

    def headers_of(self, decisions: list[Decision]) -> Headers:
        """Return the headers of a response after these decisions."""
        return self._headers.headers(decisions,
                                     self._lifespan.limiter._limiter.clock)

    def _watched(self, record: Record, send: Send) -> Send:
        """Return `send`, which adds headers and sees the end."""
        has_trailers = False

        async def watched(message: Message) -> None:
            nonlocal has_trailers
            kind = message["type"]
            if kind in _STARTS:
                if record.holds.open:
                    has_trailers = message.get("trailers", False)
                    record.holds.start(_texts(message.get("headers", ())))
                await record.answer(message.get("status", 101),
                                    _texts(message.get("headers", ())))
                if record.decisions:
                    # Another message: an inner middleware may keep its own.
                    message = {**message, "headers": _added(
                        message.get("headers", ()),
                        self.headers_of(record.decisions))}
            await send(message)
            if (record.holds.open and kind in _ENDS and not has_trailers
                    and not message.get("more_body")):
                await record.holds.end_awaited()
        return watched


def _texts(headers: Iterable[Iterable[bytes]]) -> Iterable[tuple[str, str]]:
    for name, value in headers:
        yield bytes(name).decode("latin-1"), bytes(value).decode("latin-1")


def _added(before: Iterable[Iterable[bytes]], ours: Headers
           ) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response with ours; its own Retry-After stays."""
    found = [(bytes(name), bytes(value)) for name, value in before]
    for name, value in ours:
        if name != "Retry-After" or not any(
                own.lower() == b"retry-after" for own, _ in found):
            found.append((name.lower().encode(), value.encode()))
    return found


class PlainSite:
    """A limiter that is asked, and its limits that are texts."""

    _lifespan: LimiterLifespan
    plain: PlainLimits

    @property
    def limiter(self) -> AsyncLimiter:
        """The limiter that is asked."""
        return self._lifespan.limiter

    async def levels_of(self, key: Segment) -> list[Level]:
        """Return what is left of a caller's texts; charges nothing."""
        return await self.plain.levels_of_awaited(self.limiter, key)

    async def reset(self, key: Segment) -> None:
        """Forget what a caller has used of texts."""
        await self.plain.reset_awaited(self.limiter, key)


class LimitreeMiddleware(PlainSite, HeaderMiddleware):
    """Asks a limiter about every connection before the application sees it.

    ``limits`` is an AsyncLimiter, which is left open; or the limits of a new
    limiter, which is closed when the application ends.  ``store`` and
    ``options`` are those of AsyncLimiter.

    ``path`` is a function, sync or async, that gets the scope of a connection
    and returns its path, a list of paths, which are decided all or nothing, or
    None for a connection without limits.  Without a function the path is
    ``("ip", <the client's address>)``, by ``client_ip``, if there are
    ``limits``.
    ``rules`` are RateLimits, decided in the same step; their functions get the
    scope.  ``key`` identifies the caller of their texts, by default the
    address, and ``strategy`` is the algorithm of those that name none.
    ``cost`` is a number, a dict of units such as ``{"tokens": 812}``, or a
    function of the scope.  With ``reserve``, limits with ``hold`` or
    ``concurrent`` are held until the response has ended, or the websocket is
    closed; a duration is the hold, which is then renewed.  ``exclude`` are URL
    paths that are not limited, where ``/static/*`` means everything below
    ``/static/``; or a function of the scope that returns whether to exclude it.

    With ``delay_after``, a request of a caller who has used more of the limit
    waits: ``delay`` for each request above it, or what this function of what is
    used and the scope returns in seconds; at most ``max_delay``.  More than
    ``max_delayed`` requests that would wait are denied, and are not charged.

    A denied request gets a 429.  ``response``, a function of the scope and the
    Decision, returns another response, as an ASGI application; so may
    ``on_breach``, which is called for each denial.  If the store
    fails and ``on_store_error`` is ``raise``, the answer is 503.  If the client
    is gone before its address is known, the answer is a 400.  Raises what
    AsyncLimiter raises.  Errors of ``path`` and ``cost``, and errors of the
    limiter about their results, go to the server.
    """

    def __init__(self, app: App, limits: Limits | AsyncLimiter | None = None,
                 store: str = "memory://", *,
                 path: Callable[[Scope], Any] | None = None,
                 client_ip: ClientIp = client_ip(),
                 cost: Cost | Callable[[Scope], Any] = 1,
                 reserve: Reserve = False,
                 rules: Iterable[RateLimit] = (),
                 key: Callable[[Scope], Any] | None = None,
                 strategy: str | None = None,
                 exclude: Iterable[str] | Callable[[Scope], bool] = (),
                 headers: Style = "ietf", reset: Reset = "delta",
                 retry_after: RetryAfter = "delta-seconds",
                 response: Callable[[Scope, Decision], App] | None = None,
                 on_breach: Breach | None = None,
                 delay_after: int | None = None, delay: Delay = 1.0,
                 max_delay: Duration = 60.0, max_delayed: int = 1000,
                 clock: Clock | None = None, **options: object) -> None:
        self._rules = list(rules)
        if limits is None and not self._rules:
            raise TypeError("the middleware needs limits, rules, or both")
        super().__init__(app, LimiterLifespan(
            limits, store, {"clock": clock, **options}), headers, reset,
            retry_after)
        self._path = path
        if path is None and limits is not None:
            self._path = lambda scope: ("ip", client_ip.of_scope(scope))
            web.check_path(self.limiter._limiter, ("ip", client_ip),
                           "the path (\"ip\", address)")
        self._cost = cost
        self._reserve = reserve_of(reserve)
        self._delays = delay_after is not None and Delays(
            delay_after, delay, max_delay, max_delayed,
            self.limiter._limiter.clock)
        self._is_excluded = exclude if callable(exclude) else _one_of(exclude)
        self._response = response
        #: The limits of `rules` that are texts.
        self.plain = PlainLimits("rule", strategy)
        self.key: Callable[[Any], Any] = key or client_ip.of_scope
        self.on_breach = on_breach  #: called for each denial
        for rule in self._rules:
            rule.check(self.limiter._limiter, "rules")
        if self._rules:
            self.plain.update(self._lifespan)  # the name must be free

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one connection, unless it is denied."""
        if self._is_excluded(scope):
            await self.app(scope, receive, send)
            return
        step = (Step() if self._rules or self._reserve or self._delays
                else _NOTHING)
        try:
            decision = (await self._decide_paths(scope) if step is _NOTHING
                        else await self._decide(step, scope))
        except (ClientGone, StoreError) as error:
            await refuse(web.answer_to(error), scope, receive, send)
            return
        if decision is None or decision.allowed:
            if step.ask.refusal is not None:
                step.ask.pass_on()
            await self._go_on(step, decision, scope, receive, send)
            return
        log_denial(decision)
        app, message = await run_awaited(step.answering(self, scope, decision))
        if app is None and self._response is not None:
            app = self._response(scope, decision)
        if app is not None and can_respond(scope):
            if scope["type"] == "websocket":
                await receive()  # websocket.connect
            await app(scope, receive, send)
        else:
            await refuse(web.denial(decision, "none", message=message), scope,
                         receive, send)

    async def _go_on(self, step: Step, decision: Any, scope: Scope,
                     receive: Receive, send: Send) -> None:
        """Call the application, if need be later."""
        delays = self._delays
        seconds = (delays.seconds(decision, scope)
                   if delays and decision is not None else 0)
        if not delays or not seconds:
            await self.app(scope, receive, send)
            return
        answer = await delays.call(seconds, self.app, scope, receive, send)
        if answer is not None:
            record: Record = scope["limitree"]
            record.drop()
            if not step.ask.reserves:
                with contextlib.suppress(StoreError):
                    await step.ask.give_back(self.limiter)
            await refuse(answer, scope, receive, send)

    async def _decide(self, step: Step, scope: Scope) -> Any:
        ask = step.ask
        paths, cost = await self._asked(scope)
        if paths is not None:
            ask.paths = list(paths)
            ask.costs = [cost] * len(ask.paths)
            ask.defer(0, None, self._reserve)
        if self._rules:
            await run_awaited(step.asking(
                self._rules, self, scope,
                Place(scope.get("method", "WS"), scope["path"])))
            if self.plain.has_news:
                await asyncio.to_thread(self.plain.update, self._lifespan)
        if not ask.paths and (self._rules or paths is None):
            return None
        record: Record = scope["limitree"]
        limiter = self._lifespan.limiter
        return record.note(ask, await ask.authorize(limiter, True), limiter)

    async def _decide_paths(self, scope: Scope) -> Any:
        """Decide if there is nothing but paths that are charged at once."""
        paths, cost = await self._asked(scope)
        if paths is None:
            return None
        record: Record = scope["limitree"]
        limiter = self._lifespan.limiter
        return record.note(None, await limiter.authorize_all(
            [in_utf8(path) for path in paths], cost, levels=True), limiter)

    async def _asked(self, scope: Scope) -> tuple[Any, Any]:
        """Return the paths of a connection, None for none, and their cost."""
        asked = self._path and self._path(scope)
        if not isinstance(asked, (tuple, list)):
            asked = await settled(asked)
        if asked is None:
            return None, 1
        cost = self._cost
        if callable(cost):
            cost = await settled(cost(scope))
        return web.paths_of(asked, self._path), cost


def _one_of(paths: Iterable[str]) -> Callable[[Scope], bool]:
    if isinstance(paths, (str, bytes)):
        raise TypeError("exclude must be a sequence of URL paths, not "
                        f"{type(paths).__name__}")
    is_one = web.is_one_of(paths)
    return lambda scope: is_one(scope["path"])


def can_respond(scope: Scope) -> bool:
    """Whether a refused connection can get a response."""
    return (scope["type"] == "http"
            or "websocket.http.response" in (scope.get("extensions") or ()))


def close_code(answer: web.Answer) -> int:
    """Return the code that closes a websocket in place of `answer`."""
    return _TRY_AGAIN_LATER if answer.status == 503 else _POLICY_VIOLATION


async def refuse(answer: web.Answer, scope: Scope, receive: Receive,
                 send: Send) -> None:
    """Send `answer`, or close the websocket, which was not accepted yet.

    The server then answers 403, unless it supports responses to websockets.
    Nothing is sent to a client that is gone.
    """
    if scope["type"] == "websocket":
        if (await receive())["type"] == "websocket.disconnect":
            return
    # By the specification, send() raises an OSError for such a client.
    with contextlib.suppress(OSError):
        await _send(answer, scope, send)


async def _send(answer: web.Answer, scope: Scope, send: Send) -> None:
    if not can_respond(scope):
        await send({"type": "websocket.close", "code": close_code(answer),
                    "reason": answer.reason})
        return
    kind = ("http.response" if scope["type"] == "http"
            else "websocket.http.response")
    await send({"type": f"{kind}.start", "status": answer.status,
                "headers": [(name.lower().encode(), value.encode())
                            for name, value in answer.headers]})
    await send({"type": f"{kind}.body", "body": answer.body})
