"""The route and the caller of a request, and the results of functions of it.
"""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable
from typing import Any

from limitree.clients import ClientIp
from limitree.keeper import Scope

_PLAIN = str.maketrans({"{": "<", "}": ">", "*": "%2A"})


def route_of(scope: Scope, method: str | None = None) -> str:
    """Return the name of a route, including its mounts: "GET/items/<id>".

    It has all methods of the route, or only `method`.  In this form no byte
    needs an escape in keys and policies.
    """
    # Routes of an included router know their prefix only here.
    context = scope.get("fastapi", {}).get("effective_route_context")
    route = getattr(context, "starlette_route", None) or context
    if getattr(route, "path_format", None) is None:
        route = scope.get("route")
    methods = [method] if method else getattr(route, "methods", None) or ["WS"]
    path = getattr(route, "path_format", None) or getattr(
        scope.get("endpoint"), "__qualname__", "unknown")
    name = f"{','.join(sorted(methods))}{_mount_of(scope)}{path}"
    return name.translate(_PLAIN)


def _mount_of(scope: Scope) -> str:
    root = scope.get("root_path", "")
    mount = root.removeprefix(scope.get("app_root_path", root))
    values = {str(value): name
              for name, value in scope.get("path_params", {}).items()}
    return "/".join(f"{{{values[part]}}}" if part in values else part
                    for part in mount.split("/"))


def of_request(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return `function` as one that takes the request, if it takes nothing."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is not one.KEYWORD_ONLY and one.kind is not one.VAR_KEYWORD
           for one in parameters):
        return function
    return lambda connection: function()


def limit_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` as one that takes the request and the key."""
    names = list(inspect.signature(function).parameters)
    if names == ["key"]:
        return lambda connection, key: function(key)
    if "key" in names:
        return lambda connection, key: function(connection, key=key)
    plain = of_request(function)
    return lambda connection, key: plain(connection)


def key_function(key: Callable[..., Any] | ClientIp) -> Callable[[Any], Any]:
    """Return a function that finds the caller of a request."""
    if isinstance(key, ClientIp):
        return lambda connection: key.of_scope(connection.scope)
    return of_request(key)


def text_of(value: Any) -> Any:
    """Return a primary key as text; None is refused by the limiter."""
    if type(value) is int or isinstance(value, uuid.UUID):
        return str(value)
    return value
