"""The exception of a denied request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied

from limitree.errors import LimitExceeded

if TYPE_CHECKING:
    from limitree.decision import Decision


class Ratelimited(LimitExceeded, PermissionDenied):
    """A view did not run, because a limit denied the request.

    LimitreeMiddleware answers with 429.  Without the middleware, Django handles
    it as a PermissionDenied, its base class, and answers with 403.
    """

    def __init__(self, decision: Decision, message: str | None = None,
                 response: Any = None) -> None:
        super().__init__(decision)
        self.message = message
        self.response = response  #: of an on_breach, or None
        # Django and REST framework show the args of a PermissionDenied.
        self.args = (str(self),)
