"""Counters for OpenTelemetry, observed when they are exported.

    limitree.otel.instrument(limiter)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from opentelemetry.metrics import (
    CallbackOptions,
    MeterProvider,
    Observation,
    get_meter_provider,
)

from limitree._native import __version__
from limitree.samples import MAX_POLICIES, Family, Limiters, read

__all__ = ["instrument"]


class _Instrument(NamedTuple):
    name: str  # after "limitree."
    unit: str
    family: str  # of Prometheus, after "limitree_"
    end: str = ""  # of the sample in the family
    help: str = ""  # in place of the family's

    @property
    def is_gauge(self) -> bool:
        return not self.family.endswith(("_total", "_seconds"))


_INSTRUMENTS = (
    _Instrument("decisions", "{decision}", "decisions_total"),
    _Instrument("shadow_limited", "{decision}", "shadow_limited_total"),
    _Instrument("soft", "{decision}", "soft_total"),
    _Instrument("errors", "{error}", "errors_total"),
    _Instrument("limit.requests", "{request}", "limit_requests_total"),
    _Instrument("limit.near", "{request}", "limit_near_total"),
    _Instrument("limit.soft", "{request}", "limit_soft_total"),
    _Instrument("store.errors", "{error}", "store_errors_total"),
    _Instrument("store.troubles", "{error}", "store_troubles_total"),
    _Instrument("store.connects", "{connection}", "store_connects_total"),
    _Instrument("store.round_trips", "{round_trip}",
                "store_round_trip_seconds", "_count", "Answers of stores."),
    _Instrument("store.round_trip_time", "s", "store_round_trip_seconds",
                "_sum"),
    _Instrument("buckets", "{bucket}", "buckets"),
    _Instrument("buckets.limit", "{bucket}", "max_buckets"),
    _Instrument("buckets.memory", "By", "bucket_bytes"),
    _Instrument("evictions", "{bucket}", "evictions_total"),
    _Instrument("forgotten_limited", "{bucket}", "forgotten_limited_total"),
    _Instrument("holds", "{hold}", "holds_total"),
    _Instrument("holds.settled", "{hold}", "holds_settled_total"),
    _Instrument("holds.ended", "{hold}", "holds_ended_total"),
    _Instrument("holds.full", "{decision}", "holds_full_total"),
    _Instrument("leases.units", "{token}", "leased_units_total"),
    _Instrument("leases.used", "{token}", "lease_used_units_total"),
    _Instrument("leases.lost", "{token}", "lease_lost_units_total"),
    _Instrument("reloads", "{reload}", "reloads_total"),
    _Instrument("limits", "{limit}", "limits"),
)


class _Snapshot:
    """The values of all instruments at one moment.

    The SDK asks each instrument once in a round.  When one asks again, the next
    round begins.
    """

    def __init__(self, limiters: Limiters, max_policies: int) -> None:
        self._limiters = limiters
        self._max_policies = max_policies
        self._lock = threading.Lock()
        self._families: dict[str, Family] | None = None
        self._observed: set[str] = set()

    def of(self, wanted: _Instrument) -> list[Observation]:
        with self._lock:
            if self._families is None or wanted.name in self._observed:
                self._families = read(self._limiters, self._max_policies)
                self._observed.clear()
            self._observed.add(wanted.name)
            family = self._families.get(f"limitree_{wanted.family}")
        if family is None:
            return []
        return [Observation(sample.value, dict(sample.labels))
                for sample in family.samples
                if sample.name == family.name + wanted.end]


def instrument(limiters: Limiters, *,
               meter_provider: MeterProvider | None = None,
               max_policies: int = MAX_POLICIES) -> None:
    """Let a meter observe one limiter, or several by their names.

    With names every observation has an attribute ``limiter``.  Call this once
    for all limiters of a program.  Limits beyond the first ``max_policies`` of
    a limiter are summed up, and no attribute names a caller, so the number of
    series is bounded for every tree.  The default provider is the global one.
    """
    provider = meter_provider or get_meter_provider()
    meter = provider.get_meter("limitree", __version__)
    snapshot = _Snapshot(limiters, max_policies)
    helps = {name: family.help
             for name, family in read(limiters, max_policies).items()}
    for one in _INSTRUMENTS:
        make = (meter.create_observable_gauge if one.is_gauge
                else meter.create_observable_counter)
        make(f"limitree.{one.name}", callbacks=[_callback(snapshot, one)],
             unit=one.unit,
             description=one.help or helps.get(f"limitree_{one.family}", ""))


def _callback(snapshot: _Snapshot, wanted: _Instrument
              ) -> Callable[[CallbackOptions], Iterable[Observation]]:
    return lambda options: snapshot.of(wanted)
