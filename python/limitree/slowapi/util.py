"""The keys of callers."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from limitree.clients import client_ip

__all__ = ["get_ipaddr", "get_remote_address"]

_peer = client_ip()


def get_remote_address(request: HTTPConnection) -> str:
    """Return the address of the peer, in its canonical text.

    IPv6 clients are distinguished by the first 64 bits.
    """
    return _peer.of_scope(request.scope)


def get_ipaddr(request: HTTPConnection) -> str:
    """The same: a header that clients can write is not believed.

    For a server behind proxies use ``client_ip(trusted_proxies=...)``.
    """
    return _peer.of_scope(request.scope)
