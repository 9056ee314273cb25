"""Limits as objects, for ``default_limits`` and ``application_limits``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from limitree.flask import extension
from limitree.flask.extension import Metas
from limitree.flask.meta import meta_rules
from limitree.flask.rules import CostOf, Key, Rule, ScopeOf, TextOf
from limitree.web import methods_of

if TYPE_CHECKING:
    from limitree.flask_limiter.extension import Limiter

__all__ = ["ApplicationLimit", "Limit", "MetaLimit", "RouteLimit"]


class Limit(Rule):
    """A limit of views without their own, which may have its own key.

    The other ``options`` are those of limitree.flask.Limiter.limit.
    """

    def __init__(self, limit_provider: TextOf, key_function: Key | None = None,
                 *, scope: ScopeOf | None = None, cost: CostOf | None = None,
                 methods: Any = None, meta_limits: Metas = None,
                 **options: Any) -> None:
        super().__init__(limit_provider, key=key_function, scope=scope,
                         cost=1 if cost is None else cost,
                         methods=methods_of(methods),
                         metas=meta_rules(meta_limits),
                         **{"override_defaults": False, **options})


class ApplicationLimit(Limit):
    """A limit of the whole application."""

    def __init__(self, limit_provider: TextOf, key_function: Key | None = None,
                 *, scope: ScopeOf = "global", **options: Any) -> None:
        super().__init__(limit_provider, key_function, scope=scope, shared=True,
                         **options)


class MetaLimit(Limit):
    """A limit of denials: for ``meta_limits`` of a limiter or a limit."""

    def __init__(self, limit_provider: TextOf, key_function: Key | None = None,
                 *, scope: ScopeOf = "meta", **options: Any) -> None:
        super().__init__(limit_provider, key_function, scope=scope, shared=True,
                         is_meta=True, **options)


class RouteLimit(extension.RouteLimit):
    """A limit of a view, a blueprint or a block, as Limiter.limit makes it."""

    def __init__(self, limit_provider: TextOf, key_function: Key | None = None,
                 *, limiter: Limiter, **options: Any) -> None:
        super().__init__(Limit(limit_provider, key_function, **options),
                         limiter._registry, limiter._ask)
