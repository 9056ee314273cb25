"""The settings: LIMITREE, and django-ratelimit's for what LIMITREE lacks."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, get_args

from django.conf import settings
from django.utils.module_loading import import_string

from limitree._native import check_options
from limitree.clients import ClientIp, client_ip
from limitree.django import keys
from limitree.django.rule import PathOf, check_path, check_rate, key_function
from limitree.errors import ConfigError
from limitree.headers import Reset, RetryAfter, Style
from limitree.limits import Limits
from limitree.plain import algorithm_of
from limitree.response_holds import reserve_of
from limitree.wait import Clock
from limitree.web import did_you_mean


class Mistake(NamedTuple):
    """A mistake in a setting; `id` is the id of the system check."""

    id: str
    text: str


# ---- Values -----------------------------------------------------------------


def _limits(value: object) -> object:
    if value is not None and not isinstance(
            value, (str, os.PathLike, Mapping, list, tuple)):
        raise TypeError("must be a path, YAML text or a dict, is "
                        f"{type(value).__name__}")
    return value


def _store(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"must be a URL, is {type(value).__name__}")
    if value.startswith("cache://"):
        return _store_of_cache(value.removeprefix("cache://"))
    return value


def _store_of_cache(alias: str) -> str:
    """Return the URL of the server of CACHES[alias], or of its servers."""
    caches = settings.CACHES
    if alias not in caches:
        raise LookupError(f"names the cache {alias!r}, but CACHES has "
                          f"{', '.join(map(repr, sorted(caches)))}")
    cache = caches[alias]
    if cache.get("BACKEND", "").endswith(("LocMemCache", "DummyCache")):
        return "memory://"
    location = cache.get("LOCATION", "")
    if isinstance(location, str):
        location = location.replace(";", ",").split(",")
    servers = [str(one).strip() for one in location]
    first = servers[0] if servers else ""
    # Django writes to the first server, and reads from the others.
    if first.startswith("unix://"):
        first = f"redis+{first}"
    if ".memcached." in cache.get("BACKEND", ""):
        first = ("memcached+unix://" + first.partition(":")[2]
                 if first.startswith("unix:") and len(servers) == 1
                 else "memcached://" + ",".join(servers))
    elif not first.startswith(("redis", "valkey")):
        raise ValueError(f"names the cache {alias!r}, which is not on a Redis "
                         "or memcached: write the URL of one")
    if cache.get("OPTIONS"):
        raise ValueError(f"names the cache {alias!r}, whose OPTIONS are not "
                         "known here: write its URL")
    return first


def _clock(value: object) -> object:
    found = _imported(value)
    if found is not None and not callable(found):
        raise TypeError("must be a function that returns nanoseconds")
    return found


def _kind(kind: type, what: str) -> Callable[[object], object]:
    def read(value: object) -> object:
        if not isinstance(value, kind):
            raise TypeError(f"must be {what}, is {value!r}")
        return value
    return read


def _default(value: object) -> object:
    return None if value is None else check_rate(value)


def _strategy(value: Any) -> object:
    algorithm_of(value)
    return value


def _paths(value: object) -> tuple[object, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError("must be a list of paths, such as "
                        '[("ip", keys.ip)]')
    return tuple(check_path(_imported(path) if isinstance(path, str)
                            and "." in path else path) for path in value)


def _reserve(value: object) -> bool | float:
    try:
        return reserve_of(value)
    except (TypeError, ValueError) as error:
        raise type(error)(str(error).removeprefix("reserve ")) from None


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"must be a list of texts, is {type(value).__name__}")
    for one in value:
        if not isinstance(one, str):
            raise TypeError(f"must hold texts only, has {one!r}")
    return tuple(value)


def _client_ip(value: object) -> object:
    """A function, its dotted path, or a key of request.META."""
    if isinstance(value, str) and "." not in value:
        return value
    return _function(value)


def _number(lowest: int, highest: int) -> Callable[[object], int]:
    def read(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"must be a whole number, is {value!r}")
        if not lowest <= value <= highest:
            raise ValueError(f"must be from {lowest} to {highest}, is {value}")
        return value
    return read


def _one_of(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise ValueError(f"must be one of {', '.join(words)}, is {value!r}")
        return value
    return read


def _function(value: object) -> object:
    found = _imported(value)
    if found is not None and not callable(found):
        raise TypeError(f"must be a function or where it lies, is {value!r}")
    return found


def _imported(value: object) -> object:
    return import_string(value) if isinstance(value, str) else value


# ---- The settings -----------------------------------------------------------


def _setting(read: Callable[[Any], object], default: object = None) -> Any:
    """Return a field: the default of a setting, and what reads its value."""
    return field(default=default, metadata={"read": read})


@dataclass(frozen=True)
class Conf:
    """The values of the settings."""

    #: The tree, or None if all limits are at the views.
    limits: Limits | None = _setting(_limits)
    store: str = _setting(_store, "memory://")
    clock: Clock | None = _setting(_clock)
    enabled: bool = _setting(_kind(bool, "True or False"), True)
    #: The key for views with a rate but without a key.
    key: Callable[..., Any] = _setting(key_function, keys.ip)
    #: A rate for every request, by `key`.
    default: str | None = _setting(_default)
    #: A rate for each view that has no limits of its own, by `key`.
    view_default: str | None = _setting(_default)
    #: The algorithm of rates that name none.
    strategy: str | None = _setting(_strategy)
    #: Paths of the tree for every request.
    paths: tuple[PathOf, ...] = _setting(_paths, ())
    #: Whether `paths` are reserved, or for how long.
    reserve: bool | float = _setting(_reserve, False)
    #: URL paths without the limits of `default`, `view_default` and `paths`.
    exempt: tuple[str, ...] = _setting(_texts, ())
    #: Returns the client's address, or is its key in request.META.
    client_ip: ClientIp | str | Callable[..., str] | None = _setting(_client_ip)
    trusted_hops: int | None = _setting(_number(0, 100))
    trusted_proxies: tuple[str, ...] | None = _setting(_texts)
    #: The header in which proxies name the client.
    proxy_header: str = _setting(_kind(str, "a text"), "x-forwarded-for")
    ipv4_prefix: int = _setting(_number(1, 32), 32)
    ipv6_prefix: int = _setting(_number(1, 128), 64)
    headers: Style = _setting(_one_of(*get_args(Style)), "ietf")
    headers_reset: Reset = _setting(_one_of(*get_args(Reset)), "delta")
    retry_after: RetryAfter = _setting(_one_of(*get_args(RetryAfter)),
                                       "delta-seconds")
    #: Makes the response from a denied request and the exception.
    view: Callable[..., Any] | None = _setting(_function)
    #: Called for each denial, with the request and the Decision; may return
    #: the response.
    on_breach: Callable[..., Any] | None = _setting(_function)
    #: Raised instead of Ratelimited.
    exception_class: Callable[..., Any] | None = _setting(_function)
    #: Other options of the limiter, by the names of docs/configuration.md.
    options: Mapping[str, Any] = field(default_factory=dict)


#: What reads the value of each setting.
_READ: dict[str, Callable[[object], object]] = {
    one.name.upper(): one.metadata["read"]
    for one in fields(Conf) if one.metadata}

#: The options for which a number is seconds.
_DURATIONS = ("TIMEOUT", "CONNECT_TIMEOUT")

#: The settings of django-ratelimit, and their replacements.
_FALLBACKS = {
    "RATELIMIT_ENABLE": "ENABLED",
    "RATELIMIT_USE_CACHE": "STORE",
    "RATELIMIT_CACHE_PREFIX": "PREFIX",
    "RATELIMIT_VIEW": "VIEW",
    "RATELIMIT_FAIL_OPEN": "ON_STORE_ERROR",
    "RATELIMIT_IP_META_KEY": "CLIENT_IP",
    "RATELIMIT_IPV4_MASK": "IPV4_PREFIX",
    "RATELIMIT_IPV6_MASK": "IPV6_PREFIX",
    "RATELIMIT_EXCEPTION_CLASS": "EXCEPTION_CLASS",
}
#: Settings without effect.
_IGNORED = ("RATELIMIT_HASH_ALGORITHM",)


def read() -> tuple[Conf, list[Mistake]]:
    """Return the values of the settings, and every mistake in them.

    A setting with a mistake gets its default value.  The limits and the options
    of the limiter are not checked here.
    """
    found = getattr(settings, "LIMITREE", None)
    if found is None:
        found = {}
    if not isinstance(found, Mapping):
        wrong = f"LIMITREE must be a dict, is {type(found).__name__}"
        return Conf(), [Mistake("limitree.E002", wrong)]
    raw = {**_of_django_ratelimit(), **found}
    values: dict[str, Any] = {}
    options: dict[str, object] = {}
    mistakes: list[Mistake] = []
    for name, value in raw.items():
        if name not in _READ:
            mistakes.extend(_wrong_with_option(name, value))
            options[str(name).lower()] = value
            continue
        try:
            values[name.lower()] = _READ[name](value)
        except (TypeError, ValueError, ImportError, LookupError) as error:
            # str() of a KeyError would put its text in quotes.
            reason = error.args[0] if error.args else error
            mistakes.append(Mistake("limitree.E002",
                                    f"LIMITREE[{name!r}] {reason}"))
    conf = Conf(**values, options=options)
    try:
        clients(conf)
    except ConfigError as error:
        mistakes.append(Mistake("limitree.E002", f"LIMITREE: {error}"))
    return conf, mistakes


def clients(conf: Conf, hops: int | None = None) -> ClientIp:
    """Return a function that finds the client of a request.

    With `hops`, trusts that many proxies, whatever `conf` says.  Raises
    ConfigError.
    """
    trusted = conf.trusted_proxies or ()
    if hops is not None:
        trusted = ()
    return client_ip(
        trusted_hops=(conf.trusted_hops or 0) if hops is None else hops,
        trusted_proxies=trusted, header=conf.proxy_header,
        ipv6_prefix=conf.ipv6_prefix)


def ignored() -> Iterator[tuple[str, str]]:
    """Yield the names of settings that have no effect, and what to do.

    A project may have its own settings with our prefixes.  This leaves out
    names that are not similar to one of ours, and names that LIMITREE has, too.
    """
    found = getattr(settings, "LIMITREE", None) or {}
    for name in dir(settings):
        owner, _, rest = name.partition("_")
        if name in _IGNORED:
            yield name, ""
        elif owner == "RATELIMIT" and name not in _FALLBACKS:
            for one in _similar(name, _FALLBACKS):
                yield name, f": did you mean {one}?"
        elif owner == "LIMITREE" and rest and rest not in found:
            for one in (_similar(rest, _READ) if _is_unknown(rest)
                        else [rest]):
                yield name, f": write LIMITREE[{one!r}]"


def _similar(name: str, known: Iterable[str]) -> list[str]:
    # The prefix of most names counts as similar, too.
    return difflib.get_close_matches(name, list(known), 1, 0.9)


def _of_django_ratelimit() -> dict[str, object]:
    found = {}
    for name, ours in _FALLBACKS.items():
        if hasattr(settings, name):
            found[ours] = getattr(settings, name)
    if "STORE" in found:
        found["STORE"] = f"cache://{found['STORE']}"
    if "ON_STORE_ERROR" in found:
        found["ON_STORE_ERROR"] = ("allow" if found["ON_STORE_ERROR"]
                                   else "deny")
    return found


def _wrong_with_option(name: object, value: object) -> Iterator[Mistake]:
    """Yield a mistake unless `name` is an option of the limiter."""
    if not isinstance(name, str) or not name.isupper():
        yield Mistake("limitree.E002",
                      f"LIMITREE has the key {name!r}, but keys are capitals")
    elif _is_unknown(name):
        yield Mistake("limitree.E002", f"LIMITREE has no setting {name!r}"
                      + did_you_mean(name, [*_READ, *_options_like(name)]))
    elif (name in _DURATIONS and isinstance(value, str)
          and re.fullmatch(r"\s*[\d.]+\s*", value)):
        yield Mistake("limitree.E002",
                      f"LIMITREE[{name!r}] is {value!r}, a text without a unit:"
                      " write a number of seconds, or a text such as '50ms'")


def _is_unknown(name: str) -> bool:
    return name not in _READ and bool(_complaint(name))


def _options_like(name: str) -> list[str]:
    """Return the option that the core takes `name` for, if there is one."""
    return [found.upper() for found in
            re.findall('did you mean "([a-z_]+)"', _complaint(name))]


def _complaint(name: str) -> str:
    """Return what the core says about the name of an option, if it is wrong."""
    try:
        check_options({name.lower(): "on"})
    except ConfigError:  # it is an option, with other values
        pass
    except TypeError as error:
        return str(error)
    return ""
