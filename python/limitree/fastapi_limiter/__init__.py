"""fastapi-limiter by a change of the import.

    from limitree.fastapi_limiter.depends import RateLimiter
    from limitree.fastapi_limiter.rates import Duration, Limiter, Rate

The names and the counts are those of fastapi-limiter, with limits as 0.2 has
them or with ``times`` and ``seconds`` as before; docs/fastapi.md lists what is
different.  Everything else is limitree.fastapi.
"""

from limitree.fastapi_limiter.decorators import skip_limiter
from limitree.fastapi_limiter.extension import FastAPILimiter

__all__ = ["FastAPILimiter", "skip_limiter"]
