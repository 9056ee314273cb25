"""A Flask application with limits: the decisions and the responses about its
requests."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Sequence

import flask
from flask.wrappers import Response
from werkzeug.http import http_date, parse_date

from limitree.decision import Decision
from limitree.denials import log_denial
from limitree.errors import StoreError
from limitree.flask.errors import RateLimitExceeded
from limitree.flask.meta import MetaStep, meta_rules
from limitree.flask.registry import Registry
from limitree.flask.rules import (
    Bound,
    Breach,
    ExemptionScope,
    Key,
    RequestLimit,
    Rule,
    SegmentOf,
)
from limitree.flask.settings import Group, Settings
from limitree.flask.steps import Owner, State, Step, collect, limits_of
from limitree.headers import combined
from limitree.limiter import Limiter as Core
from limitree.limits import NO_LIMITS
from limitree.path_costs import PathCosts
from limitree.plain import COMPUTED, PlainLimits, PlainRule
from limitree.web import check_path, logger, unavailable
from limitree.wsgi import HOLDS, note


class Site:
    """One application, with its limiter and its settings."""

    def __init__(self, registry: Registry, app: flask.Flask,
                 settings: Settings,
                 exceeded: type[RateLimitExceeded] = RateLimitExceeded) -> None:
        self._registry = registry
        self._exceeded = exceeded
        self.app = app
        self.settings = settings
        self._renew()
        self._bounds: dict[tuple[str, str], list[Bound]] = {}
        self._version = -1
        self._state = f"limitree.flask.{id(registry):x}"  # in the environ
        self._everywhere = _rules_of(settings.application, "application")
        self._defaults = _rules_of(settings.default, None)
        self._metas = meta_rules(settings.meta)
        self._path = ([Rule(paths=settings.path, reserve=settings.reserve)]
                      if settings.path else [])

    def _renew(self) -> None:
        settings = self.settings
        self.plain = PlainLimits(strategy=settings.strategy,
                                 charge=settings.charge,
                                 empty_exempts=settings.empty_exempts)
        limits = NO_LIMITS if settings.limits is None else settings.limits
        self.core = Core(limits, settings.store, levels=True,
                         **settings.options)
        self.plain.update(self.core)  # if this ever fails, it fails now
        self._spare = Spare(settings) if settings.fallback.texts else None

    def check_path(self, path: Sequence[SegmentOf]) -> None:
        """Raise UnknownRoot for a path that the tree does not have."""
        where = f"limiter.path({path[0]!r}, ...)"
        if self.settings.limits is None:
            where += " without LIMITREE_LIMITS"
        check_path(self.core, path, where)

    # ---- Which rules apply --------------------------------------------------

    def bounds(self, endpoint: str, method: str) -> list[Bound]:
        """Return the rules for a request, bound to its endpoint and method."""
        version = self._registry.version
        if version != self._version:
            self._bounds = {}
            self._version = version
        known = self._bounds.get((endpoint, method))
        if known is None:
            known = [self.bind(rule, endpoint, method)
                     for rule in self._rules(endpoint, method)]
            self._bounds[endpoint, method] = known
        return known

    def bind(self, rule: Rule, endpoint: str, method: str) -> Bound:
        """Return one rule bound to an endpoint."""
        return Bound(rule, self.plain, self.settings.key, endpoint, method,
                     self.settings.identify)

    def _rules(self, endpoint: str, method: str) -> list[Rule]:
        registry = self._registry
        if endpoint.rpartition(".")[2] == "static":
            return []
        view = self.app.view_functions.get(endpoint)
        if view is not None:
            registry.check_view(endpoint, view)
        blueprint = endpoint.rpartition(".")[0]
        exempt = registry.exemption_in(view, self.app, blueprint)
        found = [] if exempt & ExemptionScope.APPLICATION else [
            rule for rule in self._everywhere if rule.applies_to(method)]
        own: list[Rule] = []
        if not registry.exemption_of(view):
            own = [rule for rule in registry.rules_of(view, method)
                   if rule.applies_to(method)]
        if all(not rule.override_defaults for rule in own):
            own += [rule for rule in registry.rules_of_blueprint(
                self.app, blueprint) if rule.applies_to(method)]
        if (all(not rule.override_defaults for rule in own)
                and not exempt & ExemptionScope.DEFAULT):
            found += [rule for rule in self._defaults
                      if rule.applies_to(method)]
        if not exempt & ExemptionScope.APPLICATION:
            found += self._path  # it may refuse, so texts count first
        if self.settings.decide == "decorator":
            # What stands below another decorator is decided when the code gets
            # there: that decorator may refuse, or find what a limit needs.
            inner = {*registry.rules_of(view, method)}.difference(
                registry.rules_of(view, method, outermost=True))
            own = [rule for rule in own if rule not in inner]
        return found + own

    # ---- Before the view ----------------------------------------------------

    def before(self) -> None:
        """Decide the current request; raise RateLimitExceeded if denied."""
        request = flask.request
        endpoint = request.endpoint
        if endpoint is None or self._registry.is_filtered():
            return
        bounds = self.bounds(endpoint, request.method)
        if bounds or self._metas:
            state = request.environ[self._state] = State()
            self._decide(state, bounds)

    def ask(self, rule: Rule, once: bool) -> None:
        """Decide another rule; with `once`, unless it was decided before."""
        state = self.state()
        if once and state is not None and (state.is_spare
                                           or rule in state.rules):
            return
        request = flask.request
        endpoint = request.endpoint
        if (endpoint is None or not rule.applies_to(request.method)
                or self._registry.is_filtered()
                or (once and self._is_exempt(endpoint, rule))):
            return
        if state is None:
            state = request.environ[self._state] = State()
        self._decide(state, [self.bind(rule, endpoint, request.method)])

    def _is_exempt(self, endpoint: str, rule: Rule) -> bool:
        """Whether `rule` is a rule of the view, and the view is exempt."""
        view = self.app.view_functions.get(endpoint)
        return (bool(self._registry.exemption_of(view)) and rule in
                self._registry.rules_of(view, flask.request.method))

    def state(self) -> State | None:
        """Return the decisions about the current request."""
        state: State | None = flask.request.environ.get(self._state)
        return state

    def _decide(self, state: State, bounds: list[Bound]) -> None:
        asked = PathCosts()
        owners: list[Owner] = []
        try:
            collect(state.rules, bounds, asked, owners)
        finally:
            # If a function refuses the request, such as a key function that
            # checks a token, the limits before it have counted it.
            self.plain.update(self.core)
            metas = self._meta_step(bounds)
            if asked.paths or metas:
                environ = flask.request.environ
                if asked.reserves and getattr(environ.get(HOLDS), "is_over",
                                              True):
                    raise RuntimeError("nobody would see when the response has "
                                       "ended: reserve before it is sent, and "
                                       "call the application as servers do")
                try:
                    denial = metas.step if metas else None
                    if denial is not None:
                        self._take(denial, state)
                    if not asked.paths:
                        return
                    decision = asked.authorize(self.core)
                except StoreError:
                    if self._spare is None:
                        raise
                    self._decide_by(self._spare, state)
                    return
                note(environ, asked, decision, self.core)
                self._take((decision, asked, owners), state, metas)

    def _meta_step(self, bounds: list[Bound]) -> MetaStep | None:
        if not self._metas and not any(bound.metas for bound in bounds):
            return None
        endpoint = str(flask.request.endpoint)
        blueprint, _, name = endpoint.rpartition(".")
        if name == "static" or (ExemptionScope.META
                                & self._registry.exemption_in(
                self.app.view_functions.get(endpoint), self.app, blueprint)):
            return None
        return MetaStep(self.core, self.plain, self._bind_metas(
            endpoint, flask.request.method), bounds)

    def _bind_metas(self, endpoint: str, method: str) -> list[Bound]:
        return [self.bind(rule, endpoint, method) for rule in self._metas]

    def _decide_by(self, spare: Spare, state: State) -> None:
        request = flask.request
        asked = PathCosts()
        owners: list[Owner] = []
        collect(state.rules, spare.bounds(
            str(request.endpoint), request.method), asked, owners)
        spare.plain.update(spare.core)
        state.is_spare = True
        self._take((asked.authorize(spare.core), asked, owners), state)

    def _take(self, step: Step, state: State,
              metas: MetaStep | None = None) -> None:
        state.steps.append(step)
        if step[0].limited:
            limits = limits_of(*step)
            if metas:
                metas.charge({limit.rule for limit in limits if limit.breached})
            self._deny(limits, step[0])

    def _deny(self, limits: list[RequestLimit], decision: Decision) -> None:
        log_denial(decision)
        breached = [limit for limit in limits if limit.breached]
        if breached and breached[0].rule.is_meta:
            breached = breached[:1]  # the first one answers for all
        # The headers are about the limit with the longest wait.
        binding = max(breached or limits, key=_wait)
        response = None
        for limit in breached:
            for breach in self._callbacks(limit.rule):
                response = self._told(breach, limit) or response
        message = binding.rule.error_message
        raise self._exceeded(decision, binding,
                             message() if callable(message) else message,
                             response)

    def _callbacks(self, rule: Rule) -> Iterable[Breach | None]:
        if rule.is_meta:
            return [rule.on_breach or self.settings.on_meta_breach]
        return dict.fromkeys((self.settings.on_breach, rule.on_breach))

    def _told(self, breach: Breach | None, limit: RequestLimit
              ) -> Response | None:
        if breach is None:
            return None
        try:
            return breach(limit)
        except Exception as error:
            if not self.settings.swallows:
                raise
            logger.exception("on_breach callback failed with error %s", error)
            return None

    # ---- After it -----------------------------------------------------------

    def after(self, response: Response) -> Response:
        """Charge deferred costs, and add the headers."""
        state = self.state()
        if state is None or not state.steps:
            return response
        for place, (decision, asked, owners) in enumerate(state.steps):
            if decision.allowed and asked.deferred:
                # The view has done its work, so a 503 would be wrong.  The
                # limiter has logged that its store fails.
                with contextlib.suppress(StoreError):
                    charged = asked.charge(self.core, response)
                    state.steps[place] = charged, asked, owners
        holds = flask.request.environ.get(HOLDS)
        if holds:
            holds.answer(response, response.is_streamed)
        settings = self.settings
        decisions = [step[0] for step in state.steps]
        for name, value in combined(decisions, settings.style, settings.reset,
                                    settings.retry_always):
            if name != "Retry-After":
                response.headers[settings.names.get(name, name)] = value
            else:
                self._retry_after(response, int(value))
        return response

    def _retry_after(self, response: Response, seconds: int) -> None:
        """Set Retry-After, unless the view says a later time."""
        now = (self.core.clock or time.time_ns)() / 1e9
        own = response.headers.get("Retry-After", "")
        if own.isdecimal():
            if len(own) > 9:  # later than any limit, and than some dates
                return
            seconds = max(seconds, int(own))
        elif own:
            date = parse_date(own)
            if date is not None:
                seconds = max(seconds, math.ceil(date.timestamp() - now))
        response.headers[self.settings.names.get("Retry-After", "Retry-After")
                         ] = (http_date(math.ceil(now + seconds))
                              if self.settings.retry_date else str(seconds))

    def note_error(self, sender: object, **_: object) -> None:
        """Note that the view has raised an error that nobody handles."""
        holds = flask.request.environ.get(HOLDS)
        if holds is not None:
            holds.failed = True

    def close(self) -> None:
        """Release the store."""
        self.core.close()

    def plain_rules_of(self, endpoint: str, method: str) -> list[PlainRule]:
        """Return the plain limits of an endpoint whose texts are known."""
        bounds = self.bounds(endpoint, method)
        found = [bound.static for one in bounds for bound in (one, *one.metas)]
        found += [bound.static for bound in self._bind_metas(endpoint, method)]
        return [rule for rule in found
                if rule is not None and COMPUTED not in rule.scope]

    def known(self) -> PlainLimits:
        """Return the plain limits, of all routes, also of those not asked."""
        for route in self.app.url_map.iter_rules():
            for method in route.methods or ():
                self.bounds(route.endpoint, method)
                self._bind_metas(route.endpoint, method)
        return self.plain

    def renew(self) -> None:
        """Forget all buckets, which are in this process.

        Raises RuntimeError for those that are not.
        """
        if self.core.is_shared:
            raise RuntimeError("buckets in a store are not forgotten all at "
                               "once: reset a caller, or empty the store")
        old = self.core
        self._renew()
        self._bounds = {}
        old.close()


class Spare:
    """The limits of ``in_memory_fallback``, for this process while the store
    fails."""

    def __init__(self, settings: Settings) -> None:
        self._rules = [Rule(text) for text in settings.fallback.texts]
        self._key: Key = settings.key
        self._identify = settings.identify
        self.plain = PlainLimits(strategy=settings.strategy)
        self.core = Core(NO_LIMITS, "memory://", levels=True,
                         clock=settings.options.get("clock"))

    def bounds(self, endpoint: str, method: str) -> list[Bound]:
        """Return the limits for a request."""
        return [Bound(rule, self.plain, self._key, endpoint, method,
                      self._identify) for rule in self._rules]


def refuse(error: StoreError) -> Response:
    """Return the 503 of an application without its own handler."""
    answer = unavailable(error)
    return Response(answer.body, answer.status, answer.headers)


def _wait(limit: RequestLimit) -> float:
    return limit.level.retry_after or 0.0


def _rules_of(group: Group, shared: str | None) -> list[Rule]:
    return [text if isinstance(text, Rule) else
            Rule(text, scope=shared, shared=shared is not None,
                 per_method=group.per_method, exempt_when=group.exempt_when,
                 deduct_when=group.deduct_when, cost=group.cost)
            for text in group.texts]
