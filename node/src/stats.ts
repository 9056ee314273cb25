// Counters of a limiter.

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
  /** Calls that failed for it. */
  readonly errors: number;
  /** How often it happened, even if a retry helped. */
  readonly troubles: number;
}

/** In the order of bindings/node/addon.cpp. */
const NAMES = [
  'allowed', 'limited', 'shadowLimited', 'errors', 'reloads', 'limits',
  'buckets', 'maxBuckets', 'storeBytes', 'evictions', 'fromDenyCache',
  'fromLocal', 'fromAllow', 'fromDeny', 'storeErrors', 'connects',
  'roundTrips', 'roundTripMs', 'soft', 'forgottenLimited'] as const;

export function statsOf(numbers: readonly number[]): Stats {
  const found: Record<string, number> = {};
  NAMES.forEach((name, i) => { found[name] = numbers[i]!; });
  return { ...found, roundTripMs: found['roundTripMs']! / 1e6 } as
    unknown as Stats;
}
