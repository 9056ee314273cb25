"""The response when a limit is exceeded."""

from __future__ import annotations

from typing import Any

from werkzeug.exceptions import TooManyRequests

from limitree.flask import errors

__all__ = ["RateLimitExceeded"]


class RateLimitExceeded(errors.RateLimitExceeded):
    """A request was denied: a 429 in HTML, with the limit as its description.
    """

    def get_body(self, environ: Any = None, scope: Any = None) -> str:
        """Return the page that werkzeug makes."""
        return TooManyRequests.get_body(self, environ, scope)

    def get_headers(self, environ: Any = None, scope: Any = None
                    ) -> list[tuple[str, str]]:
        """Return the headers of the body."""
        return TooManyRequests.get_headers(self, environ, scope)
