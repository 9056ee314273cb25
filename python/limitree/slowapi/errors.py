"""The response when a limit is exceeded."""

from __future__ import annotations

from starlette.responses import Response

from limitree.decision import Decision
from limitree.plain import PlainLimit
from limitree.starlette import errors

__all__ = ["RateLimitExceeded"]


class RateLimitExceeded(errors.RateLimitExceeded):
    """A request was denied: a 429, for an exception handler to render.

    ``detail`` is the message of the limit, or the limit in words, such as
    "5 per 1 minute"; ``limit`` is the limit itself.
    """

    def __init__(self, decision: Decision, limit: PlainLimit | None,
                 message: str | None = None,
                 response: Response | None = None) -> None:
        super().__init__(decision, message or str(limit or "") or None,
                         response)
        self.limit = limit
