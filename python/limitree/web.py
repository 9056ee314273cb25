"""The answers of a web server to requests that are denied or undecided.

The integrations with frameworks share them, so that clients get the same
answers from all.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union, cast

from limitree._native import Decision, Limiter
from limitree.demand import Segment
from limitree.errors import (
    ClientGone,
    LimitExceeded,
    StoreError,
    UnknownRoot,
)
from limitree.headers import Headers, Reset, Style

Path = Sequence[Segment]
Paths = Union[Path, Sequence[Path], None]

logger = logging.getLogger("limitree")

#: The methods that are registered for HTTP, and PURGE of caches.
METHODS = frozenset("""
    ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT CONNECT COPY DELETE GET HEAD
    LABEL LINK LOCK MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE
    MOVE OPTIONS ORDERPATCH PATCH POST PROPFIND PROPPATCH PURGE PUT QUERY REBIND
    REPORT SEARCH TRACE UNBIND UNCHECKOUT UNLINK UNLOCK UPDATE UPDATEREDIRECTREF
    VERSION-CONTROL""".split())


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a limiter that a web integration makes.

    Unless they say otherwise, this process decides while the store fails.
    """
    found = dict(options)
    if found.get("on_store_error") is None:
        found["on_store_error"] = "local"
    return found


def methods_of(methods: str | Iterable[str] | None) -> frozenset[str] | None:
    """Return the methods that a limit is for, in capitals; None for all.

    A text is one method.  GET brings HEAD, for which frameworks run the same
    code.  Raises TypeError or ValueError for anything that is not a method, so
    that a mistake never means "no limit".
    """
    if methods is None:
        return None
    found = set()
    for name in (methods,) if isinstance(methods, str) else methods:
        if not isinstance(name, str):
            raise TypeError("methods must be texts such as \"GET\", not "
                            f"{type(name).__name__}")
        if name.upper() not in METHODS:
            raise ValueError(f"there is no method {name!r}"
                             + did_you_mean(name.upper(), METHODS))
        found.add(name.upper())
    if not found:
        raise ValueError("methods must not be empty: None stands for all")
    return frozenset(found | {"HEAD"} if "GET" in found else found)


