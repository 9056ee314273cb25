"""The results of ``Limiter.limit`` and ``shared_limit``: each puts a RateLimit
on a route."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from fastapi.params import Depends

from limitree.fastapi.rate_limit import OVERRIDES, RateLimit

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Decorator:
    """Puts a RateLimit on a route; `limit` and `shared_limit` return it."""

    def __init__(self, limit: RateLimit, override_defaults: bool,
                 note: Callable[[Any], None]) -> None:
        self._limit = limit
        self._override_defaults = override_defaults
        self._note = note  # gets the function that is limited

    @property
    def __name__(self) -> str:
        """Raises TypeError: FastAPI asks for it if this is to be a route."""
        raise TypeError("a limit was given to a route in place of a function: "
                        "@limiter.limit needs the limits in parentheses, "
                        "@limiter.limit(\"5/minute\")")

    def __call__(self, endpoint: Endpoint) -> Endpoint:
        if not callable(endpoint):
            raise TypeError("limits are put on a function, not on "
                            f"{endpoint!r}")
        self._note(endpoint)
        signature = inspect.signature(endpoint)
        name = f"limitree_{len(signature.parameters)}"
        kind = inspect.Parameter.KEYWORD_ONLY
        limited: Any = _without(endpoint, name)
        # First of all, so that nothing is done for a request that is denied.
        limited.__signature__ = signature.replace(parameters=[
            inspect.Parameter(name, kind, default=Depends(self._limit)),
            *(one.replace(kind=kind)
              for one in signature.parameters.values())])
        setattr(limited, OVERRIDES, self._override_defaults)
        return cast(Endpoint, limited)


def _without(endpoint: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return `endpoint` as a function that takes `name` too."""
    if inspect.iscoroutinefunction(endpoint):
        @functools.wraps(endpoint)
        async def limited_async(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop(name, None)
            return await endpoint(*args, **kwargs)
        return limited_async

    @functools.wraps(endpoint)
    def limited(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop(name, None)
        return endpoint(*args, **kwargs)
    return limited
