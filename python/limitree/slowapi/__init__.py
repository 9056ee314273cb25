"""slowapi by a change of the import.

    from limitree.slowapi import Limiter, _rate_limit_exceeded_handler
    from limitree.slowapi.errors import RateLimitExceeded
    from limitree.slowapi.util import get_remote_address

The names, the defaults and the counts are those of slowapi; docs/fastapi.md
lists what is different.  Everything else is limitree.starlette.
"""

from limitree.slowapi.extension import Limiter, _rate_limit_exceeded_handler

__all__ = ["Limiter", "_rate_limit_exceeded_handler"]
