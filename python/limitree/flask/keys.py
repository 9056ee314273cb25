"""Whose request it is, unless a key function says something else."""

from __future__ import annotations

from flask import request

from limitree.clients import client_ip

_peer = client_ip()


def get_remote_address() -> str:
    """Return the address of the peer, in its canonical text.

    IPv6 clients are told apart by the first 64 bits.  Nothing that a proxy has
    added is looked at; LIMITREE_TRUSTED_PROXIES is for that.  Raises ValueError
    where the server has no address to tell, as on a Unix socket.
    """
    return _peer.of_environ(request.environ)
