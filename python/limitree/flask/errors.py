"""The response when a limit is exceeded."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from werkzeug.exceptions import TooManyRequests
from werkzeug.wrappers import Response

from limitree._native import Decision
from limitree.headers import problem

if TYPE_CHECKING:
    from limitree.flask.rules import RequestLimit


class RateLimitExceeded(TooManyRequests):
    """A request was denied: a 429, for ``@app.errorhandler(429)`` to render.

    ``decision`` is the denial, ``limit`` the limit that caused it, and
    ``description`` its text, such as "5 per 1 second", or the error message of
    the limit.  Without an error handler the response is a problem in JSON; the
    headers are added to every response.
    """

    decision: Decision
    limit: RequestLimit

    def __init__(self, decision: Decision, limit: RequestLimit,
                 description: str | None = None,
                 response: Response | None = None) -> None:
        super().__init__(description or str(limit), response)
        self.decision = decision
        self.limit = limit
        self._message = description

    def get_body(self, environ: Any = None, scope: Any = None) -> str:
        """Return the problem, as in limitree.headers.problem."""
        if self._message is None:
            return self.decision._problem_json().decode()
        return json.dumps({**problem(self.decision), "detail": self._message})

    def get_headers(self, environ: Any = None, scope: Any = None
                    ) -> list[tuple[str, str]]:
        """Return the headers of the body."""
        return [("Content-Type", "application/problem+json"),
                ("Cache-Control", "no-store")]
