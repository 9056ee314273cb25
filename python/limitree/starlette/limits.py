"""Limits of connections, with what Starlette and FastAPI add to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from limitree import rate_limit
from limitree.starlette.scope import key_function

#: Attributes that decorators set on the function of a route.
EXEMPT, OVERRIDES = "_limitree_exempt", "_limitree_overrides"


class ConnectionLimit(rate_limit.RateLimit):
    """A RateLimit whose functions get an HTTPConnection."""

    #: A default limit gives way to others; one of the application does not.
    is_default = is_application = False

    def _key_function(self, key: Any) -> Callable[..., Any]:
        return key_function(key)

    def applies_to(self, endpoint: object) -> bool:
        """Whether the function of a route has not opted out."""
        if not self.is_default and not self.is_application:
            return True
        return not (getattr(endpoint, EXEMPT, False) or (
            self.is_default and getattr(endpoint, OVERRIDES, False)))
