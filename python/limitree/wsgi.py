"""A WSGI middleware: limits in front of any application.

    ip = limitree.client_ip(trusted_proxies=["10.0.0.0/8"])
    app = LimitreeMiddleware(
        app, "limits.yaml", lambda environ: ("ip", ip.of_environ(environ)),
        store="shm://myapp")
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from limitree.clients import client_ip
from limitree.decision import Decision, Level
from limitree.demand import Cost, Segment
from limitree.delays import Delay, Delays
from limitree.denials import log_denial
from limitree.errors import StoreError
from limitree.functions import run
from limitree.headers import HeaderOptions, Headers, Reset, RetryAfter, Style
from limitree.lifespan import limiter_of
from limitree.limiter import Limiter
from limitree.limits import Limits
from limitree.path_costs import PathCosts, in_utf8
from limitree.plain import PlainLimits
from limitree.rate_limit import Breach, Place, RateLimit, Step
from limitree.response_holds import Holds, Reserve, reserve_of
from limitree.wait import Duration
from limitree.web import (
    Answer,
    Paths,
    Started,
    denial,
    is_one_of,
    paths_of,
    unavailable,
)

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: The keys of the decision in the environment of the application, and of what
#: is held until the end of the response.
DECISION = "limitree.decision"
HOLDS = "limitree.holds"


class LimitreeMiddleware:
    """Asks a limiter about every request before `app` sees it.

    `limits` is a Limiter, which keeps its options.  Otherwise `limits`, `store`
    and `options` are those of a new Limiter, which decides in this process
    while its store fails, unless `on_store_error` says otherwise.

    `path` is a function of the environment.  It returns a path of the tree, a
    list of paths that are decided in one step, or None for a request that is
    not limited.  `cost` is a number, a dict of units such as
    ``{"tokens": 812}``, or a function of the environment that returns one of
    them.  `rules` are RateLimits, decided in the same step; their functions
    get the environment.  `key` identifies the caller of their texts, by default
    the address of the peer, and `strategy` is the algorithm of those that name
    none.  `exclude` are URL paths that are not limited, where ``/static/*``
    means everything below ``/static/``.

    With `delay_after`, a request of a caller who has used more of the limit
    waits: `delay` for each request above it, or what this function of what is
    used and the environment returns in seconds; at most `max_delay`.  More than
    `max_delayed` requests that would wait are denied, and are not charged.

    A denied request is answered with a 429, and a request that the store could
    not decide with a 503; `app` sees neither.  `response`, a function of the
    environment and the Decision, returns another response to a denied request,
    as a WSGI application; so may `on_breach`, which is called for each denial.
    All other responses get
    headers, and their bodies are not touched, so streams still stream.  With
    `reserve`, limits with ``hold`` or ``concurrent`` are held until the server
    has closed the body; a duration is the hold, which is then renewed when
    parts of the body are sent.
    `headers` and `reset` are the style and the reset of Decision.headers.  The
    environment has the Decision, or the Reservation, as ``limitree.decision``.
    """

    def __init__(self, app: WSGIApplication,
                 limits: Limits | Limiter | None = None,
                 path: Callable[[WSGIEnvironment], Paths] | None = None, *,
                 store: str | None = None,
                 cost: Cost | Callable[[WSGIEnvironment], Cost] = 1,
                 reserve: Reserve = False,
                 rules: Iterable[RateLimit] = (),
                 key: Callable[[WSGIEnvironment], Segment] | None = None,
                 strategy: str | None = None,
                 exclude: Iterable[str] = (),
                 headers: Style = "ietf", reset: Reset = "delta",
                 retry_after: RetryAfter = "delta-seconds",
                 response: Callable[[WSGIEnvironment, Decision],
                                    WSGIApplication] | None = None,
                 on_breach: Breach | None = None,
                 delay_after: int | None = None, delay: Delay = 1.0,
                 max_delay: Duration = 60.0, max_delayed: int = 10,
                 **options: object) -> None:
        self._rules = list(rules)
        if path is None and not self._rules:
            raise TypeError("the middleware needs a path, rules, or both")
        self._app = app
        self._limiter = limiter_of(limits, store, options)
        self._path = path
        self._cost = cost
        self._reserve = reserve_of(reserve)
        excluded = list(exclude)
        self._excludes = bool(excluded)
        self._is_excluded = is_one_of(excluded)
        self._delays = delay_after is not None and Delays(
            delay_after, delay, max_delay, max_delayed, self._limiter.clock)
        self._response = response
        self._headers = HeaderOptions.of(headers, reset, retry_after)
        #: The limits of `rules` that are texts.
        self.plain = PlainLimits("rule", strategy)
        self.key: Callable[[Any], Any] = key or client_ip().of_environ
        self.on_breach = on_breach  #: called for each denial
        for rule in self._rules:
            rule.check(self._limiter, "rules")
        if self._rules:
            self.plain.update(self._limiter)  # the name must be free

    @property
    def limiter(self) -> Limiter:
        """The limiter that is asked."""
        return self._limiter

    def levels_of(self, key: Segment) -> list[Level]:
        """Return what is left of a caller's texts; charges nothing."""
        return self.plain.levels_of(self._limiter, key)

    def reset(self, key: Segment) -> None:
        """Forget what a caller has used of texts."""
        self.plain.reset(self._limiter, key)

    def __call__(self, environ: WSGIEnvironment,
                 start_response: StartResponse) -> Iterable[bytes]:
        if self._excludes and self._is_excluded(_url_of(environ)):
            return self._app(environ, start_response)
        if self._path is not None and not (self._rules or self._reserve
                                           or self._delays):
            return self._answer_paths(self._path, environ, start_response)
        step = Step()
        self._ask(step.ask, environ)
        if self._rules:
            run(step.asking(self._rules, self, environ,
                            Place(environ["REQUEST_METHOD"],
                                  _url_of(environ))))
            self.plain.update(self._limiter)
        if not step.ask.paths:
            return self._app(environ, start_response)
        if not step.ask.reserves:
            return self._answer(step, environ, start_response)
        return held_body(functools.partial(self._answer, step), environ,
                         start_response)

    def _answer_paths(self, path: Callable[[WSGIEnvironment], Paths],
                      environ: WSGIEnvironment, start_response: StartResponse
                      ) -> Iterable[bytes]:
        """Answer if there is nothing but paths that are charged at once."""
        limiter = self._limiter
        paths = paths_of(path(environ), path)
        if not paths:
            return self._app(environ, start_response)
        cost = self._cost(environ) if callable(self._cost) else self._cost
        try:
            decision = limiter.authorize_all([in_utf8(one) for one in paths],
                                             cost, levels=True)
        except StoreError as error:
            return _send(unavailable(error), environ, start_response)
        environ[DECISION] = decision
        note(environ, None, decision, limiter)
        if decision.limited:
            return self._deny(Step(), decision, environ, start_response)
        return self._app(environ, self._telling(decision, start_response))

    def _headers_of(self, decision: Decision) -> Headers:
        return self._headers.headers([decision], self._limiter.clock)

    def _telling(self, decision: Decision, start_response: StartResponse
                 ) -> StartResponse:
        """Return `start_response` with the headers of `decision`."""
        own = self._headers_of(decision)

        def start(status: str, theirs: Headers, *exc_info: Any
                  ) -> Callable[[bytes], object]:
            return start_response(status, [*theirs, *own], *exc_info)
        return cast("StartResponse", start)

    def _ask(self, ask: PathCosts, environ: WSGIEnvironment) -> None:
        if self._path is None:
            return
        ask.paths = list(paths_of(self._path(environ), self._path))
        if ask.paths:
            cost = self._cost(environ) if callable(self._cost) else self._cost
            ask.costs = [cost] * len(ask.paths)
            ask.defer(0, None, self._reserve)

    def _answer(self, step: Step, environ: WSGIEnvironment,
                start_response: StartResponse) -> Iterable[bytes]:
        ask, limiter = step.ask, self._limiter
        try:
            decision = ask.authorize(limiter, True)
        except StoreError as error:
            return _send(unavailable(error), environ, start_response)
        environ[DECISION] = decision
        note(environ, ask if ask.reserves else None, decision, limiter)
        if decision.limited:
            return self._deny(step, decision, environ, start_response)
        ask.pass_on()
        if self._delays:
            seconds = self._delays.seconds(decision, environ)
            answer = self._delays.wait(seconds) if seconds else None
            if answer is not None:
                if ask.reserves:
                    environ[HOLDS].denied = True
                else:
                    with contextlib.suppress(StoreError):
                        ask.give_back(limiter)
                return _send(answer, environ, start_response)

        def start(status: str, theirs: Headers, *exc_info: Any
                  ) -> Callable[[bytes], object]:
            told = self._charged(ask, decision, environ, status, theirs)
            return start_response(
                status, [*theirs, *self._headers_of(told)], *exc_info)

        try:
            return self._app(environ, start)
        except Exception:
            self._charged(ask, decision, environ, "500", [])
            raise

    def _charged(self, ask: PathCosts, decision: Decision,
                 environ: WSGIEnvironment, status: str, headers: Headers
                 ) -> Decision:
        """Charge what functions say of a response; return what is left."""
        if not ask.deferred and not ask.settling:
            return decision
        started = Started.of(int(status[:3]), headers)
        holds: Holds | None = environ.get(HOLDS)
        if holds:
            holds.answer(started, False)
        if ask.deferred:
            # The application has done its work, so a 503 would be wrong; the
            # limiter has logged that its store fails.
            with contextlib.suppress(StoreError):
                decision = ask.charge(self._limiter, started, True)
            ask.deferred = {}  # a response that begins again
        return decision

    def _deny(self, step: Step, decision: Decision, environ: WSGIEnvironment,
              start_response: StartResponse) -> Iterable[bytes]:
        log_denial(decision)
        app, message = run(step.answering(self, environ, decision))
        if app is None and self._response is not None:
            app = self._response(environ, decision)
        if app is None:
            return _send(denial(decision, "none", message=message), environ,
                         self._telling(decision, start_response))
        return cast("Iterable[bytes]", app(environ, self._telling(
            decision, start_response)))


def _url_of(environ: WSGIEnvironment) -> str:
    path = f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}"
    # WSGI has bytes as Latin-1; at, exclude and other frameworks have texts.
    return path.encode("latin-1").decode(errors="surrogateescape")


def note(environ: WSGIEnvironment, ask: PathCosts | None, decision: Any,
         limiter: Limiter) -> None:
    """Hold what `limiter` has reserved, or let go what a denied request holds.
    """
    holds: Holds | None = environ.get(HOLDS)
    if holds is not None:
        holds.denied |= decision.limited
        if ask is not None:
            holds.add(decision, ask, limiter)


def held_body(app: WSGIApplication, environ: WSGIEnvironment,
              start_response: StartResponse) -> Iterable[bytes]:
    """Return the body of an application, whose end settles what is held.

    It is the application's own if nothing is held.
    """
    outer = environ.get(HOLDS)
    if outer is not None and not outer.is_over:
        return app(environ, start_response)
    holds = environ[HOLDS] = Holds()

    def start(status: str, headers: Headers, *exc_info: Any
              ) -> Callable[[bytes], object]:
        if holds:
            holds.start(headers)
        return start_response(status, headers, *exc_info)

    try:
        body = app(environ, start)
    except BaseException:
        holds.failed = not holds.started
        holds.end()
        raise
    if holds:
        return _HeldBody(body, holds)
    holds.is_over = True
    return body


class _HeldBody:
    """A body until its end, which servers tell by close()."""

    def __init__(self, body: Iterable[bytes], holds: Holds) -> None:
        self._body = body
        self._parts: Iterator[bytes] | None = None
        self._holds = holds

    def __iter__(self) -> _HeldBody:
        return self

    def __next__(self) -> bytes:
        try:
            if self._parts is None:
                self._parts = iter(self._body)
            part = next(self._parts)
        except StopIteration:
            raise
        except BaseException:
            self._holds.failed |= not self._holds.started
            raise
        self._holds.renew()
        return part

    def close(self) -> None:
        try:
            if hasattr(self._body, "close"):
                self._body.close()
        finally:
            self._holds.end()


def _send(answer: Answer, environ: WSGIEnvironment,
          start_response: StartResponse) -> Iterable[bytes]:
    start_response(answer.status_line, answer.headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]
