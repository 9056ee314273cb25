"""What an HTTP response says about limits, as the core writes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Literal, cast

from limitree import _native
from limitree._native import check_style

if TYPE_CHECKING:
    from limitree._native import Decision

__all__ = ["Headers", "Reset", "Style", "check_style", "combined", "headers",
           "problem"]

#: The same styles as _native.STYLES.
Style = Literal["ietf", "draft-7", "draft-6", "legacy", "none"]
Reset = Literal["delta", "epoch"]
Headers = list[tuple[str, str]]

headers = _native.Decision.headers

_read_json = json.JSONDecoder().raw_decode


def problem(decision: Decision) -> dict[str, object]:
    """Return the members of the body of a 429, ``application/problem+json``.

    ``violated-policies`` is there if the decision carries its levels.  Raises
    ValueError if the request was allowed.
    """
    members, _ = _read_json(decision._problem_json().decode())
    return cast("dict[str, object]", members)


def combined(decisions: list[Decision], style: Style = "ietf",
             reset: Reset = "delta") -> Headers:
    """Return the headers of a response that depends on several decisions.

    A style with room for one limit shows the limit of the tightest decision: a
    denial, then the longest wait, then the fewest tokens left.  Raises what
    headers raises.
    """
    if len(decisions) == 1:
        return decisions[0].headers(style, reset)
    if style != "ietf":
        return max(decisions, key=_tightness).headers(style, reset)
    joined: dict[str, str] = {}
    for decision in decisions:
        for name, value in decision.headers(style):
            if name not in joined:
                joined[name] = value
            elif name == "Retry-After":
                joined[name] = str(max(int(joined[name]), int(value)))
            else:
                joined[name] += f", {value}"
    return list(joined.items())


def _tightness(decision: Decision) -> tuple[bool, float, int]:
    return decision.limited, decision.next_after, -decision.remaining
