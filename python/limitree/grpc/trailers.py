"""What a denied call says in its trailing metadata.

``grpc-status-details-bin`` is a google.rpc.Status with a google.rpc.RetryInfo,
which clients of most languages read.  The messages have six fields, so they are
written here: grpcio brings no protobuf.
"""

from __future__ import annotations

import math
from typing import Union

from limitree.decision import Decision
from limitree.headers import Style

Trailers = tuple[tuple[str, Union[str, bytes]], ...]

_RETRY_INFO = b"type.googleapis.com/google.rpc.RetryInfo"
_RESOURCE_EXHAUSTED = 8


def trailers_of(decision: Decision, details: str, style: Style) -> Trailers:
    """Return the trailing metadata of a denial."""
    found: list[tuple[str, str | bytes]] = [
        (name.lower(), value) for name, value in decision.headers(style)]
    wait = decision.retry_after
    if wait is None or wait == math.inf:
        found.append(("grpc-retry-pushback-ms", "-1"))  # do not try again
        wait = None
    else:
        found.append(("grpc-retry-pushback-ms", str(math.ceil(wait * 1000))))
    found.append(("grpc-status-details-bin", _status(details, wait)))
    return tuple(found)


def _status(details: str, wait: float | None) -> bytes:
    """Return a google.rpc.Status."""
    status = _number(1, _RESOURCE_EXHAUSTED) + _bytes(2, details.encode())
    if wait is None:
        return status
    ns = math.ceil(wait * 1e9)
    duration = _number(1, ns // 10**9) + _number(2, ns % 10**9)
    return status + _bytes(3, _bytes(1, _RETRY_INFO)
                           + _bytes(2, _bytes(1, duration)))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value) if value else b""


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7f:
        found.append(value & 0x7f | 0x80)
        value >>= 7
    return bytes([*found, value])
