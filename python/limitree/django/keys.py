"""Functions of a request that return segments of a path, such as its user.

Pass them without calling them: ``ratelimit("user", keys.user)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from django.http import HttpRequest

KeyFunction = Callable[..., str]
Function = TypeVar("Function", bound=Callable[..., Any])

# The settings import this module, so it cannot import them: set_address() sets
# what a key needs from them.
_address: Callable[[HttpRequest], str]


def set_address(address: Callable[[HttpRequest], str]) -> None:
    """Set how the address of a client is found; `current` does."""
    global _address
    _address = address


def needs_user(key: Function) -> Function:
    """Mark a key function that reads ``request.user``.

    In an async view the user is then loaded before the function is called,
    because the function must not wait for the database.
    """
    setattr(key, "needs_user", True)
    return key


def _of_request(key: Function) -> Function:
    """Mark a key that takes no group, unlike other functions for ``key=``."""
    setattr(key, "of_request", True)
    return key


@_of_request
def ip(request: HttpRequest, *args: object, **kwargs: object) -> str:
    """Return the address of the client in its canonical form.

    TRUSTED_HOPS or TRUSTED_PROXIES of LIMITREE set which proxies are trusted.
    IPv6 clients count by networks of IPV6_PREFIX bits.  Raises ValueError if
    the server knows no address, as behind a Unix socket that is not trusted.
    """
    return _address(request)


@_of_request
@needs_user
def user(request: HttpRequest, *args: object, **kwargs: object) -> str:
    """Return the primary key of the user; "" for all anonymous users.
    """
    found = user_of(request)
    return str(found.pk) if found.is_authenticated else ""


@_of_request
@needs_user
def user_or_ip(request: HttpRequest, *args: object, **kwargs: object) -> str:
    """Return the primary key of the user, or the address of an anonymous one.
    """
    found = user_of(request)
    return str(found.pk) if found.is_authenticated else ip(request)


def header(name: str) -> KeyFunction:
    """Return a key function: the value of a header, "" if it is missing."""
    return _value_in("headers", name)


def get(name: str) -> KeyFunction:
    """Return a key function: a parameter of the URL, "" if it is missing."""
    return _value_in("GET", name)


def post(name: str) -> KeyFunction:
    """Return a key function: a field of the form, "" if it is missing."""
    return _value_in("POST", name)


def _value_in(fields: str, name: str) -> KeyFunction:
    @_of_request
    def value(request: HttpRequest, *args: object, **kwargs: object) -> str:
        found: str = getattr(request, fields).get(name, "")
        return found
    return value


def user_of(request: HttpRequest) -> Any:
    """Return the user of `request`, without asking the database in a loop."""
    loaded = getattr(request, "_limitree_user", None)
    return request.user if loaded is None else loaded


async def load_user(request: HttpRequest) -> None:
    """Fetch the user, so that user_of can be called from an event loop."""
    from asgiref.sync import sync_to_async

    auser = getattr(request, "auser", None)  # since Django 5.0
    if auser is not None:
        request._limitree_user = await auser()  # type: ignore[attr-defined]
    else:
        await sync_to_async(lambda: request.user.is_authenticated)()
