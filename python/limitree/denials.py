"""A log record for each denial, from the logger ``limitree.denials``."""

from __future__ import annotations

import logging
import time

from limitree.decision import Decision

logger = logging.getLogger("limitree.denials")

#: The most records in a second: a client that is denied all the time must not
#: fill the log.
MOST = 10


class DenialLog:
    """Writes records of level INFO, each with its Decision as ``decision``.

    At most MOST in a second; a record then says how many were left out.
    """

    def __init__(self) -> None:
        self._second = 0
        self._count = 0
        self._left_out = 0

    def __call__(self, decision: Decision) -> None:
        if not logger.isEnabledFor(logging.INFO):
            return
        # Without a lock: if threads meet here, a record more or less is told.
        now = int(time.monotonic())
        if now != self._second:
            left_out, self._left_out = self._left_out, 0
            self._second, self._count = now, 0
            if left_out:
                logger.info("%d more requests were denied", left_out)
        if self._count >= MOST:
            self._left_out += 1
            return
        self._count += 1
        logger.info("denied by %s: %s", ", ".join(policies_of(decision)),
                    _wait(decision), extra={"decision": decision})


def policies_of(decision: Decision) -> list[str]:
    """Return the policies of the limits that deny."""
    found = [level.policy for level in decision.levels or ()
             if level.limited and level.mode != "shadow"]
    return found or ["a limit"]


def _wait(decision: Decision) -> str:
    wait = decision.retry_after
    if wait is None or wait == float("inf"):
        return "no wait is long enough"
    return f"try again in {wait:.3f} s"


#: What the integrations with web frameworks call.
log_denial = DenialLog()
