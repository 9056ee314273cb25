"""The settings in ``app.config``: LIMITREE_*, and RATELIMIT_* of Flask-Limiter
with the same meaning.

Arguments of ``Limiter(...)`` take precedence, then LIMITREE_*, then
RATELIMIT_*.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast, get_args

from flask import request

from limitree.clients import client_ip
from limitree.errors import ConfigError
from limitree.flask.rules import (
    Breach,
    CostOf,
    DeductWhen,
    Key,
    PathsOf,
    Rule,
    TextOf,
)
from limitree.headers import Reset, Style, is_date
from limitree.limits import Limits, of_redis_py
from limitree.plain import algorithm_of
from limitree.response_holds import reserve_of
from limitree.web import did_you_mean, options_of

When = Callable[[], bool]

#: When limits are decided.
_DECIDE = ("before_request", "view", "decorator")
_CHARGE = ("all_or_nothing", "independent")

_OURS, _THEIRS = "LIMITREE_", "RATELIMIT_"
#: The store in old versions of Flask-Limiter.
_OLD_STORE = "RATELIMIT_STORAGE_URL"
_peer = client_ip()


def get_remote_address() -> str:
    """Return the address of the peer, in its canonical text.

    IPv6 clients are distinguished by the first 64 bits.  Headers of proxies are
    ignored; LIMITREE_TRUSTED_PROXIES is for that.  Raises ValueError if the
    server knows no address, as on a Unix socket.
    """
    return _peer.of_environ(request.environ)


@dataclass(frozen=True)
class Group:
    """Limits without a decorator: default or application-wide."""

    texts: tuple[TextOf, ...] = ()
    per_method: bool = False
    exempt_when: When | None = None
    deduct_when: DeductWhen | None = None
    cost: CostOf = 1


@dataclass(frozen=True)
class Settings:
    """The settings of one application."""

    enabled: bool
    limits: Limits | None
    path: PathsOf | None
    store: str
    options: Mapping[str, Any]
    key: Key
    default: Group
    application: Group
    strategy: str | None  # of plain limits that name no algorithm
    retry_date: bool  # Retry-After is a date, not seconds
    style: Style
    reset: Reset
    names: Mapping[str, str] = field(default_factory=dict)  # of headers
    on_breach: Breach | None = None
    decide: str = "before_request"
    reserve: bool | float = False  # for `path`
    charge: str = "all_or_nothing"  # of plain limits
    identify: Callable[[], str] | None = None  # in place of the endpoint
    fallback: Group = field(default_factory=Group)  # while the store fails
    swallows: bool = False  # errors of on_breach are only logged
    retry_always: bool = False  # Retry-After in every response
    meta: tuple[TextOf, ...] = ()  # limits of denials
    on_meta_breach: Breach | None = None
    empty_exempts: bool = False  # a function may return "" for no limit


class Reader:
    """Looks up settings in all their sources."""

    def __init__(self, given: Mapping[str, object], config: Mapping[str, Any],
                 usual: Mapping[str, object]) -> None:
        self._given = given
        self._config = config
        self._usual = usual  # in place of the defaults here
        self._known: set[str] = set()  # the settings that get() looks for

    def get(self, given: str, *names: str, default: Any = None) -> Any:
        """Return the argument of this name, or a setting in `names`."""
        self._known.update(names)
        value = self._given.get(given)
        if value is not None:
            return value
        for name in names:
            if self._config.get(name) is not None:
                return self._config[name]
        return self._usual.get(given, default)

    def function(self, given: str, *names: str) -> Any:
        """The same for a function, which is called in requests."""
        found = self.get(given, *names)
        if found is None or callable(found):
            return found
        raise ConfigError(f"{given} must be a function, is {found!r}")

    def read(self) -> Settings:
        """Return the settings.

        Raises ConfigError for wrong values and unknown settings.
        """
        found = self._read()
        self._refuse_unknown()
        return found

    def _refuse_unknown(self) -> None:
        """Raise ConfigError for unknown LIMITREE_*, warn of RATELIMIT_*."""
        unknown = [name for name in self._config if name not in self._known]
        ours = [name for name in unknown if name.startswith(_OURS)]
        if ours:
            raise ConfigError(*(f"there is no setting {name!r}"
                                + self._did_you_mean(name, _OURS)
                                for name in sorted(ours)))
        if self._config.get(_OLD_STORE) and not self.get(
                "storage_uri", "LIMITREE_STORE", "RATELIMIT_STORAGE_URI"):
            raise ConfigError(
                f"{_OLD_STORE!r} is not read, so buckets would be in the "
                "memory of each process: call it LIMITREE_STORE or "
                "RATELIMIT_STORAGE_URI")
        for name in unknown:
            if name.startswith(_THEIRS):
                warnings.warn(f"the setting {name!r} has no effect on limitree"
                              + self._did_you_mean(name, _THEIRS))

    def _did_you_mean(self, name: str, prefix: str) -> str:
        known = [one for one in self._known if one.startswith(prefix)]
        return did_you_mean(name, known, prefix)

    def _read(self) -> Settings:
        get = self.get
        style, reset = self._headers()
        decide = get("decide", "LIMITREE_DECIDE", default="before_request")
        if decide not in _DECIDE:
            raise ConfigError(f"LIMITREE_DECIDE must be {', '.join(_DECIDE)}, "
                              f"is {decide!r}")
        return Settings(
            enabled=bool(get("enabled", "LIMITREE_ENABLED",
                             "RATELIMIT_ENABLED", default=True)),
            limits=get("limits", "LIMITREE_LIMITS"),
            path=get("path", "LIMITREE_PATH"),
            store=get("storage_uri", "LIMITREE_STORE",
                      "RATELIMIT_STORAGE_URI", default="memory://"),
            options=self._options(), key=self._key(),
            default=self._group("default_limits", "DEFAULT", "DEFAULTS"),
            application=self._group("application_limits", "APPLICATION",
                                    "APPLICATION"),
            strategy=self._strategy(),
            retry_date=self._retry_date(),
            style=style, reset=reset, names=self._names(),
            on_breach=self.function("on_breach", "LIMITREE_ON_BREACH",
                                    "RATELIMIT_ON_BREACH_CALLBACK"),
            decide=decide, reserve=self._reserve(), charge=self._charge(),
            identify=self.function(
                "request_identifier", "LIMITREE_REQUEST_IDENTIFIER",
                "RATELIMIT_REQUEST_IDENTIFIER"),
            fallback=Group(self._fallback()),
            swallows=bool(get("swallow_errors", "RATELIMIT_SWALLOW_ERRORS")),
            retry_always=bool(get("retry_always")),
            meta=_texts(get("meta_limits", "LIMITREE_META", "RATELIMIT_META",
                            default=()), "meta_limits"),
            on_meta_breach=get("on_meta_breach", "LIMITREE_ON_META_BREACH",
                               "RATELIMIT_ON_META_BREACH_CALLBACK"),
            empty_exempts=bool(get("empty_exempts")))

    def _fallback(self) -> tuple[TextOf, ...]:
        return _texts(self.get(
            "in_memory_fallback", "LIMITREE_IN_MEMORY_FALLBACK",
            "RATELIMIT_IN_MEMORY_FALLBACK", default=()), "in_memory_fallback")

    def _charge(self) -> str:
        charge = self.get("charge", "LIMITREE_CHARGE")
        goes_on = self.get("fail_on_first_breach",
                           "RATELIMIT_FAIL_ON_FIRST_BREACH") is False
        if charge is None:
            return "independent" if goes_on else "all_or_nothing"
        if charge not in _CHARGE:
            raise ConfigError(f"LIMITREE_CHARGE must be {' or '.join(_CHARGE)},"
                              f" is {charge!r}")
        return str(charge)

    def _reserve(self) -> bool | float:
        found = self.get("reserve", "LIMITREE_RESERVE", default=False)
        try:
            return reserve_of(found)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"LIMITREE_RESERVE: {error}") from None

    def _retry_date(self) -> bool:
        found = self.get("retry_after", "LIMITREE_RETRY_AFTER",
                         "RATELIMIT_HEADER_RETRY_AFTER_VALUE",
                         default="delta-seconds")
        return is_date(found, "LIMITREE_RETRY_AFTER")

    def _strategy(self) -> str | None:
        strategy: Any = self.get("strategy", "LIMITREE_STRATEGY",
                                 "RATELIMIT_STRATEGY")
        try:
            algorithm_of(strategy)
        except (ConfigError, TypeError) as error:
            raise ConfigError(str(error)) from None
        return cast("str | None", strategy)

    def _options(self) -> dict[str, Any]:
        options = of_redis_py(dict(
            self.get("storage_options", "LIMITREE_OPTIONS",
                     "RATELIMIT_STORAGE_OPTIONS", default={})))
        on_error = self.get("on_store_error", "LIMITREE_ON_STORE_ERROR")
        falls_back = self.get("in_memory_fallback_enabled",
                              "RATELIMIT_IN_MEMORY_FALLBACK_ENABLED")
        swallows = self.get("swallow_errors", "RATELIMIT_SWALLOW_ERRORS")
        if on_error is None and self._fallback():
            on_error = "raise"  # so that the other limits are asked
        if on_error is None and falls_back:
            on_error = "local"
        if on_error is None and swallows:
            on_error = "allow"
        if on_error is not None:
            options.setdefault("on_store_error", on_error)
        prefix = self.get("key_prefix", "LIMITREE_PREFIX",
                          "RATELIMIT_KEY_PREFIX")
        if prefix:
            options.setdefault("prefix", prefix)
        return options_of(options)

    def _key(self) -> Key:
        key = self.get("key_func", "LIMITREE_KEY_FUNC", "RATELIMIT_KEY_FUNC")
        hops = self.get("", "LIMITREE_TRUSTED_HOPS", default=0)
        proxies = self.get("", "LIMITREE_TRUSTED_PROXIES", default=())
        if key is not None:
            return cast(Key, key)
        if not hops and not proxies:
            return get_remote_address
        client = client_ip(trusted_hops=hops, trusted_proxies=proxies)

        def key_of_request() -> str:  # `flask limitree config` shows its name
            return client.of_environ(request.environ)
        return key_of_request

    def _group(self, given: str, texts: str, rest: str) -> Group:
        found = self.get(given, f"LIMITREE_{texts}", f"RATELIMIT_{texts}",
                         default=())

        def names(name: str) -> tuple[str, str, str]:
            return (f"{given}_{name.lower()}", f"LIMITREE_{rest}_{name}",
                    f"RATELIMIT_{rest}_{name}")
        return Group(_texts(found, given), bool(self.get(*names("PER_METHOD"))),
                     self.function(*names("EXEMPT_WHEN")),
                     self.function(*names("DEDUCT_WHEN")),
                     self.get(*names("COST"), default=1))

    def _headers(self) -> tuple[Style, Reset]:
        style = self.get("headers", "LIMITREE_HEADERS")
        reset = self.get("", "LIMITREE_HEADERS_RESET")
        enabled = self.get("headers_enabled", "RATELIMIT_HEADERS_ENABLED")
        if style is None:
            if enabled is None:
                style = "ietf"
            else:  # as Flask-Limiter sends them
                style = "legacy" if enabled else "none"
                reset = reset or "epoch"
        reset = reset or "delta"
        if style not in get_args(Style) or reset not in get_args(Reset):
            raise ConfigError(
                f"there are no headers {style!r} with reset {reset!r}: "
                f"LIMITREE_HEADERS is one of {', '.join(get_args(Style))}, "
                f"LIMITREE_HEADERS_RESET of {', '.join(get_args(Reset))}")
        return cast(Style, style), cast(Reset, reset)

    def _names(self) -> dict[str, str]:
        names = {}
        mapping = {getattr(what, "name", what): name for what, name in self.get(
            "header_name_mapping", default={}).items()}
        for what, usual in (("LIMIT", "X-RateLimit-Limit"),
                            ("REMAINING", "X-RateLimit-Remaining"),
                            ("RESET", "X-RateLimit-Reset"),
                            ("RETRY_AFTER", "Retry-After")):
            name = self.get("", f"RATELIMIT_HEADER_{what}")
            if mapping.get(what) or name:
                names[usual] = mapping.get(what) or name
        return names


def _texts(found: Any, given: str) -> tuple[TextOf, ...]:
    if isinstance(found, (str, Rule)) or callable(found):
        return (cast("TextOf", found),)
    if not isinstance(found, Iterable):
        raise ConfigError(f"{given} must be a list of limits, is {found!r}")
    texts = tuple(found)
    if None in texts:
        raise ConfigError(f"{given} must be a list of limits, has None")
    return texts
