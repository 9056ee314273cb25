"""Which address a request came from: the key of limits on callers that have
not said who they are.

The walk past proxies is the core's own, so that every language and framework
gives one client one name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from limitree._native import Proxies, canonical_ip

__all__ = ["ClientIp", "canonical_ip", "client_ip"]

Text = str | bytes
Lines = Text | Iterable[Text] | None

# What Starlette's TestClient calls itself.
_TESTCLIENT = "testclient"


class ClientIp:
    """Says which address a request came from; made by `client_ip`.

    Call it with the peer of the connection and the header that proxies write,
    or use one of the methods that take them from what a server hands over.  All
    of them return the canonical text of an address, and raise ValueError where
    there is none: a peer without an address, such as a Unix socket, that is
    not trusted or does not say who is behind it.
    """

    __slots__ = ("_believes", "_environ", "_proxies", "_scope", "header")

    header: str  #: the name of the header, in lower case

    def __init__(self, hops: int, proxies: Iterable[str], header: str,
                 ipv6_prefix: int) -> None:
        if isinstance(proxies, (str, bytes)):
            raise TypeError("trusted_proxies must be a sequence of networks, "
                            f"not {type(proxies).__name__}")
        trusted = list(proxies)
        self.header = header.lower()
        self._proxies = Proxies(self.header == "forwarded", hops, trusted,
                                ipv6_prefix)
        self._believes = bool(hops or trusted)
        self._environ = "HTTP_" + self.header.upper().replace("-", "_")
        self._scope = self.header.encode("latin-1")

    def __call__(self, peer: Text | None, lines: Lines = None) -> str:
        """Return the client of a request.

        `peer` is the address of the other end of the connection, None or empty
        if that has none; `lines` is the value of the header, or the values of
        all its lines in order.
        """
        return self._proxies.client(peer, lines)

    def of_environ(self, environ: Mapping[str, Any]) -> str:
        """The same for a WSGI environment, or Django's ``request.META``."""
        return self._proxies.client(
            environ.get("REMOTE_ADDR"),
            environ.get(self._environ) if self._believes else None)

    def of_scope(self, scope: Mapping[str, Any]) -> str:
        """The same for the scope of an ASGI connection.

        The peer "testclient" of Starlette's tests is 127.0.0.1.
        """
        client = scope.get("client")
        peer = client[0] if client else None
        if peer == _TESTCLIENT:
            peer = "127.0.0.1"
        if not self._believes:
            return self._proxies.client(peer, None)
        return self._proxies.client(
            peer, [value for name, value in scope["headers"]
                   if name == self._scope])


def client_ip(*, trusted_hops: int = 0, trusted_proxies: Iterable[str] = (),
              header: str = "x-forwarded-for",
              ipv6_prefix: int = 64) -> ClientIp:
    """Return a ClientIp that believes certain proxies, and by default none.

    ``trusted_proxies`` are networks such as "10.0.0.0/8", single addresses, and
    "unix" for a server behind a Unix socket; ``trusted_hops`` counts proxies
    instead, and holds only if every request passes that many of them.  What an
    untrusted peer writes into the header is ignored.  The header
    "forwarded" is read as RFC 7239 has it, any other as a list of addresses:
    give the one that your proxy sets or appends to, for it passes on others as
    the client wrote them.

    Who has one IPv6 address has 2**64 of them, so clients are told apart by the
    first ``ipv6_prefix`` bits; the others are zero in what is returned.

    Raises ConfigError, a ValueError, for what is no network, both kinds of
    trust at once, or numbers out of range.
    """
    return ClientIp(trusted_hops, trusted_proxies, header, ipv6_prefix)
