"""Counters of a limiter."""

from typing import NamedTuple


class Stats(NamedTuple):
    """The counters of a limiter since it was made."""

    allowed: int  #: requests that authorize allowed
    limited: int  #: requests that authorize denied
    shadow_limited: int  #: requests that only a limit in mode shadow would deny
    errors: int  #: requests that failed
    reloads: int  #: trees swapped in
    limits: int  #: limits in the tree
    buckets: int  #: buckets that are not full; not of a remote store
    max_buckets: int  #: as configured; not of a remote store
    store_bytes: int  #: memory taken by buckets; not of a remote store
    evictions: int  #: buckets forgotten to make room for others
    from_deny_cache: int  #: allowed and limited ones of this source
    from_local: int
    from_allow: int
    from_deny: int
    from_lease: int  #: requests decided by a lease, without a round trip
    store_errors: int  #: calls to the store that failed
    connects: int  #: connections made to servers
    round_trips: int  #: answers of servers
    round_trip_ns: int  #: the sum of their times, in nanoseconds
    soft: int  #: of the allowed: above a capacity, thanks to its overrun
    forgotten_limited: int  #: of evictions: buckets that would still deny
    held: int  #: holds of reservations, each of one limit
    settled: int  #: holds that were settled or cancelled
    ended: int  #: holds that ended by themselves, as far as requests met them
    holds_full: int  #: requests denied because a bucket has the most holds
    leased: int  #: tokens that this process has taken in leases
    lease_used: int  #: those of them that requests have used
    lease_lost: int  #: those of them that ended unused


class LimitStats(NamedTuple):
    """The counters of one limit, over all callers and reloads."""

    policy: str  #: the limit's place in the tree, "user:*/trade"
    allowed: int  #: requests that met it and were allowed
    limited: int  #: requests that it denied
    shadow_limited: int  #: requests that it would deny, in mode shadow
    near_limit: int  #: allowed requests that used most of it
    soft: int  #: allowed requests above its capacity, thanks to its overrun
