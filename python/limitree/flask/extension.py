"""The extension: what is limited, in any number of applications."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Optional, TypeVar, Union, overload

import flask
from flask.wrappers import Response

from limitree.decision import Decision, Level
from limitree.demand import Segment
from limitree.errors import StoreError
from limitree.flask.cli import commands
from limitree.flask.errors import RateLimitExceeded
from limitree.flask.meta import meta_rules
from limitree.flask.registry import Registry
from limitree.flask.rules import (
    Breach,
    CostOf,
    DeductWhen,
    ExemptionScope,
    Key,
    PathsOf,
    RequestLimit,
    Rule,
    ScopeOf,
    SegmentOf,
    TextOf,
)
from limitree.flask.settings import Reader
from limitree.flask.site import Site, refuse
from limitree.flask.steps import State
from limitree.headers import Style
from limitree.limiter import Limiter as Core
from limitree.limits import Limits
from limitree.reservation import Reservation
from limitree.response_holds import Reserve
from limitree.web import methods_of
from limitree.wsgi import held_body

View = TypeVar("View", bound=Callable[..., Any])
Target = TypeVar("Target", bound="Callable[..., Any] | flask.Blueprint")

Metas = Optional[Sequence[Union[TextOf, Rule]]]

_ALL = (ExemptionScope.APPLICATION | ExemptionScope.DEFAULT
        | ExemptionScope.OWN | ExemptionScope.META)


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
        """Raises TypeError: Flask asks for the name of a view."""
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
            # The rule was decided already, unless this is a function that the
            # view calls.
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


class Limiter:
    """Limits the requests of Flask applications.

    Everything except the key function may come from ``app.config`` instead: see
    docs/flask.md.  Arguments take precedence over settings.  `key_func` returns
    the key of the caller for plain limits; the default is the address of the
    client.

    All limits of a request are decided in one step before the view runs, and
    either all of them are charged or none.
    """

    #: Settings of modules that have the names and the counts of others.
    _usual: Mapping[str, object] = {}
    _exceeded = RateLimitExceeded

    def __init__(
        self, key_func: Key | None = None, *, app: flask.Flask | None = None,
        limits: Limits | None = None, path: PathsOf | None = None,
        reserve: Reserve | None = None,
        default_limits: Sequence[TextOf] | None = None,
        default_limits_per_method: bool | None = None,
        default_limits_exempt_when: Callable[[], bool] | None = None,
        default_limits_deduct_when: DeductWhen | None = None,
        default_limits_cost: CostOf | None = None,
        application_limits: Sequence[TextOf] | None = None,
        application_limits_per_method: bool | None = None,
        application_limits_exempt_when: Callable[[], bool] | None = None,
        application_limits_deduct_when: DeductWhen | None = None,
        application_limits_cost: CostOf | None = None,
        headers: Style | None = None, headers_enabled: bool | None = None,
        header_name_mapping: Mapping[str, str] | None = None,
        strategy: str | None = None, storage_uri: str | None = None,
        storage_options: Mapping[str, object] | None = None,
        on_store_error: str | None = None, swallow_errors: bool | None = None,
        in_memory_fallback_enabled: bool | None = None,
        on_breach: Breach | None = None, key_prefix: str | None = None,
        retry_after: str | None = None, charge: str | None = None,
        in_memory_fallback: Sequence[TextOf] | None = None,
        request_identifier: Callable[[], str] | None = None,
        meta_limits: Metas = None, on_meta_breach: Breach | None = None,
        decide: str | None = None, enabled: bool | None = None,
    ) -> None:
        if isinstance(key_func, flask.Flask):
            raise TypeError("the application goes into app=, or to init_app()")
        self._given: dict[str, object] = {
            name: value for name, value in locals().items()
            if name not in ("self", "app")}
        self._registry = Registry()
        self._paths: list[tuple[SegmentOf, ...]] = []
        if app is not None:
            self.init_app(app)

    def init_app(self, app: flask.Flask) -> None:
        """Limit `app`, which may be one of several.

        Requests are decided in a ``before_request`` function, in the order of
        registration.  Raises ConfigError for settings or limits that are not
        valid, OSError if a file of limits cannot be read, UnknownRoot for a
        path that the limits do not have.
        """
        sites = app.extensions.setdefault("limitree", {})
        if self in sites:
            return
        settings = Reader(self._given, app.config, self._usual).read()
        if not settings.enabled:
            return
        site = Site(self._registry, app, settings, self._exceeded)
        for path in self._paths:
            site.check_path(path)
        self._registry.add_app(app)
        sites[self] = site
        if settings.decide == "view":
            setattr(app, "dispatch_request",
                    _after_all_others(site.before, app.dispatch_request))
        else:
            app.before_request(site.before)
        app.after_request(site.after)
        setattr(app, "wsgi_app", functools.partial(held_body, app.wsgi_app))
        flask.got_request_exception.connect(site.note_error, app)
        handlers = app.error_handler_spec[None][None]
        if StoreError not in handlers:
            app.register_error_handler(StoreError, refuse)
        for name in ("limitree", "limiter"):  # as Flask-Limiter calls it
            if name not in app.cli.commands:
                app.cli.add_command(commands, name)

    # ---- What is limited ----------------------------------------------------

    def limit(
        self, limit_value: TextOf, *, key_func: Key | None = None,
        per_method: bool = False, methods: str | Iterable[str] | None = None,
        error_message: str | Callable[[], str] | None = None,
        exempt_when: Callable[[], bool] | None = None,
        override_defaults: bool = True,
        deduct_when: DeductWhen | None = None,
        on_breach: Breach | None = None, cost: CostOf = 1,
        scope: ScopeOf | None = None, meta_limits: Metas = None,
    ) -> RouteLimit:
        """Return plain limits for a view, a blueprint or a block of code.

        `limit_value` is a text such as "5/second; 100/hour", or a function that
        returns one.  With `deduct_when`, a function of the response, the limits
        are checked before the view, and charged after it if the function
        returns true.  `cost` is a number, a dict of units such as
        ``{"tokens": 812}``, or a function without arguments that returns one;
        such a dict may also be the result of `deduct_when`.  `meta_limits` are
        charged when this limit denies: who was denied too often is denied.

        Raises ConfigError for a text that is not valid.
        """
        return self._route_limit(Rule(
            limit_value, key=key_func, scope=scope, per_method=per_method,
            methods=methods_of(methods), error_message=error_message,
            exempt_when=exempt_when, override_defaults=override_defaults,
            deduct_when=deduct_when, on_breach=on_breach, cost=cost,
            metas=meta_rules(meta_limits)))

    def shared_limit(self, limit_value: TextOf, scope: ScopeOf,
                     **options: Any) -> RouteLimit:
        """The same with one bucket for everything that has this `scope`.

        The other arguments are those of `limit`.
        """
        rule = self.limit(limit_value, scope=scope, **options).rule
        return self._route_limit(dataclasses.replace(rule, shared=True))

    def path(
        self, *path: SegmentOf, methods: str | Iterable[str] | None = None,
        error_message: str | Callable[[], str] | None = None,
        exempt_when: Callable[[], bool] | None = None,
        override_defaults: bool = True,
        deduct_when: DeductWhen | None = None,
        on_breach: Breach | None = None, cost: CostOf = 1,
        reserve: Reserve = False,
    ) -> RouteLimit:
        """The same for the limits on a path of the tree, LIMITREE_LIMITS.

        A segment may be a function without arguments.  With `reserve`, limits
        with ``hold`` or ``concurrent`` are held until the response has ended,
        and `deduct_when` says what they are then settled as.  A duration is the
        hold, which is renewed while a stream is sent.  Raises UnknownRoot if
        the tree of an application has no name that the path begins with.
        """
        if not path:
            raise ValueError("a path must have a segment")
        self._paths.append(path)
        for app in self._registry.apps():
            app.extensions["limitree"][self].check_path(path)
        return self._route_limit(Rule(
            path=path, methods=methods_of(methods), error_message=error_message,
            exempt_when=exempt_when, override_defaults=override_defaults,
            deduct_when=deduct_when, on_breach=on_breach, cost=cost,
            reserve=reserve))

    def exempt(self, target: Target | None = None, *,
               flags: ExemptionScope = _ALL) -> Any:
        """Exempt a view or a blueprint; also ``@limiter.exempt(flags=...)``.

        A view is also exempt from its own limits; a blueprint from those that
        were put on it, unless `flags` say less.
        """
        if target is None:
            return functools.partial(self.exempt, flags=flags)
        self._registry.exempt(target, flags)
        return target

    def request_filter(self, function: Callable[[], bool]
                       ) -> Callable[[], bool]:
        """Exempt the requests for which `function` returns true."""
        self._registry.add_filter(function)
        return function

    def _route_limit(self, rule: Rule) -> RouteLimit:
        return RouteLimit(rule, self._registry, self._ask)

    # ---- The request at hand ------------------------------------------------

    @property
    def site(self) -> Site:
        """The application at hand under this extension.

        Raises RuntimeError if there is none.
        """
        site = self._site()
        if site is None:
            raise RuntimeError("this application is not limited: init_app was "
                               "not called, or LIMITREE_ENABLED is off")
        return site

    def _site(self) -> Site | None:
        sites: dict[Limiter, Site] = flask.current_app.extensions.get(
            "limitree", {})
        return sites.get(self)

    def _state(self) -> State | None:
        site = self._site()
        return site.state() if site else None

    def _ask(self, rule: Rule, once: bool) -> None:
        site = self._site()
        if site is not None:
            site.ask(rule, once)
        elif "limitree" not in flask.current_app.extensions:
            warnings.warn("a view has limits without effect: init_app was not "
                          f"called for {flask.current_app.name!r}",
                          RuntimeWarning, stacklevel=2)

    def check(self) -> None:
        """Decide the current request once more, with all of its limits.

        Raises RateLimitExceeded.
        """
        self.site.before()

    @property
    def decision(self) -> Decision | None:
        """The last decision for the current request, or None."""
        state = self._state()
        return state.steps[-1][0] if state and state.steps else None

    @property
    def reservation(self) -> Reservation | None:
        """What the current request holds: its last reservation, or None."""
        state = self._state()
        found: list[Any] = [step[0] for step in state.steps] if state else []
        return next((one for one in reversed(found)
                     if isinstance(one, Reservation)), None)

    @property
    def current_limits(self) -> list[RequestLimit]:
        """The limits of the current request, from the root to the leaf."""
        state = self._state()
        return state.limits() if state else []

    @property
    def current_limit(self) -> RequestLimit | None:
        """The limit that would be the first to deny such requests."""
        return max(self.current_limits, default=None,
                   key=lambda limit: limit.level.next_after)

    # ---- The limiter --------------------------------------------------------

    @property
    def limiter(self) -> Core:
        """The limitree.Limiter of the current application."""
        return self.site.core

    def levels_of(self, key: Segment) -> list[Level]:
        """Return what is left of a caller's plain limits; charges nothing."""
        return self.site.known().levels_of(self.limiter, key)

    def reset(self, key: Segment | None = None) -> None:
        """Forget all buckets of the current application.

        With a `key`, those of plain limits of one caller.  Raises RuntimeError
        without a key if buckets are in a store that others may use.
        """
        if key is None:
            self.site.renew()
        else:
            self.site.known().reset(self.limiter, key)


def _after_all_others(before: Callable[[], None],
                      dispatch: Callable[..., Any]) -> Callable[..., Any]:
    def dispatch_request(*args: Any, **kwargs: Any) -> Any:
        before()
        return dispatch(*args, **kwargs)
    return dispatch_request
