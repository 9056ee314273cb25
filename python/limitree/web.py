"""What a web server answers when a request is denied, or cannot be decided.

The integrations with frameworks share it, so that a client sees the same
whatever stands behind.
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

    Unless they say otherwise, a store that fails is no reason to answer with
    errors: this process decides until it is back.
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
    """Return the paths in what a function has told: one, several or none.

    Raises TypeError for a text, which is no path.
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
    """Return the 429 for a decision that is limited.

    Raises ValueError for one that is not, and what headers() raises.
    """
    return _problem(429, "Too Many Requests", decision._problem_json(),
                    decision.headers(style, reset))


def unavailable(error: StoreError) -> Answer:
    """Return the 503 for a request that no store would decide.

    Nothing of `error` is told to the client; the limiter itself writes to the
    log that its store fails, once and not for each request.
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
