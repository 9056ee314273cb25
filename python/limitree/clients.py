"""The address that a request came from: the key of limits on anonymous callers.

The core does the walk past proxies, so that a client has the same name in every
language and framework.
"""

from __future__ import annotations

from limitree._native import Proxies, canonical_ip
from limitree.errors import ClientGone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Union

    _Text = Union[str, bytes]
    _Lines = Union[_Text, Iterable[_Text], None]

__all__ = ["ClientIp", "canonical_ip", "client_ip"]

# The name of Starlette's TestClient as a peer.
_TESTCLIENT = "testclient"


class ClientIp:
    """Finds the address that a request came from; made by `client_ip`.

    Call it with the peer of the connection and the header that proxies write,
    or use a method that takes both from the data of a server.  All return the
    canonical text of an address.  They raise ValueError if there is none: the
    peer has no address, as on a Unix socket, and is not trusted or does not
    name its client.
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

    def __call__(self, peer: _Text | None, lines: _Lines = None) -> str:
        """Return the client of a request.

        `peer` is the address of the other end of the connection, None or empty
        if it has none: that is a ValueError, unless "unix" is trusted and the
        header names the client.  `lines` is the value of the header, or the
        values of all its lines in order.
        """
        return self._proxies.client(peer, lines)

    def of_environ(self, environ: Mapping[str, Any]) -> str:
        """The same for a WSGI environment, or Django's ``request.META``."""
        return self._proxies.client(
            environ.get("REMOTE_ADDR"),
            environ.get(self._environ) if self._believes else None)

    def of_scope(self, scope: Mapping[str, Any]) -> str:
        """The same for the scope of an ASGI connection.

        The peer "testclient" of Starlette's tests is 127.0.0.1.  Raises
        ClientGone, a ValueError, if the server did not learn the address
        because the client was gone.
        """
        client = scope.get("client")
        peer = client[0] if client else None
        if peer == _TESTCLIENT:
            peer = "127.0.0.1"
        lines = None
        if self._believes:
            lines = [value for name, value in scope["headers"]
                     if name == self._scope]
        try:
            return self._proxies.client(peer, lines)
        except ValueError:
            if peer is None and _listens_on_port(scope):
                raise ClientGone("the client of this request is gone") from None
            raise


def _listens_on_port(scope: Mapping[str, Any]) -> bool:
    """Whether the server's end of a connection has an address and a port."""
    server = scope.get("server")
    return server is not None and server[1] is not None


def client_ip(*, trusted_hops: int = 0, trusted_proxies: Iterable[str] = (),
              header: str = "x-forwarded-for",
              ipv6_prefix: int = 64) -> ClientIp:
    """Return a ClientIp that trusts certain proxies, by default none.

    ``trusted_proxies`` are networks such as "10.0.0.0/8", single addresses, and
    "unix" for a server behind a Unix socket.  ``trusted_hops`` is a number of
    proxies instead, and is safe only if every request passes that many.  The
    header of an untrusted peer is ignored.  The header "forwarded" is read as
    in RFC 7239, any other as a list of addresses.  Use the header that your
    proxy sets or appends to: it passes on other headers as the client wrote
    them.

    A client with one IPv6 address usually has 2**64 of them, so clients are
    distinguished by the first ``ipv6_prefix`` bits; the rest of the result is
    zero.

    Raises ConfigError, a ValueError, if a network is not valid, if both kinds
    of trust are given, or if a number is out of range.
    """
    return ClientIp(trusted_hops, trusted_proxies, header, ipv6_prefix)
