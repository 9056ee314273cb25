"""The decorator of routes without limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["skip_limiter"]

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

#: Set on the function of a route.
SKIPS = "_limitree_skips"


def skip_limiter(endpoint: Endpoint) -> Endpoint:
    """Exempt a route from every RateLimiter."""
    setattr(endpoint, SKIPS, True)
    return endpoint
