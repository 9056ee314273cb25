"""One limiter for the process, for programs that need only one."""

from __future__ import annotations

import os

from limitree.errors import ConfigError
from limitree.limiter import Limiter
from limitree.locks import ForkLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from limitree.decision import Decision
    from limitree.demand import Cost, Segment
    from limitree.limits import Limits
    from limitree.wait import Clock

_limiter: Limiter | None = None
_lock = ForkLock()


def configure(limits: Limits, store: str = "memory://", *,
              clock: Clock | None = None, levels: bool = False,
              **options: Any) -> Limiter:
    """Make the limiter that the functions of this module use, and return it.

    The arguments and errors are those of Limiter.  An earlier default limiter
    keeps working for code that still has it.
    """
    global _limiter
    made = Limiter(limits, store, clock=clock, levels=levels, **options)
    with _lock:
        _limiter = made
    return made


def default_limiter() -> Limiter:
    """Return the limiter of ``configure``, or make one from the environment.

    LIMITREE_LIMITS names the file and LIMITREE_STORE the store, by default
    memory.  Raises ConfigError if there are no limits, and what Limiter raises.
    """
    global _limiter
    with _lock:
        if _limiter is None:
            limits = os.environ.get("LIMITREE_LIMITS")
            if not limits:
                raise ConfigError("there are no limits: call "
                                  "limitree.configure() or set LIMITREE_LIMITS")
            _limiter = Limiter(limits, os.environ.get("LIMITREE_STORE")
                               or "memory://")
        return _limiter


def authorize_action_for_user(user: Segment, action: Segment, cost: Cost = 1
                              ) -> Decision | None:
    """Return None if `user` may do `action` now, else the Decision.

    This Decision is true, so ``if limited:`` works.
    Asks the default limiter.  Raises what Limiter.authorize raises, and the
    first time what default_limiter raises.
    """
    limiter = _limiter or default_limiter()
    return limiter.authorize_action_for_user(user, action, cost)
