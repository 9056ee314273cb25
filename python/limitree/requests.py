"""Limits of outbound calls with requests: an adapter that waits for its turn.

    session.mount("https://", LimitAdapter("10/second"))
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterable
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from limitree.demand import Segment
from limitree.functions import run
from limitree.limiter import Limiter
from limitree.outbound import Outbound, WaitTooLong
from limitree.wait import Duration

__all__ = ["LimitAdapter", "RateLimitExceeded"]


class RateLimitExceeded(WaitTooLong, requests.RequestException):
    __doc__ = WaitTooLong.__doc__


class LimitAdapter(HTTPAdapter):
    __doc__ = f"""An adapter for ``requests.Session.mount``.
{(Outbound.__doc__ or '').partition(chr(10))[2]}
    All other arguments are those of ``requests.adapters.HTTPAdapter``.  Raises
    RateLimitExceeded, which is a ``requests.RequestException``.
    """

    def __init__(self, limit: str | None = None, *,
                 limiter: Limiter | None = None,
                 path: Callable[[requests.PreparedRequest], Iterable[Segment]]
                 | None = None,
                 max_wait: Duration | None = 60, max_queue: int | None = 1000,
                 **options: Any) -> None:
        self._outbound = Outbound(Limiter, RateLimitExceeded, limit, limiter,
                                  path, max_wait, max_queue)
        super().__init__(**options)

    def __reduce__(self) -> Any:
        raise TypeError("an adapter with limits cannot be pickled or copied")

    def send(self, request: requests.PreparedRequest, *args: Any,
             **options: Any) -> requests.Response:
        """Wait for the turn of `request`, and send it."""
        host = _host_of(request.url or "")
        run(self._outbound.waiting(host, request))
        response = super().send(request, *args, **options)
        self._outbound.hear(host, response.status_code,
                            response.headers.get("retry-after"))
        return response


def _host_of(url: str) -> str:
    """Return the host of a URL, with its port unless that is the usual one."""
    parts = urllib.parse.urlsplit(url)
    host, port = parts.hostname or "", parts.port
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    return host if port in (None, usual) else f"{host}:{port}"