def is_one_of(paths: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that tells whether a URL path is one of `paths`.

    "/static/*" means everything below "/static/".
    """
    listed = list(paths)
    exact = frozenset(path for path in listed if not path.endswith("/*"))
    below = tuple(path[:-1] for path in listed if path.endswith("/*"))
    return lambda path: path in exact or path.startswith(below)


def counted_as(method: str) -> str:
    """Return the method that a request counts as: HEAD counts as GET.

    Clients may invent methods, and must not get a bucket for each.
    """
    if method == "HEAD":
        return "GET"
    return method if method in METHODS or method in ("WS", "RPC") else "OTHER"


def did_you_mean(name: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the end of a message about a name that is not `known`.

    It is empty if there is no similar name.  Only the parts after `prefix` are
    compared.
    """
    import difflib
    rests = sorted(one.removeprefix(prefix) for one in known)
    close = difflib.get_close_matches(name.removeprefix(prefix), rests, 1)
    return f": did you mean {prefix + close[0]!r}?" if close else ""


def table(rows: Sequence[Sequence[str]], right: bool = False) -> list[str]:
    """Return the lines of a table for people.

    With `right`, columns after the first are aligned to the right.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  ".join(text.rjust(width) if right and place
                      else text.ljust(width) for place, (text, width)
                      in enumerate(zip(row, widths))).rstrip() for row in rows]


def named(function: object) -> str:
    """Return the name of a function, for lists of limits."""
    return getattr(function, "__name__", type(function).__name__)


def path_text(path: Any) -> str:
    """Return a path, or its segments, with the names of functions, in words."""
    if callable(path):
        return f"path {named(path)}()"
    return "path " + " ".join(f"{named(part)}()" if callable(part)
                              else str(part) for part in path)


class Answer(NamedTuple):
    """A whole HTTP response."""

    status: int
    reason: str
    headers: Headers
    body: bytes

    @property
    def status_line(self) -> str:
        """As WSGI wants it: "429 Too Many Requests"."""
        return f"{self.status} {self.reason}"


def paths_of(found: Paths, source: object = None) -> Sequence[Path]:
    """Return the paths in the result of a function: one, several or none.

    Raises TypeError for anything that is not a path; the error names the
    function `source`.
    """
    if found is None:
        return ()
    parts = _parts_of(found, source)
    if parts and isinstance(parts[0], (str, bytes)):
        return (_checked(parts, source),)
    return [_checked(_parts_of(part, source), source) for part in parts]


def _parts_of(found: Any, source: object) -> Sequence[Any]:
    if type(found) is tuple or type(found) is list:
        return cast("Sequence[Any]", found)
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise TypeError(f"a path must be a sequence of segments, is {found!r}"
                        + returned_by(source))
    return tuple(found)


def _checked(path: Sequence[Any], source: object) -> Path:
    for segment in path:
        if not isinstance(segment, (str, bytes)):
            raise not_a_segment(f"segment {path.index(segment)} of a path",
                                segment, source)
    return path


def check_path(limiter: Limiter, path: Sequence[object], where: str) -> None:
    """Raise UnknownRoot if the limits have no name that `path` begins with.

    A segment may be a function, whose result only a request can tell.  Raises
    ValueError for a path of one name, if no path can end there.
    """
    root = path[0] if path else None
    if not isinstance(root, (str, bytes)):
        return
    try:
        limiter.explain(root)
    except UnicodeError:
        raise
    except ValueError as error:
        if isinstance(error, UnknownRoot) or len(path) == 1:
            raise type(error)(f"{where}: {error}") from None


def not_a_segment(what: str, value: object, source: object) -> TypeError:
    """Return the error that the function `source` has caused by `value`."""
    return TypeError(f"{what} must be str or bytes, not {type(value).__name__}"
                     + returned_by(source))


def returned_by(function: object) -> str:
    """Return the end of a message about the result of `function`."""
    if function is None:
        return ""
    name = getattr(function, "__qualname__", None)
    if name is None:
        return f", as {function!r} has returned"
    return f", as {getattr(function, '__module__', '?')}.{name} has returned"


class Started(NamedTuple):
    """A response that begins, for functions that say what it costs."""

    status_code: int
    headers: Mapping[str, str]  #: with names in lower case

    @classmethod
    def of(cls, status_code: int, headers: Iterable[tuple[str, str]]
           ) -> Started:
        """Return it; headers of the same name are joined."""
        found: dict[str, str] = {}
        for name, value in headers:
            name = name.lower()
            found[name] = f"{found[name]}, {value}" if name in found else value
        return cls(status_code, found)


def denial(decision: Decision, style: Style = "ietf",
           reset: Reset = "delta", message: str | None = None) -> Answer:
    """Return the 429 for a denial; `message` replaces the text that says so.

    Raises ValueError for a request that was allowed, and what headers() raises.
    """
    body = decision._problem_json()
    if message is not None:
        body = json.dumps({**json.loads(body), "detail": message}).encode()
    return _answer(429, "Too Many Requests", body,
                   decision.headers(style, reset))


def unavailable(error: StoreError) -> Answer:
    """Return the 503 for a request that the store could not decide.

    The client sees nothing of `error`.  The limiter itself logs that its store
    fails, once and not for each request.
    """
    return _problem(503, "Service Unavailable", [("Retry-After", "1")])


def too_busy(seconds: float) -> Answer:
    """Return the 429 for a request that would wait, if too many wait."""
    wait = str(max(1, math.ceil(seconds)))
    return _problem(429, "Too Many Requests", [("Retry-After", wait)],
                    detail="Too many requests are waiting.")


def answer_to(error: ClientGone | LimitExceeded | StoreError) -> Answer:
    """Return the answer to a request that was denied, or not decided.

    It has no headers about limits.  A client that is gone gets a 400, which the
    server throws away; an access log has one line for it.
    """
    if isinstance(error, LimitExceeded):
        if error.decision.allowed:  # but others in line came first
            return too_busy(1)
        return denial(error.decision, "none", message=error.message)
    if isinstance(error, ClientGone):
        return _problem(400, "Bad Request", [],
                        detail="The address of the client is not known.")
    if not isinstance(error, StoreError):
        raise error  # of somebody else
    return unavailable(error)


def _problem(status: int, reason: str, extra: Headers, **more: str) -> Answer:
    body = {"type": "about:blank", "title": reason, "status": status, **more}
    return _answer(status, reason, json.dumps(body).encode(), extra)


def _answer(status: int, reason: str, body: bytes, extra: Headers) -> Answer:
    return Answer(status, reason, [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"), *extra], body)
