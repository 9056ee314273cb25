"""The answer to denied requests."""

from limitree.fastapi_limiter.extension import default_callback

__all__ = ["default_callback"]
