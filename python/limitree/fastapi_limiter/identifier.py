"""The key of a caller by default."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from limitree.clients import client_ip

__all__ = ["default_identifier"]

_peer = client_ip()


async def default_identifier(request: HTTPConnection) -> str:
    """Return the address of the peer.

    A header that clients can write is not believed; every limit counts for each
    URL by itself.
    """
    return _peer.of_scope(request.scope)
