"""Rate limits as a tree, decided all or nothing in a tenth of a microsecond.

    limiter = limitree.Limiter("limits.yaml")
    decision = limiter.authorize("user", "alex", "trade")
    if decision.limited:
        print(f"try again in {decision.retry_after} s")
"""

from __future__ import annotations

from limitree._native import ALGORITHMS, __version__, openssl_version
from limitree.clients import ClientIp, canonical_ip, client_ip
from limitree.decision import Decision, Level
from limitree.default import (
    authorize_action_for_user,
    configure,
    default_limiter,
)
from limitree.errors import (
    ConfigError,
    LimitExceeded,
    StoreError,
    StoreTimeout,
    UnknownRoot,
)
from limitree.limiter import Limiter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from limitree.aio import AsyncLimiter
    from limitree.envoy import (
        CurrentLimit,
        Descriptor,
        DescriptorStats,
        DescriptorStatus,
        EnvoyResponse,
        EnvoyStats,
    )
    from limitree.reservation import AsyncReservation, Reservation
    from limitree.stats import LimitStats, Stats

__all__ = [
    "ALGORITHMS",
    "AsyncLimiter",
    "AsyncReservation",
    "ClientIp",
    "ConfigError",
    "CurrentLimit",
    "Decision",
    "Descriptor",
    "DescriptorStats",
    "DescriptorStatus",
    "Level",
    "LimitExceeded",
    "LimitStats",
    "Limiter",
    "EnvoyResponse",
    "EnvoyStats",
    "Reservation",
    "Stats",
    "StoreError",
    "StoreTimeout",
    "UnknownRoot",
    "__version__",
    "authorize_action_for_user",
    "canonical_ip",
    "client_ip",
    "configure",
    "default_limiter",
    "openssl_version",
]

# The modules of names that few programs need.  They are imported when the name
# is first used, because importing asyncio and typing takes longer than all the
# rest together.
_LATER = {
    "AsyncLimiter": "aio",
    "AsyncReservation": "reservation",
    "CurrentLimit": "envoy",
    "Descriptor": "envoy",
    "DescriptorStats": "envoy",
    "DescriptorStatus": "envoy",
    "LimitStats": "stats",
    "EnvoyResponse": "envoy",
    "EnvoyStats": "envoy",
    "Reservation": "reservation",
    "Stats": "stats",
}
_MODULES = ("aio", "delivery", "demand", "headers", "envoy", "reservation",
            "stats")

# Hidden from type checkers: for them, any name would be one of the package.
if not TYPE_CHECKING:
    def __getattr__(name: str) -> object:
        module = _LATER.get(name, name)
        if module not in _MODULES:
            raise AttributeError(f"module 'limitree' has no attribute {name!r}")
        __import__(f"limitree.{module}")  # which adds it to this module
        found = globals()[module]
        if name in _LATER:
            found = globals()[name] = getattr(found, name)
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
