"""What an HTTP response says about limits: the text of its headers.

Numbers of whole seconds are rounded up, so that who waits as long as told is
not denied again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from limitree._native import Decision, Level

Style = Literal["ietf", "draft-7", "draft-6", "legacy", "none"]
Reset = Literal["delta", "epoch"]
Headers = list[tuple[str, str]]


def headers(decision: Decision, style: Style = "ietf",
            reset: Reset = "delta") -> Headers:
    """Return the headers of a response as (name, value) pairs.

    ``style`` is one of

    * ``"ietf"``: ``RateLimit-Policy`` and ``RateLimit`` of the IETF draft, with
      one item for each limit that counts; ValueError is raised unless the
      decision carries its levels
    * ``"draft-7"``, ``"draft-6"``: as those drafts had them, for the binding
      limit, with the policies of all limits if the decision carries its levels
    * ``"legacy"``: ``X-RateLimit-Limit``, ``-Remaining`` and ``-Reset`` of the
      binding limit; the last, when it is full again, is in seconds from now or,
      with ``reset="epoch"``, since 1970
    * ``"none"``: none

    ``Retry-After`` is the last of them if the request was limited and a wait
    helps.  There are none where no limit lies on the path.
    """
    check_style(style, reset)
    if style == "none" or decision.unlimited:
        return []
    if style == "legacy":
        found = _legacy(decision, reset)
    else:
        found = _STYLES[style](decision)
    return found + _retry_after(decision)


def check_style(style: str, reset: str) -> None:
    """Raise ValueError unless there are such headers."""
    if style not in _STYLES:
        raise ValueError(f"style must be one of {', '.join(_STYLES)}, "
                         f"is {style!r}")
    if reset not in ("delta", "epoch"):
        raise ValueError(f"reset must be delta or epoch, is {reset!r}")


def combined(decisions: list[Decision], style: Style = "ietf",
             reset: Reset = "delta") -> Headers:
    """Return the headers of a response that several decisions lie behind.

    Where a style has room for one limit it is that of the tightest decision: a
    denial, or the longest wait, or the fewest left.  Raises what headers does.
    """
    if len(decisions) == 1:
        return headers(decisions[0], style, reset)
    if style != "ietf":
        return headers(max(decisions, key=_tightness), style, reset)
    joined: dict[str, str] = {}
    for decision in decisions:
        for name, value in headers(decision, style):
            if name not in joined:
                joined[name] = value
            elif name == "Retry-After":
                joined[name] = str(max(int(joined[name]), int(value)))
            else:
                joined[name] += f", {value}"
    return list(joined.items())


def _tightness(decision: Decision) -> tuple[bool, float, int]:
    return decision.limited, decision.next_after, -decision.remaining


def problem(decision: Decision) -> dict[str, object]:
    """Return the members of the body of a 429, ``application/problem+json``.

    ``violated-policies`` is there if the decision carries its levels.  Raises
    ValueError if the request was allowed.
    """
    if not decision.limited:
        raise ValueError("the request was allowed: there is no problem")
    wait = [f"Try again in {seconds} s."
            for _, seconds in _retry_after(decision)]
    members: dict[str, object] = {
        "type": "https://iana.org/assignments/http-problem-types"
                "#quota-exceeded",
        "title": "Too Many Requests",
        "status": 429,
        "detail": wait[0] if wait else "The request is larger than any limit "
                                       "on it allows.",
    }
    if decision.levels is not None:
        members["violated-policies"] = [
            level.policy for level in _counted(decision) if level.limited]
    return members


def _retry_after(decision: Decision) -> Headers:
    wait = decision.retry_after
    if wait is None or wait == math.inf:
        return []
    return [("Retry-After", str(max(1, math.ceil(wait))))]


def _counted(decision: Decision) -> list[Level]:
    return [level for level in decision.levels or () if level.mode != "shadow"]


def _ietf(decision: Decision) -> Headers:
    if decision.levels is None:
        raise ValueError("these headers name every limit, but the decision was "
                         "made without its levels: give levels=True to the "
                         "limiter or to the call")
    return decision._ietf()


def _policies(decision: Decision) -> Headers:
    policies = [f"{level.limit};w={math.ceil(level.window)}"
                for level in _counted(decision)]
    return [("RateLimit-Policy", ", ".join(policies))] if policies else []


def _draft_7(decision: Decision) -> Headers:
    state = (f"limit={decision.limit}, remaining={decision.remaining}, "
             f"reset={math.ceil(decision.binding_reset_after)}")
    return _policies(decision) + [("RateLimit", state)]


def _draft_6(decision: Decision) -> Headers:
    return _policies(decision) + [
        ("RateLimit-Limit", str(decision.limit)),
        ("RateLimit-Remaining", str(decision.remaining)),
        ("RateLimit-Reset", str(math.ceil(decision.binding_reset_after)))]


def _legacy(decision: Decision, reset: Reset = "delta") -> Headers:
    at = decision.binding_reset_after
    if reset == "epoch":
        at += time.time()
    return [("X-RateLimit-Limit", str(decision.limit)),
            ("X-RateLimit-Remaining", str(decision.remaining)),
            ("X-RateLimit-Reset", str(math.ceil(at)))]


def _none(decision: Decision) -> Headers:
    return []


_STYLES: dict[str, Callable[[Decision], Headers]] = {
    "ietf": _ietf, "draft-7": _draft_7, "draft-6": _draft_6,
    "legacy": _legacy, "none": _none}
