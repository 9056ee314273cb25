"""Log messages: one when a store begins to fail, one when it is back, and one
when it is full."""

from __future__ import annotations

import logging
import os
import time
import weakref
from typing import TYPE_CHECKING

from limitree.locks import ForkLock

if TYPE_CHECKING:
    from limitree._native import Limiter

#: The store is back when it has answered, without failures, for this many
#: seconds, so that a store that fails now and then does not fill the log.
QUIET = 5.0

logger = logging.getLogger("limitree")

# What users see, by on_store_error: while the store fails, and looking back.
# The package for Node.js says the same.
_UNTIL_THEN = {"local": "limits are decided in this process",
               "allow": "requests are let through unchecked",
               "deny": "requests are denied unchecked",
               "raise": "requests fail"}
_SINCE_THEN = {"local": "decided in this process",
               "allow": "let through unchecked", "deny": "denied unchecked",
               "raise": "not decided"}


def warn_full() -> None:
    """Log that a store forgets callers that it should deny.

    The native module calls this after the first such decision of a limiter.
    """
    logger.warning(
        "the store is full of callers at their limits: some are forgotten, and "
        "may begin again; raise max_buckets, or max_bytes for limits with logs")


class Outage:
    """The failures of the store of one limiter.

    The native module calls `note` for each decision made without the store,
    and for the decisions after it until `note` returns false; it calls
    `note_failure` for each call without a decision.
    """

    def __init__(self, limiter: Limiter, store: str, how: str) -> None:
        self._limiter = weakref.ref(limiter)
        self._store = store
        self._how = how  # on_store_error
        self._lock = ForkLock()
        self._away = False
        self._since = 0.0
        self._answered: float | None = None  # the first time since a failure
        self._requests = 0
        self._limited = 0
        self._reasons: dict[str, int] = {}  # counted before this trouble

    def note(self, from_store: bool, degraded: bool, limited: bool) -> bool:
        """Return whether the store is away, after one decision."""
        if degraded:
            return self._failed(limited)
        return self._returned() if from_store else self._away

    def note_failure(self) -> bool:
        """As `note`, after a call that failed."""
        return self._failed(False)

    def _failed(self, limited: bool) -> bool:
        with self._lock:
            begins = not self._away
            if begins:
                self._away = True
                self._since = time.monotonic()
                self._requests = self._limited = 0
            self._answered = None
            self._requests += 1
            self._limited += limited
        if begins:
            why = ", ".join(self._new_reasons())
            logger.warning("the store %s fails in process %d%s, "
                           "on_store_error=%s: %s until it is back",
                           self._store, os.getpid(), why and f" ({why})",
                           self._how, _UNTIL_THEN[self._how])
        return True

    def _returned(self) -> bool:
        now = time.monotonic()
        with self._lock:
            if not self._away:
                return False
            if self._answered is None:
                self._answered = now
            if now - self._answered < QUIET:
                return True
            self._away = False
            seconds = self._answered - self._since
            requests, limited = self._requests, self._limited
        why = ", ".join(f"{reason} {count}" for reason, count
                        in self._new_reasons(keep=True).items())
        logger.warning("the store %s is back in process %d after %.1f s, "
                       "on_store_error=%s: %d requests were %s%s%s",
                       self._store, os.getpid(), seconds, self._how, requests,
                       _SINCE_THEN[self._how],
                       f", {limited} of them limited" if limited else "",
                       why and f" ({why})")
        return False

    def _new_reasons(self, keep: bool = False) -> dict[str, int]:
        """Return why, and how often, calls have failed since the last time."""
        limiter = self._limiter()
        if limiter is None or limiter.closed:
            return {}
        reasons = limiter._reasons()
        before = self._reasons
        if keep:
            self._reasons = reasons
        return {reason: count - before.get(reason, 0)
                for reason, count in reasons.items()
                if count > before.get(reason, 0)}
