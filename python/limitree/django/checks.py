"""The checks of the settings in `manage.py check`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning
from django.urls import URLResolver, get_resolver

from limitree._native import check_options
from limitree.django import conf
from limitree.django.conf import Conf, Mistake
from limitree.django.rule import PATHS, Rule, known
from limitree.django.site import ROOT
from limitree.errors import ConfigError
from limitree.limiter import Limiter
from limitree.limits import NO_LIMITS, text_of_options
from limitree.web import check_path

_MIDDLEWARE = ("limitree.django.LimitreeMiddleware",
               "limitree.django.middleware.LimitreeMiddleware")
_AUTHENTICATION = "django.contrib.auth.middleware.AuthenticationMiddleware"
_CACHE = "django.middleware.cache.UpdateCacheMiddleware"


def check_limitree(**others: Any) -> list[CheckMessage]:
    """Return errors and warnings about the settings."""
    found, mistakes = conf.read()
    errors = [Error(one.text, id=one.id)
              for one in (*mistakes, *_limiter(found))]
    return [*errors, *_middleware(found), *_looks_wrong(found)]


def _limiter(found: Conf) -> Iterator[Mistake]:
    """Yield errors of the limiter: limits, store, options, paths."""
    limits = NO_LIMITS if found.limits is None else found.limits
    try:
        limiter = Limiter(limits)
        limiter.put(ROOT, {})
    except ConfigError as error:
        for text in error.messages:
            yield Mistake("limitree.E001", text)
        return
    except (OSError, TypeError) as error:
        yield Mistake("limitree.E001", f"LIMITREE['LIMITS']: {error}")
        return
    try:
        # Without a limiter: the user who runs this would otherwise own the file
        # of shm://.
        check_options(text_of_options({"store": found.store, **found.options}))
    except (ConfigError, TypeError) as error:
        yield Mistake("limitree.E003", f"LIMITREE: {error}")
    with limiter:
        for rule, where in _rules(found):
            if rule.rate is None and not callable(rule.path):
                try:
                    check_path(limiter, rule.path, where)
                except ValueError as error:
                    yield Mistake("limitree.E004", str(error))


def _rules(found: Conf) -> Iterator[tuple[Rule, str]]:
    for path in found.paths:
        yield Rule(path), PATHS
    import_views()
    for rule, groups in list(known.items()):
        for group in sorted(groups):
            # method_decorator first applies its decorators to a dummy function.
            yield rule, ("a class" if ".<locals>.dummy" in group else group)


def import_views() -> None:
    """Import all views, which runs their decorators."""
    for _ in views():
        pass


def views(resolver: URLResolver | None = None, prefix: str = ""
          ) -> Iterator[tuple[str, Any]]:
    """Yield the URL and the function of all views."""
    for pattern in (resolver or get_resolver()).url_patterns:
        url = f"{prefix}{pattern.pattern}"
        if isinstance(pattern, URLResolver):
            yield from views(pattern, url)
        else:
            yield f"/{url}", pattern.callback


def _middleware(found: Conf) -> Iterator[CheckMessage]:
    names = list(settings.MIDDLEWARE)
    places = [place for place, name in enumerate(names)
              if name in _MIDDLEWARE]
    if len(places) > 1:
        yield Error("LimitreeMiddleware is in MIDDLEWARE twice",
                    hint="Every request would be charged twice.",
                    id="limitree.E005")
    if not places:
        if found.default or found.view_default or found.paths:
            yield Error("LIMITREE has limits for every request, but "
                        "LimitreeMiddleware is not in MIDDLEWARE",
                        id="limitree.E005")
        elif known:
            yield Warning("views have limits, but LimitreeMiddleware is not in "
                          "MIDDLEWARE",
                          hint="They answer with 403 instead of 429, and "
                          "without headers.", id="limitree.W002")
    elif _asks_for_user(found) and not _sets_user(names[:places[0]]):
        yield Error("LimitreeMiddleware asks for request.user before "
                    "AuthenticationMiddleware has set it",
                    hint=f"Put it behind {_AUTHENTICATION!r}.",
                    id="limitree.E006")
    if places and _CACHE in names[:places[0]]:
        yield Warning("UpdateCacheMiddleware keeps the headers of one caller "
                      "for all others",
                      hint="Put LimitreeMiddleware before it.",
                      id="limitree.W005")


def _sets_user(names: list[str]) -> bool:
    """Whether one of these middlewares sets the user."""
    return any("auth" in name.lower() for name in names)


def _asks_for_user(found: Conf) -> bool:
    parts: list[object] = [found.key] if found.default is not None else []
    for path in found.paths:
        parts.extend([path] if callable(path) else path)
    return any(getattr(part, "needs_user", False) for part in parts)


def _looks_wrong(found: Conf) -> Iterator[CheckMessage]:
    if found.store == "memory://" and found.enabled and not settings.DEBUG:
        yield Warning("LIMITREE['STORE'] is this process's memory",
                      hint="With several workers each of them admits the whole "
                      "limit; with shm://myapp they share it.",
                      id="limitree.W001")
    behind_proxy = (settings.USE_X_FORWARDED_HOST
                    or settings.SECURE_PROXY_SSL_HEADER)
    if behind_proxy and (found.trusted_hops, found.trusted_proxies,
                         found.client_ip) == (None, None, None):
        yield Warning("there is a proxy in front, but LIMITREE trusts none",
                      hint="All clients have the proxy's address: set "
                      "'TRUSTED_HOPS' or 'TRUSTED_PROXIES'.",
                      id="limitree.W003")
    for name, hint in conf.ignored():
        yield Warning(f"{name} has no effect on limitree{hint}",
                      id="limitree.W004")
