"""Limits for FastAPI: a dependency that runs before the others do their work.

    app = FastAPI()
    Limiter(app=app, store="shm://myapp")

    @app.get("/trade", dependencies=[Depends(RateLimit("5/minute"))])
    async def trade(): ...
"""

from limitree.fastapi.extension import Limiter
from limitree.fastapi.rate_limit import RateLimit
from limitree.starlette.errors import (
    RateLimitExceeded,
    rate_limit_exceeded_handler,
)

__all__ = ["Limiter", "RateLimit", "RateLimitExceeded",
           "rate_limit_exceeded_handler"]
