// Requests of Envoy, by the configuration of envoyproxy/ratelimit.

import type { Source } from './decision.js';
import { invalidArgument } from './errors.js';
import { native } from './native.js';
import type { NativeAnswer, NativeDescriptor, NativeStatus } from './native.js';
import { checkNames, shown } from './words.js';

/** Units of limits, as Envoy writes them, in any case. */
export type Unit =
  'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year';

/** Keys and values: an object, or an array of pairs, which may repeat a key. */
export type Entries =
  Readonly<Record<string, string>> | readonly (readonly [string, string])[];

/** A descriptor that has more than entries. */
export interface FullDescriptor {
  readonly entries: Entries;
  /** Replaces the request's `hitsAddend`; 0 only looks. */
  readonly hitsAddend?: number | undefined;
  /** Replaces the limit of every rule. */
  readonly limit?: {
    readonly requestsPerUnit: number;
    readonly unit: Unit | Uppercase<Unit>;
    /** The window has this many units; default 1. */
    readonly unitMultiplier?: number | undefined;
  } | undefined;
  /** Gives the hits back; always OK. */
  readonly isNegativeHits?: boolean | undefined;
}

/**
 * A descriptor of a request.  An object whose `entries` is an object is a
 * FullDescriptor; any other object has the entries themselves.
 */
export type Descriptor = Entries | FullDescriptor;

export interface RateLimitOptions {
  /** The hits of each descriptor without its own; default 1. */
  readonly hitsAddend?: number | undefined;
  /** Whether the response has the dynamic metadata. */
  readonly metadata?: boolean | undefined;
}

export type Code = 'OK' | 'OVER_LIMIT';

/** The limit that decided about a descriptor. */
export interface CurrentLimit {
  readonly requestsPerUnit: number;
  /** `MINUTE`; `UNKNOWN` if the rule has a period of its own. */
  readonly unit: string;
  /** The period has this many units; 1 if the unit is `UNKNOWN`. */
  readonly unitMultiplier: number;
  /** The name of the rule, often empty. */
  readonly name: string;
  /** 0: so many may be held at once. */
  readonly periodMs: number;
}

/** The answer for one descriptor. */
export interface DescriptorStatus {
  readonly code: Code;
  readonly overLimit: boolean;
  /** Undefined: no limit, so not over it. */
  readonly currentLimit: CurrentLimit | undefined;
  /** 4294967295 for a rule that is unlimited. */
  readonly limitRemaining: number;
  /** Seconds, rounded up: the wait if over the limit, else the reset. */
  readonly durationUntilReset: number;
  /** Undefined if these hits fit; Infinity if they never will. */
  readonly retryAfterMs: number | undefined;
  /** Until all hits are back. */
  readonly resetAfterMs: number;
  /** Over the limit, but in shadow_mode. */
  readonly shadowed: boolean;
  /** Known without asking the store. */
  readonly cached: boolean;
  /** Fits thanks to an overrun. */
  readonly soft: boolean;
  /** Counts as quota_mode says. */
  readonly quota: boolean;
}

/** The answer to a request of Envoy. */
export interface EnvoyResponse {
  readonly overallCode: Code;
  readonly overLimit: boolean;
  /** One for each descriptor. */
  readonly statuses: readonly DescriptorStatus[];
  /** Which of them RateLimit headers show; undefined: none has a limit. */
  readonly headerStatus: number | undefined;
  readonly source: Source;
  /** Whether the store failed, so that `onStoreError` decided. */
  readonly degraded: boolean;
  /** Whether it is OK thanks to the option `shadowMode`. */
  readonly shadowed: boolean;
  /** The dynamic metadata, if asked for. */
  readonly metadata: Readonly<Record<string, unknown>> | undefined;
}

/** Hits by the name that rules have in metrics. */
export interface DescriptorStats {
  /** `domain.key_value.key` */
  readonly key: string;
  readonly totalHits: number;
  readonly overLimit: number;
  readonly nearLimit: number;
  readonly overLimitWithLocalCache: number;
  readonly withinLimit: number;
  readonly shadowMode: number;
  /** Given back. */
  readonly totalNegativeHits: number;
  /** Descriptors of the domain `key`, which is not known. */
  readonly domainNotFound: number;
}

/** Requests of Envoy since the limiter was made. */
export interface EnvoyStats {
  readonly ok: number;
  readonly overLimit: number;
  /** The part of `ok` that is due to the option `shadowMode`. */
  readonly globalShadowMode: number;
  /** Requests that are not valid. */
  readonly serviceErrors: number;
  /** Requests for which the store failed. */
  readonly storeErrors: number;
  /** Names in `descriptorStats()`. */
  readonly metricKeys: number;
  readonly overCacheLookups: number;
  readonly overCacheHits: number;
  readonly overCacheEntries: number;
  readonly overCacheEvictions: number;
}

/** As Envoy's messages number them. */
const UNITS = new Map([
  ['SECOND', 1], ['MINUTE', 2], ['HOUR', 3], ['DAY', 4], ['MONTH', 5],
  ['YEAR', 6], ['WEEK', 7]]);
const MAX_REQUESTS = 2 ** 32 - 1;

/** As limitree.h numbers them. */
const HAS_HITS = 1;
const HAS_LIMIT = 2;
const NEGATIVE = 4;
const WANTS_METADATA = 1;
const ONLY_PEEKS = 2;
const MATCHED = 3;
const OVER_LIMIT = 2;
const NEVER = 2 ** 63;
const SHADOWED = 2;
const DEGRADED = 4;
const CACHED = 8;
const SOFT = 16;

