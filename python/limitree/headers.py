"""What an HTTP response says about limits, as the core writes it."""

from __future__ import annotations

import email.utils
import math
import time
from typing import Literal, NamedTuple

from limitree._native import Decision, check_style
from limitree.decision import problem
from limitree.errors import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from limitree.wait import Clock

__all__ = ["HeaderOptions", "Headers", "Reset", "RetryAfter", "Style",
           "check_style", "combined", "dated", "headers", "is_date", "problem"]

#: The same styles as _native.STYLES.
Style = Literal["ietf", "draft-7", "draft-6", "legacy", "none"]
Reset = Literal["delta", "epoch"]
#: What Retry-After is.
RetryAfter = Literal["delta-seconds", "http-date"]
Headers = list[tuple[str, str]]

headers = Decision.headers


def combined(decisions: list[Decision], style: Style = "ietf",
             reset: Reset = "delta", always: bool = False) -> Headers:
    """Return the headers of a response that depends on several decisions.

    A style with room for one limit shows the limit of the tightest decision: a
    denial, then the longest wait, then the fewest tokens left.  With `always`
    a response that is allowed has a Retry-After, too: when the limit is full
    again.  Raises what headers raises.
    """
    if always and style != "none" and not any(one.limited for one in decisions):
        full = max(decisions, key=tightness).binding_reset_after
        # Windows end at whole microseconds, so up to one may be the rounding.
        full = math.ceil(full - 1e-6)
        return [*combined(decisions, style, reset), ("Retry-After", str(full))]
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


def is_date(retry_after: str, name: str = "retry_after") -> bool:
    """Whether Retry-After is a date; raises ValueError for another word."""
    if retry_after not in ("delta-seconds", "http-date"):
        raise ConfigError(f"{name} must be delta-seconds or http-date, is "
                          f"{retry_after!r}")
    return retry_after == "http-date"


def dated(headers: Headers, clock: Clock | None) -> Headers:
    """Return `headers` with a date in Retry-After, which is never too early."""
    now = (clock or time.time_ns)() / 1e9
    return [(name, email.utils.formatdate(math.ceil(now + int(value)),
                                          usegmt=True)
             if name == "Retry-After" else value) for name, value in headers]


class HeaderOptions(NamedTuple):
    """The options of integrations that say which headers responses have."""

    style: Style
    reset: Reset
    retry_after: RetryAfter

    @classmethod
    def of(cls, style: Style, reset: Reset, retry_after: RetryAfter
           ) -> HeaderOptions:
        """Return these options; raises ConfigError for an unknown one."""
        check_style(style, reset)
        is_date(retry_after)
        return cls(style, reset, retry_after)

    def headers(self, decisions: list[Decision], clock: Clock | None,
                always: bool = False) -> Headers:
        """Return the headers of a response; `always` as that of combined."""
        found = combined(decisions, self.style, self.reset, always)
        return dated(found, clock) if is_date(self.retry_after) else found


def tightness(decision: Decision) -> tuple[bool, float, int]:
    """Return a key that orders decisions by how near a limit is."""
    return decision.limited, decision.next_after, -decision.remaining
