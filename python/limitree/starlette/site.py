"""The limiter that the RateLimits of an application ask."""

from __future__ import annotations

from typing import Any, cast

from starlette.requests import HTTPConnection

from limitree import site
from limitree.decision import Decision
from limitree.rate_limit import Step
from limitree.starlette.errors import RateLimitExceeded


class Site(site.Site):
    __doc__ = site.Site.__doc__

    def exceeded(self, decision: Decision, step: Step, message: str | None,
                 response: Any) -> Exception:
        """Return the error of a request that was denied."""
        return RateLimitExceeded(decision, message, response)


def site_of(connection: HTTPConnection) -> Site:
    """Return the Site of the application that `connection` is for."""
    record = connection.scope.get("limitree")
    if record is None or record.limiter is None:
        raise RuntimeError("RateLimit has nobody to ask: the application needs "
                           "a limitree.fastapi.Limiter(app=app)")
    return cast(Site, record.limiter)
