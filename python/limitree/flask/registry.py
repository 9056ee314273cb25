"""The effect of decorators: rules of views and blueprints, and exemptions."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Optional, cast

import flask

from limitree.flask.rules import ExemptionScope, Rule

# Attributes of a view: functools.wraps() copies them to functions that are
# wrapped around the view.
_RULES = "_limitree_rules"
_EXEMPT = "_limitree_exempt"

_Blueprint = Optional[flask.Blueprint]


def _blueprints_of(app: flask.Flask, name: str) -> list[_Blueprint]:
    """Return the blueprint that is registered as `name`, "parent.child", after
    those it is nested in; None for one that is no blueprint."""
    parts = name.split(".")
    return [cast(_Blueprint, app.blueprints.get(".".join(parts[:count])))
            for count in range(1, len(parts) + 1)]


class Registry:
    """The rules and exemptions of one extension, for all its applications."""

    def __init__(self) -> None:
        self.version = 0  #: increased by each change
        self._filters: list[Callable[[], bool]] = []
        self._exempt_blueprints: dict[_Blueprint, ExemptionScope] = {}
        self._blueprints: dict[_Blueprint, list[Rule]] = {}
        # The functions inside the limits.  If a view is one of them, not the
        # limited function, its route was added before the limit.
        self._inner: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()
        self._limited: weakref.WeakSet[Callable[..., Any]] = weakref.WeakSet()
        self._apps: weakref.WeakSet[flask.Flask] = weakref.WeakSet()

    # ---- Registration -------------------------------------------------------

    def add_app(self, app: flask.Flask) -> None:
        """Watch the routes of `app`, present and future."""
        self._check_views(app)
        self._apps.add(app)

    def apps(self) -> list[flask.Flask]:
        """Return the applications that still exist."""
        return list(self._apps)

    def add_to_blueprint(self, blueprint: flask.Blueprint, rule: Rule) -> None:
        """Put a rule on all views of a blueprint."""
        self._blueprints.setdefault(blueprint, []).append(rule)
        self.version += 1

    def add_to_view(self, view: Callable[..., Any],
                    limited: Callable[..., Any], rule: Rule) -> None:
        """Put a rule on `limited`, which wraps `view`."""
        setattr(limited, _RULES, [*getattr(view, _RULES, ()), (self, rule)])
        self._limited.add(limited)
        with contextlib.suppress(TypeError):  # if it allows no weak reference
            self._inner.add(view)
        for app in self._apps:
            self._check_views(app)
        self.version += 1

    def exempt(self, target: Callable[..., Any] | flask.Blueprint,
               flags: ExemptionScope) -> None:
        """Exempt a blueprint, or a view: a function or a class."""
        if isinstance(target, flask.Blueprint):
            self._exempt_blueprints[target] = flags
        else:
            setattr(target, _EXEMPT,
                    {**getattr(target, _EXEMPT, {}), self: flags})
        self.version += 1

    def add_filter(self, function: Callable[[], bool]) -> None:
        """Exempt the requests for which `function` returns true."""
        self._filters.append(function)

    # ---- The rules that apply -----------------------------------------------

    def is_filtered(self) -> bool:
        """Return whether a filter exempts the current request."""
        return any(exempts() for exempts in self._filters)

    def rules_of(self, view: object, method: str, outermost: bool = False
                 ) -> list[Rule]:
        """Return the rules of a view, for requests with this method.

        With `outermost`, only those that stand above all other decorators.
        """
        found = self._rules_on(view, outermost)
        kind = getattr(view, "view_class", None)
        if kind is not None:
            handler = getattr(kind, method.lower(), None)
            if handler is None and method == "HEAD":
                handler = getattr(kind, "get", None)
            found += [rule for rule in self._rules_on(handler, outermost)
                      if rule not in found]
        return found

    def _rules_on(self, function: object, outermost: bool) -> list[Rule]:
        if outermost and function not in self._limited:
            return []
        marks = cast("Iterable[tuple[Registry, Rule]]",
                     getattr(function, _RULES, ()))
        return [rule for of, rule in marks if of is self]

    def rules_of_blueprint(self, app: flask.Flask, name: str) -> list[Rule]:
        """Return the rules of a blueprint, and of those it is nested in.

        Its own rules replace those above if one has `override_defaults`.
        """
        *above, last = _blueprints_of(app, name)
        flags = self._exempt_blueprints.get(last, ExemptionScope.NONE)
        found = ([] if flags & ExemptionScope.OWN
                 else list(self._blueprints.get(last, ())))
        if (flags & ExemptionScope.ANCESTORS
                or any(rule.override_defaults for rule in found)):
            return found
        for one in above:
            outer = self._exempt_blueprints.get(one, ExemptionScope.NONE)
            if not outer & ExemptionScope.DESCENDENTS:
                found += self._blueprints.get(one, ())
        return found

    def exemption_of(self, view: object) -> ExemptionScope:
        """Return the exemptions of a view itself."""
        found = ExemptionScope.NONE
        for target in (view, getattr(view, "view_class", None)):
            marks = cast("dict[Registry, ExemptionScope]",
                         getattr(target, _EXEMPT, {}))
            found |= marks.get(self, ExemptionScope.NONE)
        return found

    def exemption_in(self, view: object, app: flask.Flask, name: str
                     ) -> ExemptionScope:
        """The same for a view in the blueprint `name`, "parent.child"."""
        found = self.exemption_of(view)
        *above, last = _blueprints_of(app, name)
        found |= self._exempt_blueprints.get(last, ExemptionScope.NONE)
        for one in above:
            flags = self._exempt_blueprints.get(one, ExemptionScope.NONE)
            if flags & ExemptionScope.DESCENDENTS:
                found |= flags
        return found

    def check_view(self, endpoint: str, view: Callable[..., Any]) -> None:
        """Raise RuntimeError if a limit was put on a view after its route."""
        with contextlib.suppress(TypeError):
            if view not in self._inner:
                return
            raise RuntimeError(
                f"the limit of {endpoint!r} stands above its route, which has "
                "the view without it: put @limiter.limit(...) below the route")

    def _check_views(self, app: flask.Flask) -> None:
        for endpoint, view in app.view_functions.items():
            self.check_view(endpoint, view)
