"""Requests of Envoy, by the configuration of envoyproxy/ratelimit."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Union

from limitree.demand import Segment

#: (requests_per_unit, unit): (100, "minute"); a third number: so many units
StatedLimit = Union[tuple[int, str], tuple[int, str, int]]
Entries = Union[Mapping[Any, Any], Iterable[tuple[Segment, Segment]]]

# As in Envoy's messages.
_UNITS = {"SECOND": 1, "MINUTE": 2, "HOUR": 3, "DAY": 4, "MONTH": 5, "YEAR": 6,
          "WEEK": 7}
_MAX_REQUESTS = 2**32 - 1
_MAX_HITS = 2**64 - 1


class Descriptor(NamedTuple):
    """A descriptor of a request that has more than entries."""

    entries: Entries  #: {"key": "value"}, or a list of pairs
    hits_addend: int | None = None  #: replaces the request's; 0 only looks
    limit: StatedLimit | None = None  #: (5, "hour"), in place of every rule's
    is_negative_hits: bool = False  #: gives the hits back; always OK


Descriptors = Iterable[Union[Descriptor, Entries]]


class CurrentLimit(NamedTuple):
    """The limit that decided about a descriptor."""

    requests_per_unit: int
    unit: str  #: "MINUTE"; "UNKNOWN" if the rule has a period of its own
    name: str  #: of the rule, often ""
    period: float  #: seconds; 0: so many may be held at once
    unit_multiplier: int = 1  #: the period has this many units


class DescriptorStatus(NamedTuple):
    """The answer for one descriptor."""

    over_limit: bool
    current_limit: CurrentLimit | None  #: None: no limit, so not over it
    limit_remaining: int  #: 4294967295 for a rule that is unlimited
    duration_until_reset: int  #: the wait or the reset; seconds, rounded up
    retry_after: float | None  #: seconds; None: these hits fit; inf: never
    reset_after: float  #: seconds until all hits are back
    shadowed: bool  #: over the limit, but in shadow_mode
    cached: bool  #: known without asking the store
    soft: bool  #: fits thanks to an overrun
    quota: bool  #: counts as quota_mode says

    @property
    def code(self) -> str:
        """The code in Envoy's message."""
        return "OVER_LIMIT" if self.over_limit else "OK"


class EnvoyResponse(NamedTuple):
    """The answer to a request of Envoy."""

    over_limit: bool  #: whether the request is denied
    statuses: tuple[DescriptorStatus, ...]  #: one for each descriptor
    header_status: int | None  #: the status for RateLimit headers
    source: str  #: who decided: "store", "local", "allow", "deny", ...
    degraded: bool  #: the store failed, and on_store_error decided
    shadowed: bool  #: OK thanks to the option shadow_mode
    metadata: dict[str, Any] | None  #: dynamic metadata, if asked for

    @property
    def overall_code(self) -> str:
        """The code in Envoy's message."""
        return "OVER_LIMIT" if self.over_limit else "OK"


class DescriptorStats(NamedTuple):
    """Hits by the name that rules have in metrics."""

    key: str  #: "domain.key_value.key"
    total_hits: int
    over_limit: int
    near_limit: int
    over_limit_with_local_cache: int
    within_limit: int
    shadow_mode: int
    total_negative_hits: int  #: given back
    domain_not_found: int  #: descriptors of the domain `key`, not known


class EnvoyStats(NamedTuple):
    """Requests of Envoy since the limiter was made."""

    ok: int
    over_limit: int
    global_shadow_mode: int  #: of `ok`: thanks to the option shadow_mode
    service_errors: int  #: requests that are not valid
    store_errors: int  #: requests for which the store failed
    metric_keys: int  #: names in descriptor_stats()
    over_cache_lookups: int
    over_cache_hits: int
    over_cache_entries: int
    over_cache_evictions: int


Native = tuple[tuple[tuple[Segment, Segment], ...], Union[int, None],
               Union[tuple[int, int, int], None], bool]

#: (domain, descriptors, hits_addend, flags)
Request = tuple[Segment, list[Native], int, int]

# Flags of a request, as in limitree.h.
_WANTS_METADATA = 1
_ONLY_PEEKS = 2


def request(domain: Segment, descriptors: Descriptors, hits_addend: object,
            metadata: bool, *, looks: bool = False) -> Request:
    """Return a request as the native module takes it."""
    flags = (_WANTS_METADATA if metadata else 0) | (_ONLY_PEEKS if looks else 0)
    hits = number(hits_addend, "hits_addend", _MAX_REQUESTS)
    return domain, read(descriptors), hits, flags


def read(descriptors: Descriptors) -> list[Native]:
    """Return the descriptors of a request as the native module takes them."""
    if isinstance(descriptors, (str, bytes, Mapping)):
        raise TypeError("descriptors must be a list of them, not "
                        f"{type(descriptors).__name__}")
    return [_read_one(one if isinstance(one, Descriptor) else Descriptor(one))
            for one in descriptors]


def _read_one(descriptor: Descriptor) -> Native:
    hits, limit = descriptor.hits_addend, descriptor.limit
    return (_pairs(descriptor.entries),
            None if hits is None else number(hits, "hits_addend", _MAX_HITS),
            None if limit is None else _limit(limit),
            bool(descriptor.is_negative_hits))


def _pairs(entries: Entries) -> tuple[tuple[Segment, Segment], ...]:
    if isinstance(entries, Mapping):
        return tuple(entries.items())
    if isinstance(entries, (str, bytes)):
        raise TypeError("a descriptor must be a dict or a list of pairs, not "
                        f"{type(entries).__name__}")
    pairs = tuple(tuple(pair) for pair in entries)
    for pair in pairs:
        if len(pair) != 2:
            raise ValueError("an entry must be a pair of a key and a value, is "
                             f"{pair!r}")
    return pairs


def _limit(limit: Sequence[Any]) -> tuple[int, int, int]:
    requests, unit, *multiplier = limit
    known = _UNITS.get(unit.upper()) if isinstance(unit, str) else None
    if known is None:
        raise ValueError("the unit of a limit must be one of "
                         f"{', '.join(_UNITS)}, is {unit!r}")
    return (number(requests, "requests_per_unit", _MAX_REQUESTS), known,
            _multiplier(*multiplier) if multiplier else 0)


def _multiplier(multiplier: int) -> int:
    if number(multiplier, "unit_multiplier", _MAX_REQUESTS) == 0:
        raise ValueError("unit_multiplier must be greater than 0, is 0")
    return multiplier


def number(value: object, name: str, most: int) -> int:
    """Return `value` if it is an int from 0 to `most`."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be int, not {type(value).__name__}")
    if not 0 <= value <= most:
        raise ValueError(f"{name} must be from 0 to {most}, is {value}")
    return value


def response(answer: Any) -> EnvoyResponse:
    """Return the answer of the native module as an EnvoyResponse."""
    over, statuses, *rest, metadata = answer
    return EnvoyResponse._make([
        over, tuple(map(_status, statuses)), *rest,
        None if metadata is None else json.loads(metadata)])


def _status(status: Any) -> DescriptorStatus:
    over, limit, *rest = status
    return DescriptorStatus(over, limit and CurrentLimit(*limit), *rest)
