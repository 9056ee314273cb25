"""Rates as pyrate-limiter writes them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Duration", "Limiter", "Rate"]


class Duration(enum.IntEnum):
    """Milliseconds."""

    SECOND = 1000
    MINUTE = 60_000
    HOUR = 3_600_000
    DAY = 86_400_000
    WEEK = 604_800_000


@dataclass(frozen=True)
class Rate:
    """`limit` requests in any `interval`, in milliseconds."""

    limit: int
    interval: int


class Limiter:
    """One rate, or several that a request meets together."""

    def __init__(self, rates: Rate | Sequence[Rate]) -> None:
        self.rates = [rates] if isinstance(rates, Rate) else list(rates)


def texts_of(limiter: Any) -> list[str]:
    """Return the limits of `limiter`, which may be one of pyrate-limiter.

    Raises TypeError for something else.
    """
    rates = getattr(limiter, "rates", None)
    if rates is None and hasattr(limiter, "buckets"):
        rates = [rate for bucket in limiter.buckets() for rate in bucket.rates]
    if not rates:
        raise TypeError("limiter must be a Limiter with rates, such as "
                        "Limiter(Rate(5, Duration.MINUTE)), not "
                        f"{type(limiter).__name__}")
    return [f"{rate.limit} per {int(rate.interval)}ms" for rate in rates]
