// Counters of a limiter.

import type { Counters } from './native.js';

/** The counters of a limiter since it was made. */
export interface Stats {
  /** Requests that authorize allowed. */
  readonly allowed: number;
  /** Requests that authorize denied. */
  readonly limited: number;
  /** Requests that only a limit in mode shadow would deny. */
  readonly shadowLimited: number;
  /** Requests that failed. */
  readonly errors: number;
  /** Reloads of the tree. */
  readonly reloads: number;
  /** Limits in the tree. */
  readonly limits: number;
  /** Buckets that are not full; not of a remote store. */
  readonly buckets: number;
  /** As configured; not of a remote store. */
  readonly maxBuckets: number;
  /** Memory taken by buckets; not of a remote store. */
  readonly storeBytes: number;
  /** Buckets forgotten to make room for others. */
  readonly evictions: number;
  /** Allowed and limited requests that this source decided. */
  readonly fromDenyCache: number;
  readonly fromLocal: number;
  readonly fromAllow: number;
  readonly fromDeny: number;
  /** Requests decided by a lease, without a round trip. */
  readonly fromLease: number;
  /** Calls to the store that failed. */
  readonly storeErrors: number;
  /** Connections made to servers. */
  readonly connects: number;
  /** Answers of servers. */
  readonly roundTrips: number;
  /** The sum of their times, in milliseconds. */
  readonly roundTripMs: number;
  /** Allowed requests above a capacity, thanks to its overrun. */
  readonly soft: number;
  /** Evictions of buckets that would still deny. */
  readonly forgottenLimited: number;
  /** Holds of reservations, each of one limit. */
  readonly held: number;
  /** Holds that were settled or cancelled. */
  readonly settled: number;
  /** Holds that ended by themselves, as far as requests met them. */
  readonly ended: number;
  /** Requests denied because a bucket has the most holds. */
  readonly holdsFull: number;
  /** Tokens that this process has taken in leases. */
  readonly leased: number;
  /** Those of them that requests have used. */
  readonly leaseUsed: number;
  /** Those of them that ended unused. */
  readonly leaseLost: number;
}

/** The counters of one limit, over all callers and reloads. */
export interface LimitStats {
  /** The limit's place in the tree. */
  readonly policy: string;
  /** Requests that met it and were allowed. */
  readonly allowed: number;
  /** Requests that it denied. */
  readonly limited: number;
  /** Requests that it would deny, in mode shadow. */
  readonly shadowLimited: number;
  /** Allowed requests that used most of it. */
  readonly nearLimit: number;
  /** Allowed requests above its capacity, thanks to its overrun. */
  readonly soft: number;
}

/** How often the store has failed in one way. */
export interface ReasonStats {
  /** As `StoreError.reason`. */
  readonly reason: string;
  /** Calls that failed for this reason. */
  readonly errors: number;
  /** How often this happened, even if a retry helped. */
  readonly troubles: number;
}

/** The counters of each label, which is the property `name`. */
export function labeled<Labeled>(name: string, counters: Counters): Labeled[] {
  return counters.map(([label, values]) =>
    ({ [name]: label, ...values }) as Labeled);
}

/** Counters without labels.  Times are milliseconds. */
export function totals<Totals>(counters: Counters): Totals {
  const { roundTripNs, ...values } = counters[0]![1];
  return (roundTripNs === undefined
    ? values : { ...values, roundTripMs: roundTripNs / 1e6 }) as Totals;
}
