"""The Site of the current settings."""

from __future__ import annotations

import threading

from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.http import HttpRequest

from limitree import limiter as limiters
from limitree.aio import AsyncLimiter
from limitree.decision import Level
from limitree.demand import Segment
from limitree.django import conf, keys
from limitree.django.site import Site
from limitree.errors import ConfigError, StoreError
from limitree.limiter import Limiter

_site: Site | None = None
_made_by_clock: object = None
_lock = threading.Lock()


def current() -> Site:
    """Return the Site of the current settings.

    Raises ImproperlyConfigured with every mistake in them, and if the file of
    shm:// cannot be used.
    """
    site = _site
    # The fixture limitree_clock changes the clock under an old site.
    if site is None or _made_by_clock is not limiters.default_clock:
        return _make()
    return site


def _make() -> Site:
    global _site, _made_by_clock
    with _lock:
        clock = limiters.default_clock
        if _site is not None and _made_by_clock is clock:
            return _site
        found, mistakes = conf.read()
        texts = [one.text for one in mistakes]
        if not texts:
            try:
                _site, _made_by_clock = Site(found), clock
                return _site
            except ConfigError as error:
                texts = list(error.messages)
            except (OSError, StoreError, TypeError, ValueError) as error:
                texts = [str(error)]
        raise ImproperlyConfigured("\n".join(texts))


def _address(request: HttpRequest) -> str:
    return current().client_ip(request)


keys.set_address(_address)


def forget_if_changed(*, setting: str, **others: object) -> None:
    """Make a new limiter with the next request; for override_settings."""
    global _site
    if setting in ("LIMITREE", "CACHES") or setting.startswith("RATELIMIT_"):
        with _lock:
            _site = None


# Not in the entry of INSTALLED_APPS, because throttles work without it.
setting_changed.connect(forget_if_changed, dispatch_uid="limitree.django")


def limiter() -> Limiter:
    """Return the limiter of the settings, for views and other threads."""
    return current().limiter


def async_limiter() -> AsyncLimiter:
    """Return the same limiter for async code."""
    return current().awaited


def levels_of(key: Segment) -> list[Level]:
    """Return what is left of the rates of a caller; charges nothing."""
    return current().levels_of(key)


def reset(key: Segment) -> None:
    """Forget what a caller has used of rates."""
    current().reset(key)
