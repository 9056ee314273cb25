"""Limits in front of Django's views.

    INSTALLED_APPS += ["limitree.django"]
    MIDDLEWARE += ["limitree.django.LimitreeMiddleware"]
    LIMITREE = {"LIMITS": BASE_DIR / "limits.yaml",
                "STORE": "shm://myapp",
                "PATHS": [("ip", keys.ip)]}

    @ratelimit("user", keys.user, "trade")
    def trade(request): ...

docs/django.md describes everything.
"""

from limitree.django import keys
from limitree.django.core import get_usage, is_ratelimited
from limitree.django.current import (
    async_limiter,
    levels_of,
    limiter,
    reset,
)
from limitree.django.decorators import ratelimit
from limitree.django.exceptions import Ratelimited
from limitree.django.middleware import LimitreeMiddleware
from limitree.django.rule import ALL, UNSAFE

__all__ = [
    "ALL",
    "UNSAFE",
    "LimitreeMiddleware",
    "Ratelimited",
    "async_limiter",
    "get_usage",
    "is_ratelimited",
    "keys",
    "levels_of",
    "limiter",
    "ratelimit",
    "reset",
]
