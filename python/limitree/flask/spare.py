"""Other limits, which hold in this process while the store fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limitree.flask.rules import Bound, Key, Rule
from limitree.limiter import Limiter as Core
from limitree.limits import NO_LIMITS
from limitree.plain import PlainLimits

if TYPE_CHECKING:
    from limitree.flask.settings import Settings


class Spare:
    """The limits of ``in_memory_fallback``, with buckets in this process."""

    def __init__(self, settings: Settings) -> None:
        self._rules = [Rule(text) for text in settings.fallback.texts]
        self._key: Key = settings.key
        self._identify = settings.identify
        self.plain = PlainLimits(strategy=settings.strategy)
        self.core = Core(NO_LIMITS, "memory://", levels=True,
                         clock=settings.options.get("clock"))

    def bounds(self, endpoint: str, method: str) -> list[Bound]:
        """Return the limits for a request."""
        return [Bound(rule, self.plain, self._key, endpoint, method,
                      self._identify) for rule in self._rules]
