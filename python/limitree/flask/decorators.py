"""The result of ``Limiter.limit`` and similar methods: a rule to be placed.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, overload

import flask

from limitree.flask.registry import Registry
from limitree.flask.rules import Rule

View = TypeVar("View", bound=Callable[..., Any])


class RouteLimit:
    """A rule to be put on a function, a blueprint or a block of code.

    ``Limiter.limit`` and similar methods make it.  As a context manager it
    decides when the block is entered, and raises RateLimitExceeded.
    """

    def __init__(self, rule: Rule, registry: Registry,
                 ask: Callable[[Rule, bool], None]) -> None:
        self.rule = rule
        self._registry = registry
        self._ask = ask  # of Limiter

    @property
    def __name__(self) -> str:
        """Raises TypeError: Flask asks for it if this is to be a view."""
        raise TypeError("a limit was given to a route in place of a view: "
                        "@limiter.limit needs the limits in parentheses, "
                        "@limiter.limit(\"5/minute\")")

    @overload
    def __call__(self, target: flask.Blueprint) -> None: ...

    @overload
    def __call__(self, target: View) -> View: ...

    def __call__(self, target: Any) -> Any:
        rule, ask = self.rule, self._ask
        if isinstance(target, flask.Blueprint):
            self._registry.add_to_blueprint(target, rule)
            return None
        if not callable(target):
            raise TypeError("limits are put on a function or a blueprint, not "
                            f"on {target!r}")

        is_async = inspect.iscoroutinefunction(target)

        @functools.wraps(target)
        def limited(*args: Any, **kwargs: Any) -> Any:
            # Decided already, unless this is a function that the view calls.
            ask(rule, True)
            if is_async:
                return flask.current_app.ensure_sync(target)(*args, **kwargs)
            return target(*args, **kwargs)

        self._registry.add_to_view(target, limited, rule)
        return limited

    def __enter__(self) -> RouteLimit:
        self._ask(self.rule, False)
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        pass
