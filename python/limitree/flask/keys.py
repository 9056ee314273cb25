"""The default key of a request."""

from __future__ import annotations

from flask import request

from limitree.clients import client_ip

_peer = client_ip()


def get_remote_address() -> str:
    """Return the address of the peer, in its canonical text.

    IPv6 clients are distinguished by the first 64 bits.  Headers of proxies are
    ignored; LIMITREE_TRUSTED_PROXIES is for that.  Raises ValueError if the
    server knows no address, as on a Unix socket.
    """
    return _peer.of_environ(request.environ)
