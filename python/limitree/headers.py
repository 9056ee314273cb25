"""What an HTTP response says about limits, as the core writes it."""

from __future__ import annotations

from typing import Literal

from limitree._native import Decision, check_style
from limitree.decision import problem

__all__ = ["Headers", "Reset", "Style", "check_style", "combined", "headers",
           "problem"]

#: The same styles as _native.STYLES.
Style = Literal["ietf", "draft-7", "draft-6", "legacy", "none"]
Reset = Literal["delta", "epoch"]
Headers = list[tuple[str, str]]

headers = Decision.headers


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
        return max(decisions, key=tightness).headers(style, reset)
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


def tightness(decision: Decision) -> tuple[bool, float, int]:
    """Return a key that orders decisions by how near a limit is."""
    return decision.limited, decision.next_after, -decision.remaining
