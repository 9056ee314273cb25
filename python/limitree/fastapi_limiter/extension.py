"""The limiter that every RateLimiter of this process asks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fastapi import HTTPException

from limitree.clients import client_ip
from limitree.starlette.site import Site

__all__ = ["FastAPILimiter", "default_callback"]


async def default_callback(connection: Any = None, response: Any = None,
                           pexpire: int | None = None) -> None:
    """Raise a 429; `pexpire` is the wait in milliseconds."""
    raise HTTPException(429, "Too Many Requests", None if pexpire is None else {
        "Retry-After": str(math.ceil(pexpire / 1000))})


async def _default_ws_callback(ws: Any, pexpire: int | None = None) -> None:
    await default_callback(ws, None, pexpire)


class FastAPILimiter:
    """Sets the store, the key and the answer to denied requests.

    Without `init`, limits that have a ``limiter`` count in the memory of this
    process.
    """

    http_callback: Callable[..., Any] = staticmethod(default_callback)
    ws_callback: Callable[..., Any] = staticmethod(_default_ws_callback)
    _site: Site | None = None
    _is_set = False  # by init

    @classmethod
    async def init(cls, redis: Any = "memory://",
                   prefix: str = "fastapi-limiter",
                   identifier: Callable[..., Any] | None = None,
                   http_callback: Callable[..., Any] = default_callback,
                   ws_callback: Callable[..., Any] = _default_ws_callback,
                   **options: Any) -> None:
        """Use a store: an async client of redis-py, or a URL.

        ``options`` are those of limitree.AsyncLimiter.
        """
        await cls.close()
        cls._site, cls._is_set = cls._made(identifier or client_ip(), redis,
                                           prefix=prefix, **options), True
        cls.http_callback = staticmethod(http_callback)
        cls.ws_callback = staticmethod(ws_callback)

    @classmethod
    async def close(cls) -> None:
        """Release the store."""
        site, cls._site, cls._is_set = cls._site, None, False
        if site is not None:
            await site.limiter.close()

    @classmethod
    def site(cls, must_be_set: bool) -> Site:
        """Return the limiter.

        Raises RuntimeError if `init` must set it, and has not.
        """
        if must_be_set and not cls._is_set:
            raise RuntimeError("limits have no store: await "
                               "FastAPILimiter.init(...) when the application "
                               "starts")
        if cls._site is None:
            cls._site = cls._made(client_ip(), "memory://")
        return cls._site

    @staticmethod
    def _made(key: Any, store: Any, **options: Any) -> Site:
        # More than a log can hold is counted by a sliding_window.
        return Site(key, store=store, strategy="moving-window", **options)
