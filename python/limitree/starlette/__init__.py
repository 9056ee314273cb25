"""Limits for Starlette, decided before the routes.

    app = Starlette(routes=[Route("/trade", trade)])
    limiter = Limiter(app=app, store="shm://myapp")

    @limiter.limit("5/minute")
    async def trade(request): ...
"""

from limitree.starlette.errors import (
    RateLimitExceeded,
    rate_limit_exceeded_handler,
)
from limitree.starlette.extension import Limiter

__all__ = ["Limiter", "RateLimitExceeded", "rate_limit_exceeded_handler"]
