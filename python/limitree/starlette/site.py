"""The limiter that the RateLimits of an application ask."""

from __future__ import annotations

from typing import cast

from starlette.requests import HTTPConnection

from limitree import site
from limitree.starlette.errors import RateLimitExceeded


class Site(site.Site):
    __doc__ = site.Site.__doc__

    _error = RateLimitExceeded


def site_of(connection: HTTPConnection) -> Site:
    """Return the Site of the application that `connection` is for."""
    record = connection.scope.get("limitree")
    if record is None or record.limiter is None:
        raise RuntimeError("RateLimit has nobody to ask: the application needs "
                           "a limitree.fastapi.Limiter(app=app)")
    return cast(Site, record.limiter)