function whole(value: unknown, name: string, most: number): number {
  if (Number.isInteger(value) && (value as number) >= 0 &&
      (value as number) <= most) {
    return value as number;
  }
  throw invalidArgument(
    `${name} must be a whole number from 0 to ${most}, is ${shown(value)}`);
}

function textsOf(entries: unknown): string[] {
  if (typeof entries !== 'object' || entries === null) {
    throw invalidArgument('a descriptor must be an object or an array of ' +
      `pairs, is ${shown(entries)}`);
  }
  const pairs: unknown[] =
    Array.isArray(entries) ? entries : Object.entries(entries);
  return pairs.flatMap((pair) => {
    if (!Array.isArray(pair) || pair.length !== 2 ||
        pair.some((text) => typeof text !== 'string')) {
      throw invalidArgument(
        `an entry must be a pair of two texts, is ${shown(pair)}`);
    }
    return pair as string[];
  });
}

function isFull(descriptor: unknown): descriptor is FullDescriptor {
  return typeof descriptor === 'object' && descriptor !== null &&
    !Array.isArray(descriptor) && 'entries' in descriptor &&
    typeof descriptor.entries === 'object';
}

function readOne(descriptor: Descriptor): NativeDescriptor {
  if (!isFull(descriptor)) return [textsOf(descriptor), 0, 0, 0, 0, 0];
  checkNames(descriptor, ['entries', 'hitsAddend', 'limit', 'isNegativeHits'],
             '{entries: {key: "value"}, hitsAddend: 2}');
  const { entries, hitsAddend, limit, isNegativeHits } = descriptor;
  const one: NativeDescriptor = [textsOf(entries), 0, 0, 0, 0, 0];
  if (hitsAddend !== undefined) {
    one[1] |= HAS_HITS;
    one[2] = whole(hitsAddend, 'hitsAddend', Number.MAX_SAFE_INTEGER);
  }
  if (limit !== undefined) {
    const unit = UNITS.get(String(limit.unit).toUpperCase());
    if (unit === undefined) {
      throw invalidArgument('the unit of a limit must be one of ' +
        `${[...UNITS.keys()].join(', ')}, is ${shown(limit.unit)}`);
    }
    one[1] |= HAS_LIMIT;
    one[3] = whole(limit.requestsPerUnit, 'requestsPerUnit', MAX_REQUESTS);
    one[4] = unit;
    one[5] = whole(limit.unitMultiplier ?? 0, 'unitMultiplier', MAX_REQUESTS);
    if (limit.unitMultiplier === 0) {
      throw invalidArgument('unitMultiplier must be greater than 0, is 0');
    }
  }
  if (isNegativeHits === true) one[1] |= NEGATIVE;
  return one;
}

/** The arguments of native code. */
export function readRequest(
  domain: string, descriptors: readonly Descriptor[],
  options: RateLimitOptions, use: 'count' | 'peek' | 'reset' = 'count',
): [string, NativeDescriptor[], number, number, boolean] {
  checkNames(options, ['hitsAddend', 'metadata'], '{hitsAddend: 2}');
  if (typeof domain !== 'string') {
    throw invalidArgument(`a domain must be a text, is ${shown(domain)}`);
  }
  if (!Array.isArray(descriptors)) {
    throw invalidArgument(
      `descriptors must be an array, is ${shown(descriptors)}`);
  }
  return [domain, (descriptors as readonly Descriptor[]).map(readOne),
          whole(options.hitsAddend ?? 1, 'hitsAddend', MAX_REQUESTS),
          (options.metadata === true ? WANTS_METADATA : 0) |
            (use === 'peek' ? ONLY_PEEKS : 0),
          use === 'reset'];
}

function waitOf(ns: number): number | undefined {
  if (ns < 0) return undefined;
  return ns >= NEVER ? Infinity : ns / 1e6;
}

function statusOf(status: NativeStatus): DescriptorStatus {
  const [code, match, requestsPerUnit, periodNs, limitRemaining, untilResetNs,
         retryAfterNs, resetAfterNs, flags, quota, unitMultiplier, unit,
         name] = status;
  const isMatched = match === MATCHED;
  return {
    code: code === OVER_LIMIT ? 'OVER_LIMIT' : 'OK',
    overLimit: code === OVER_LIMIT,
    currentLimit: isMatched
      ? { requestsPerUnit, unit, unitMultiplier, name,
          periodMs: periodNs / 1e6 }
      : undefined,
    limitRemaining,
    durationUntilReset: untilResetNs / 1e9,
    retryAfterMs: isMatched ? waitOf(retryAfterNs) : undefined,
    resetAfterMs: resetAfterNs / 1e6,
    shadowed: (flags & SHADOWED) !== 0,
    cached: (flags & CACHED) !== 0,
    soft: (flags & SOFT) !== 0,
    quota: quota !== 0,
  };
}

export function responseOf(answer: NativeAnswer): EnvoyResponse {
  const [code, flags, source, headerStatus, metadata, statuses] = answer;
  return {
    overallCode: code === OVER_LIMIT ? 'OVER_LIMIT' : 'OK',
    overLimit: code === OVER_LIMIT,
    statuses: statuses.map(statusOf),
    headerStatus: headerStatus < 0 ? undefined : headerStatus,
    source: native.sources[source]!,
    degraded: (flags & DEGRADED) !== 0,
    shadowed: (flags & SHADOWED) !== 0,
    metadata: metadata === undefined ? undefined
      : JSON.parse(metadata) as Record<string, unknown>,
  };
}
