"""The answers of a web server to requests that are denied or undecided.

The integrations with frameworks share them, so that clients get the same
answers from all.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Union, cast

from limitree._native import Decision
from limitree.demand import Segment
from limitree.errors import StoreError
from limitree.headers import Headers, Reset, Style

Path = Sequence[Segment]
Paths = Union[Path, Sequence[Path], None]

logger = logging.getLogger("limitree")


def options_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a limiter that a web integration makes.

    Unless they say otherwise, this process decides while the store fails.
    """
    found = dict(options)
    if found.get("on_store_error") is None:
        found["on_store_error"] = "local"
    return found


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


def paths_of(found: Paths) -> Sequence[Path]:
    """Return the paths in the result of a function: one, several or none.

    Raises TypeError for a text, which is not a path.
    """
    if found is None:
        return ()
    if isinstance(found, (str, bytes)):
        raise TypeError(f"a path must be a sequence of segments, is {found!r}")
    if found and isinstance(found[0], (str, bytes)):
        return (cast(Path, found),)
    return cast("Sequence[Path]", found)


def denial(decision: Decision, style: Style = "ietf",
           reset: Reset = "delta") -> Answer:
    """Return the 429 for a denial.

    Raises ValueError for a request that was allowed, and what headers() raises.
    """
    return _problem(429, "Too Many Requests", decision._problem_json(),
                    decision.headers(style, reset))


def unavailable(error: StoreError) -> Answer:
    """Return the 503 for a request that the store could not decide.

    The client sees nothing of `error`.  The limiter itself logs that its store
    fails, once and not for each request.
    """
    return _problem(503, "Service Unavailable", _UNAVAILABLE,
                    [("Retry-After", "1")])


_UNAVAILABLE = json.dumps({"type": "about:blank",
                           "title": "Service Unavailable",
                           "status": 503}).encode()


def _problem(status: int, reason: str, body: bytes, extra: Headers) -> Answer:
    return Answer(status, reason, [
        ("Content-Type", "application/problem+json"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"), *extra], body)
