"""The route and the caller of a request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from limitree import site
from limitree.lifespan import Scope
from limitree.rate_limit import PLAIN


def route_of(scope: Scope, method: str | None = None) -> str:
    """Return the name of a route, including its mounts: "GET/items/<id>".

    The name has all methods of the route, or only `method`.  In this form no
    byte needs an escape in keys and policies.
    """
    context = _context_of(scope)
    route = getattr(context, "starlette_route", None) or context
    if getattr(route, "path_format", None) is None:
        route = scope.get("route")
    methods = [method] if method else getattr(route, "methods", None) or ["WS"]
    path = getattr(route, "path_format", None) or getattr(
        scope.get("endpoint"), "__qualname__", "unknown")
    name = f"{','.join(sorted(methods))}{_mount_of(scope)}{path}"
    return name.translate(PLAIN)


def _context_of(scope: Scope) -> Any:
    """Return what FastAPI knows of the route of an included router, or None.

    Only this has the prefix of such a route, and the dependencies of its
    routers.
    """
    return scope.get("fastapi", {}).get("effective_route_context")


def calls_of(scope: Scope) -> Iterator[Callable[..., Any]]:
    """Yield the dependencies of a request's route as FastAPI calls them.

    A dependency that is called once, but needed by several others, comes
    several times.
    """
    context = _context_of(scope)
    root = _dependant_in(context, getattr(context, "starlette_route", None),
                         scope.get("route"))
    return iter(()) if root is None else _calls_below(root)


def calls_in(routes: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the dependencies of `routes` and those below, each with the path of
    its route."""
    for route in routes:
        contexts = getattr(route, "effective_route_contexts", None)
        if contexts is not None:  # of an included router
            yield from calls_in(contexts())
            continue
        yield from calls_in(getattr(route, "routes", None) or ())  # mounted
        root = _dependant_in(route, getattr(route, "starlette_route", None))
        if root is not None:
            for call in _calls_below(root):
                yield getattr(route, "path", "?"), call


def _dependant_in(*routes: Any) -> Any:
    """Return the dependencies of the first route that has some, or None."""
    found = (getattr(route, "dependant", None) for route in routes)
    return next((one for one in found if one is not None), None)


def _calls_below(dependant: Any) -> Iterator[Callable[..., Any]]:
    for one in dependant.dependencies:
        yield from _calls_below(one)
        yield one.call


def _mount_of(scope: Scope) -> str:
    root = scope.get("root_path", "")
    mount = root.removeprefix(scope.get("app_root_path", root))
    values = {str(value): name
              for name, value in scope.get("path_params", {}).items()}
    return "/".join(f"{{{values[part]}}}" if part in values else part
                    for part in mount.split("/"))


class Connection(site.Connection):
    """Where a connection goes to, as a Where."""

    def route(self, method: str | None = None) -> str:
        return route_of(self._scope, method)
