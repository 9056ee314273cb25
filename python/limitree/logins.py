"""Passwords that are guessed: failed logins are counted, and success forgives.

    logins = Logins(limiter, secret=SECRET)

    attempt = logins.attempt(account, address, device=cookie)
    if attempt.decision.limited: ...      # 429, without a look at the password
    if is_right(account, password):
        cookie = attempt.succeed()        # the browser keeps it

docs/logins.md says why nobody can lock the owner of an account out.
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import secrets
from collections.abc import Sequence
from typing import Any

from limitree.aio import AsyncLimiter
from limitree.decision import Decision
from limitree.errors import StoreError
from limitree.functions import Asking, run, run_awaited
from limitree.limiter import Limiter
from limitree.path_costs import in_utf8

#: What each may fail, unless Logins is told otherwise.
PAIR, ACCOUNT, ADDRESS, DEVICE = ("5/15 minutes", "20/hour", "100/hour",
                                  "10/15 minutes")

_ID_BYTES = 16
_ID_CHARACTERS = 22  # in base64 without padding
_MOST_CHARACTERS = 100  # of a token, before it is looked at
_LEAST_SECRET = 16

_Path = Sequence[Any]


class Attempt:
    """One attempt to log in.  It counts as failed unless `succeed` is called.
    """

    def __init__(self, decision: Decision, logins: Logins, account: str,
                 paths: list[_Path], device: str | None) -> None:
        self.decision = decision  #: allowed, or denied: then it costs nothing
        self.is_known = device is not None  #: from a device that logged in
        self._logins = logins
        self._account = account
        self._paths = paths
        self._device = device
        self._is_over = decision.limited

    def succeed(self) -> str:
        """Forgive, and return the token by which the device is known.

        Call it once the whole login has succeeded, with its second factor.
        Raises RuntimeError for an attempt that was denied, or for the second
        time.  A store that fails does not undo a login: what it could not
        forget wears off.
        """
        token: str = run(self._succeeding())
        return token

    def _succeeding(self) -> Asking:
        """Do what `succeed` says.

        The first path is forgotten whole.  On the others it is given back:
        whoever has an account of their own could else make all their failures
        forgotten.
        """
        if self._is_over:
            raise RuntimeError("the attempt was denied, or is over")
        self._is_over = True
        limiter = self._logins.limiter
        own, *paths = self._paths
        try:
            yield limiter.reset(*own, leaf=True)
        except StoreError:
            paths = self._paths
        with contextlib.suppress(StoreError):
            for path in paths:
                yield limiter.refund(*path)
        return self._device or self._logins._new_device(self._account)


class AsyncAttempt(Attempt):
    """An Attempt of AsyncLogins."""

    async def succeed(self) -> str:  # type: ignore[override]
        """Forgive, and return the token by which the device is known."""
        token: str = await run_awaited(self._succeeding())
        return token


class Logins:
    """Limits of failed logins, of accounts and addresses.

    ``limiter`` gets the top-level name `name` for them.  ``secret``, at least
    16 bytes that all processes have, signs the tokens of devices.  ``pair`` is
    what an address may fail at one account, ``account`` what all addresses
    together may fail there, ``address`` what an address may fail at all
    accounts together, ``device`` what a known device may fail at the account
    that it has logged in to before.  They are limits as in a limits.yaml.

    Raises ConfigError if they are not valid, or if `name` is taken,
    ValueError for a short secret, and TypeError for no secret, or for the other
    kind of limiter.
    """

    _awaited = False

    def __init__(self, limiter: Limiter | AsyncLimiter, *, secret: bytes | str,
                 pair: Any = PAIR, account: Any = ACCOUNT,
                 address: Any = ADDRESS, device: Any = DEVICE,
                 name: str = "login") -> None:
        if isinstance(limiter, AsyncLimiter) is not self._awaited:
            raise TypeError(
                "AsyncLogins needs an AsyncLimiter: use Logins"
                if self._awaited else
                "Logins cannot await an AsyncLimiter: use AsyncLogins")
        if isinstance(secret, str):
            secret = secret.encode()
        if not isinstance(secret, (bytes, bytearray)):
            raise TypeError("secret must be str or bytes, is "
                            f"{type(secret).__name__}")
        if len(secret) < _LEAST_SECRET:
            raise ValueError(f"secret must have at least {_LEAST_SECRET} bytes,"
                             f" has {len(secret)}")
        self.limiter: Any = limiter
        # Accounts of another name are those of others, with the same secret.
        self._key = hmac.digest(secret, name.encode(), "sha256")
        self._name = name
        by_address = {"key": "ip", "children": {"*": {"limits": pair}}}
        limiter.put(name, {"children": {
            "pair": {"children": {"*": by_address}},
            "account": {"children": {"*": {"limits": account}}},
            "address": {"key": "ip", "children": {"*": {"limits": address}}},
            "device": {"children": {"*": {"children": {
                "*": {"limits": device}}}}}}})

    def attempt(self, account: str, address: str, device: str | None = None
                ) -> Attempt:
        """Count an attempt, before the password is looked at.

        `account` is the name under which it is found: the same for all
        spellings that log in to it.  `device` is the token that the browser
        has kept, if any.  Raises what authorize raises.
        """
        known, paths = self._paths(account, address, device)
        decision = self.limiter.authorize_all(paths, levels=True)
        return Attempt(decision, self, account, paths, known)

    def _paths(self, account: str, address: str, device: str | None
               ) -> tuple[str | None, list[_Path]]:
        name = self._name
        for what, value in (("account", account), ("address", address),
                            ("device", "" if device is None else device)):
            if not isinstance(value, str):
                raise TypeError(f"{what} must be str, not "
                                f"{type(value).__name__}")
        if device is not None and self._is_of(account, device):
            return device, [in_utf8((name, "device", account,
                                     device[:_ID_CHARACTERS]))]
        return None, [in_utf8((name, "pair", account, address)),
                      in_utf8((name, "account", account)),
                      (name, "address", address)]

    def _new_device(self, account: str) -> str:
        number = _text(secrets.token_bytes(_ID_BYTES))
        return f"{number}.{self._signature(account, number)}"

    def _is_of(self, account: str, device: str) -> bool:
        """Whether a token was made for that account."""
        if len(device) > _MOST_CHARACTERS or not device.isascii():
            return False
        number, _, signature = device.partition(".")
        return len(number) == _ID_CHARACTERS and hmac.compare_digest(
            signature, self._signature(account, number))

    def _signature(self, account: str, number: str) -> str:
        signed = f"{number}.{account}".encode(errors="surrogatepass")
        return _text(hmac.digest(self._key, signed, "sha256"))


class AsyncLogins(Logins):
    """The same with an AsyncLimiter; its methods are awaited."""

    _awaited = True

    async def attempt(  # type: ignore[override]
            self, account: str, address: str, device: str | None = None
            ) -> AsyncAttempt:
        """Count an attempt, before the password is looked at."""
        known, paths = self._paths(account, address, device)
        decision = await self.limiter.authorize_all(paths, levels=True)
        return AsyncAttempt(decision, self, account, paths, known)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
