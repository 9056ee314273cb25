"""The limiter that all views of this process share."""

from __future__ import annotations

import ipaddress
import weakref
from collections.abc import Callable, Iterable
from typing import Any, Union, cast

from django.http import HttpRequest

from limitree.aio import AsyncLimiter
from limitree.clients import ClientIp, canonical_ip
from limitree.decision import Decision, Level
from limitree.demand import Cost, Segment
from limitree.denials import log_denial
from limitree.django import conf
from limitree.django.exceptions import Ratelimited
from limitree.functions import Asking
from limitree.path_costs import PathCosts
from limitree.django.rule import (
    NOTHING,
    PATHS,
    RateText,
    Rule,
    known,
    text_of_rate,
)
from limitree.errors import LimitExceeded
from limitree.limiter import Limiter
from limitree.limits import NO_LIMITS
from limitree.plain import PlainLimits, PlainRule, text_of_name
from limitree.rate_limit import breaching, message_of
from limitree.web import check_path, options_of

#: A message and a response, each may be None.
Told = tuple[Union[str, None], Any]

#: The top-level name of the limits at views.
ROOT = "view"


class Site:
    """The limiter of the settings, and how it finds its callers.

    Raises ValueError, TypeError and OSError as Limiter and client_ip do, and
    UnknownRoot for a path of every request.
    """

    def __init__(self, found: conf.Conf) -> None:
        self.conf = found
        self._plain = PlainLimits(ROOT, found.strategy)
        self._rates: dict[tuple[str, RateText, bool],
                          tuple[PlainRule, bool]] = {}
        limits = found.limits
        self.awaited = AsyncLimiter(
            NO_LIMITS if limits is None else limits, found.store,
            clock=found.clock, levels=found.headers not in ("legacy", "none"),
            **options_of(found.options))
        # The same limiter, for threads: they share connections and deny cache.
        self.limiter: Limiter = self.awaited._limiter
        self._plain.update(self.limiter)  # the name must be free
        self.key = found.key
        self._rules = _rules_of(found) if found.enabled else []
        #: The limit of views without their own, and how it is decided for each.
        self.view_default = (Rule((), rate=found.view_default)
                             if found.enabled and found.view_default else None)
        self.view_steps: weakref.WeakKeyDictionary[Any, Any] = (
            weakref.WeakKeyDictionary())
        for path in found.paths:
            if not callable(path):
                check_path(self.limiter, path, PATHS)
        self._exempt = frozenset(found.exempt)
        self._exempt_below = tuple(one for one in found.exempt
                                   if one.endswith("/"))
        source = found.client_ip
        self._address: str | Callable[..., str] | None = None
        if isinstance(source, ClientIp):
            self._clients = source
        else:
            self._clients, self._address = conf.clients(found), source
        self._clients_by_hops: dict[int, ClientIp] = {}
        #: Whether the rules for every request depend on its user.
        self.requests_need_user = any(rule.needs_user(self)
                                      for rule in self._rules)

    def put_rate(self, ask: PathCosts, scope: str, rate: RateText, key: Any,
                 cost: Cost, varies: bool = False) -> None:
        """Add the limits of `rate`, counted by `scope`, to `ask`.

        With `varies` a caller may have another rate in the next request.
        """
        plain, fits = (self._rates.get((scope, rate, varies)) or
                       self._add(scope, rate, varies))
        if not fits:
            cost = 2  # for a bucket of one token
        for tail in plain.tails:
            ask.paths.append([ROOT, scope, key, *tail])
            ask.costs.append(cost)

    def know_rates(self) -> None:
        """Add the rates of all views to the tree before the first request."""
        rules = [(rule, {rule.group or ""}) for rule in self._rules]
        for rule, groups in [*rules, *known.items()]:
            if rule.rate is not None and not callable(rule.rate):
                for group in groups:
                    if ".<locals>.dummy" not in group:  # of method_decorator
                        self._add(rule.scope_of(group), rule.rate)

    def know_rate(self, scope: str, name: str, varies: bool = False) -> None:
        """The same for one rate, by its name in the tree."""
        self._add(scope, text_of_name(name), varies)

    def _add(self, scope: str, rate: RateText, varies: bool = False
             ) -> tuple[PlainRule, bool]:
        text = text_of_rate(rate)
        text, zeros = NOTHING.subn("1/", text)
        plain, fits = self._plain.rule(text, scope, varies), not zeros
        self._plain.update(self.limiter)
        # Only after the update: a path that the tree does not know has no
        # limits.
        self._rates[scope, rate, varies] = plain, fits
        return plain, fits

    def is_exempt(self, request: HttpRequest) -> bool:
        """Whether the settings leave a URL alone."""
        url = request.path_info
        return url in self._exempt or url.startswith(self._exempt_below)

    def ask_of(self, request: HttpRequest) -> PathCosts | None:
        """Return the paths of every request, or None."""
        if not self._rules or self.is_exempt(request):
            return None
        ask = PathCosts()
        try:
            for rule in self._rules:
                rule.put(ask, self, rule.group or "", request, (), {})
                ask.defer(0, None, rule.reserve)
        except Exception as error:
            ask.refuse(error)
        return ask if ask.paths else None

    def levels_of(self, key: Segment) -> list[Level]:
        """Return what is left of a caller's rates; charges nothing."""
        self.know_rates()
        return self._plain.levels_of(self.limiter, key)

    def paths_of(self, key: Segment, group: str | None = None
                 ) -> list[tuple[Segment, ...]]:
        """Return the paths to the buckets of a caller's rates: of all, or of a
        group."""
        self.know_rates()
        return [path for path in self._plain.paths_of(key) if group is None
                or str(path[1]).partition("@")[0] == group]

    def reset(self, key: Segment) -> None:
        """Forget what a caller has used of rates."""
        self.know_rates()
        self._plain.reset(self.limiter, key)

    def breached(self, rules: Iterable[Any], request: HttpRequest,
                 decision: Decision) -> Asking:
        """Call on_breach of the settings and of `rules`, which deny."""
        log_denial(decision)
        rules = list(rules)
        response = yield from breaching(
            [self.conf.on_breach, *(rule.on_breach for rule in rules)], request,
            decision)
        return message_of(rules), response

    def client_ip(self, request: HttpRequest, hops: int | None = None) -> str:
        """Return the address of the client in its canonical form.

        Trusts `hops` proxies, or those of the settings if it is None.  Raises
        ValueError if there is no address, ClientGone if the client is gone.
        """
        found, prefix = self._client_ip(request, hops), self.conf.ipv4_prefix
        if prefix == 32 or ":" in found:
            return found
        network = ipaddress.IPv4Network((found, prefix), strict=False)
        return str(network.network_address)

    def _client_ip(self, request: HttpRequest, hops: int | None) -> str:
        source = self._address
        if hops is not None or source is None:
            clients = self._clients if hops is None else self._by_hops(hops)
            meta = request.META
            if not meta.get("REMOTE_ADDR") and hasattr(request, "scope"):
                return clients.of_scope(request.scope)  # it says why
            return clients.of_environ(meta)
        found = (source(request) if callable(source)
                 else request.META.get(source, ""))
        return canonical_ip(found, self.conf.ipv6_prefix)

    def _by_hops(self, hops: int) -> ClientIp:
        found = self._clients_by_hops.get(hops)
        if found is None:
            found = conf.clients(self.conf, hops)
            self._clients_by_hops[hops] = found
        return found

    def exception(self, denial: Decision, told: Told = (None, None)
                  ) -> Exception:
        """Return the exception of a view that does not run.

        `told` is the message of the limit, and a response of on_breach.
        """
        kind = self.conf.exception_class
        if kind is None:
            return Ratelimited(denial, *told)
        if isinstance(kind, type) and issubclass(kind, LimitExceeded):
            return kind(denial)
        error = cast("Exception", kind())
        error.decision = denial  # type: ignore[attr-defined]
        return error


def _rules_of(found: conf.Conf) -> list[Rule]:
    """Return the rules of every request.

    DEFAULT comes first, so that it counts requests that a function of PATHS
    refuses.
    """
    rules = [] if found.default is None else [
        Rule((), group="default", rate=found.default)]
    return rules + [Rule(path, reserve=found.reserve) for path in found.paths]
