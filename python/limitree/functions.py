"""Functions that users give, called with what they ask for."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable
from typing import Any


def of_request(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return `function` as one that takes the request, if it takes nothing."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is not one.KEYWORD_ONLY and one.kind is not one.VAR_KEYWORD
           for one in parameters):
        return function
    return _named_as(lambda connection: function(), function)


def limit_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as one that takes the request and the key."""
    names = list(inspect.signature(function).parameters)
    if names == ["key"]:
        return _named_as(lambda connection, key: function(key), function)
    if "key" in names:
        return _named_as(lambda connection, key: function(connection, key=key),
                         function)
    plain = of_request(function)
    return _named_as(lambda connection, key: plain(connection), function)


def _named_as(wrapper: Callable[..., Any], function: Callable[..., Any]
              ) -> Callable[..., Any]:
    """Return `wrapper`, which has the name of `function` in messages."""
    for name in ("__module__", "__qualname__"):
        if hasattr(function, name):
            setattr(wrapper, name, getattr(function, name))
    return wrapper


def text_of(value: Any) -> Any:
    """Return a primary key as text; None is refused by the limiter."""
    if type(value) is int or isinstance(value, uuid.UUID):
        return str(value)
    return value


async def settled(value: Any) -> Any:
    """Return the result of a function, awaited if it is async."""
    return await value if inspect.isawaitable(value) else value
