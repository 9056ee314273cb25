"""A WSGI middleware: limits in front of any application.

    ip = limitree.client_ip(trusted_proxies=["10.0.0.0/8"])
    app = LimitreeMiddleware(
        app, "limits.yaml", lambda environ: ("ip", ip.of_environ(environ)),
        store="shm://myapp")
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from limitree.demand import Cost
from limitree.errors import StoreError
from limitree.headers import Headers, Reset, Style, check_style
from limitree.limiter import Limiter
from limitree.limits import Limits
from limitree.path_costs import PathCosts
from limitree.response_holds import Holds, Reserve, reserve_of
from limitree.web import (
    Answer,
    Path,
    Paths,
    denial,
    options_of,
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
    them.  A denied request is answered with a 429, and a request that the store
    could not decide with a 503; `app` sees neither.  All other responses get
    headers, and their bodies are not touched, so streams still stream.  With
    `reserve`, limits with ``hold`` or ``concurrent`` are held until the server
    has closed the body; a duration is the hold, which is then renewed when
    parts of the body are sent.
    `headers` and `reset` are the style and the reset of Decision.headers.  The
    environment has the Decision, or the Reservation, as ``limitree.decision``.
    """

    def __init__(self, app: WSGIApplication, limits: Limits | Limiter,
                 path: Callable[[WSGIEnvironment], Paths], *,
                 store: str | None = None,
                 cost: Cost | Callable[[WSGIEnvironment], Cost] = 1,
                 reserve: Reserve = False,
                 headers: Style = "ietf", reset: Reset = "delta",
                 **options: object) -> None:
        self._app = app
        self._limiter = _limiter_of(limits, store, options)
        self._path = path
        self._cost = cost
        self._reserve = reserve_of(reserve)
        self._style: Style = headers
        self._reset: Reset = reset
        check_style(headers, reset)

    def __call__(self, environ: WSGIEnvironment,
                 start_response: StartResponse) -> Iterable[bytes]:
        paths = paths_of(self._path(environ), self._path)
        if not paths:
            return self._app(environ, start_response)
        cost = self._cost(environ) if callable(self._cost) else self._cost
        if not self._reserve:
            return self._answer(paths, cost, environ, start_response)
        return held_body(functools.partial(self._answer, paths, cost), environ,
                         start_response)

    def _answer(self, paths: Sequence[Path], cost: Cost,
                environ: WSGIEnvironment, start_response: StartResponse
                ) -> Iterable[bytes]:
        ask = (PathCosts.of(paths, cost, self._reserve) if self._reserve
               else None)
        try:
            decision = (
                self._limiter.authorize_all(paths, cost, levels=True)
                if ask is None else ask.authorize(self._limiter, True))
        except StoreError as error:
            return _send(unavailable(error), environ, start_response)
        environ[DECISION] = decision
        note(environ, ask, decision, self._limiter)
        if decision.limited:
            return _send(denial(decision, self._style, self._reset), environ,
                         start_response)
        own = decision.headers(self._style, self._reset)

        def start(status: str, theirs: Headers, *exc_info: Any
                  ) -> Callable[[bytes], object]:
            return start_response(status, [*theirs, *own], *exc_info)
        return self._app(environ, start)


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


def _limiter_of(limits: Limits | Limiter, store: str | None,
                options: dict[str, Any]) -> Limiter:
    if not isinstance(limits, Limiter):
        return Limiter(limits, store or "memory://", **options_of(options))
    if store is not None or options:
        raise TypeError("store and options belong to the limiter: give them "
                        "where it is made")
    return limits


def _send(answer: Answer, environ: WSGIEnvironment,
          start_response: StartResponse) -> Iterable[bytes]:
    start_response(answer.status_line, answer.headers)
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]
