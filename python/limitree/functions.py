"""Functions that users give, called with what they ask for.

What is the same with and without an event loop is a generator, which `run` or
`run_awaited` runs.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable, Generator
from typing import Any

#: Yields results of functions, which may have to be awaited, and returns.
Asking = Generator[Any, Any, Any]


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


def run(asking: Asking) -> Any:
    """Return the result of `asking`, whose functions are not async."""
    try:
        found = next(asking)
        while True:
            if inspect.isawaitable(found):
                if inspect.iscoroutine(found):
                    found.close()  # otherwise Python warns of it
                asking.throw(TypeError("there is no event loop that could run "
                                       "an async function"))
            found = asking.send(found)
    except StopIteration as end:
        return end.value


async def run_awaited(asking: Asking) -> Any:
    """The same on the event loop, where functions may be async."""
    try:
        found = next(asking)
        while True:
            if inspect.isawaitable(found):
                try:
                    found = await found
                except BaseException as error:  # a task may be cancelled, too
                    found = asking.throw(error)
                    continue
            found = asking.send(found)
    except StopIteration as end:
        return end.value
