"""Rate limits as a tree, decided all or nothing in a tenth of a microsecond.

    limiter = limitree.Limiter("limits.yaml")
    decision = limiter.authorize("user", "alex", "trade")
    if decision.limited:
        print(f"try again in {decision.retry_after} s")
"""

from limitree._native import ALGORITHMS, __version__, openssl_version
from limitree.aio import AsyncLimiter
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
from limitree.rate_limit import (
    CurrentLimit,
    Descriptor,
    DescriptorStats,
    DescriptorStatus,
    RateLimitResponse,
    RateLimitStats,
)
from limitree.stats import LimitStats, Stats

__all__ = [
    "ALGORITHMS",
    "AsyncLimiter",
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
    "RateLimitResponse",
    "RateLimitStats",
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
