// The options of all middlewares, for every framework.  Names from
// express-rate-limit and @fastify/rate-limit have the same meaning here.

import type { ClientIp } from '../address.js';
import { checkClientStore } from '../client.js';
import { unitsOf, type Cost } from '../cost.js';
import { holdOf } from '../holds.js';
import type { Limiter } from '../limiter.js';
import type { Limits, StoreOptions } from '../limits.js';
import type { Clock } from '../clock.js';
import type { Path, PathList, Segment } from '../paths.js';
import { noOption, shown } from '../words.js';
import type { Allowed } from './allow_list.js';
import type { RateLimitInfo } from './info.js';
import type { Maybe } from './maybe.js';
import { checkStore, isStore } from './own_store.js';
import type { OldWebStore, WebStore } from './own_store.js';
import { refuse } from './refuse.js';
import { CHECKS, type Check, type Logger, type Validate } from './warnings.js';

/**
 * The headers of the IETF draft: `"draft-8"` (the same as `"ietf"`) names every
 * limit, `"draft-7"` and `"draft-6"` (the same as true) the binding one.
 */
export type StandardHeaders =
  boolean | 'ietf' | 'draft-8' | 'draft-7' | 'draft-6';

/**
 * Options of a middleware.  `A` and `B` are the arguments from the framework,
 * such as a request and a response.
 *
 * Give the limits in one of three ways: `limiter` and `path`, `limits` and
 * `path`, or `limit` for each client.
 */
export interface WebOptions<A, B> extends Omit<StoreOptions, 'store'> {
  /**
   * Where the counts are kept: a URL, a client of ioredis or node-redis, or a
   * store of express-rate-limit, which then counts in windows of its own.
   */
  readonly store?: StoreOptions['store'] | WebStore | OldWebStore;
  /**
   * What to do when the store fails.  Default `"local"`: this process decides
   * until the store is back.
   */
  readonly onStoreError?: StoreOptions['onStoreError'];
  /**
   * Whether requests pass without being counted when the store fails: true is
   * `onStoreError: "allow"`, false is `"raise"`.
   */
  readonly passOnStoreError?: boolean | undefined;
  /** The limiter that decides; closing the middleware leaves it open. */
  readonly limiter?: Limiter | undefined;
  /** The limits of a limiter that the middleware makes. */
  readonly limits?: Limits | undefined;
  /** The path of a request; several paths are decided all or nothing. */
  readonly path?: ((a: A, b: B) => Maybe<Path | PathList>) | undefined;
  /** What a request costs, such as 2 or `{ tokens: 812 }`.  Default 1. */
  readonly cost?: Cost | ((a: A, b: B) => Maybe<Cost>) | undefined;

  /**
   * The requests of a client in `windowMs`.  A client may use all of them at
   * once; used requests come back at an even pace.  A client has one bucket,
   * whatever a function returns.
   */
  readonly limit?: number | ((a: A, b: B) => Maybe<number>) | undefined;
  /** Another name for `limit`. */
  readonly max?: number | ((a: A, b: B) => Maybe<number>) | undefined;
  /**
   * Milliseconds, or a text such as `"15 minutes"`.  Default 60 000.  Windows
   * of different lengths that a function returns count separately.
   */
  readonly windowMs?: number | string |
    ((a: A, b: B) => Maybe<number | string>) | undefined;
  /**
   * How a client is counted: `"gcra"` (the default) at an even pace,
   * `"fixed_window"` in windows that begin with a request of the client, as
   * other libraries do; see docs/algorithms.md.
   */
  readonly algorithm?: string | undefined;
  /**
   * The name of the limit in headers and in keys of the store; default: a name
   * such as `"100/1m"`.  Limits with the same given name count together in one
   * store; a limit without a name counts for itself.
   */
  readonly name?: string | undefined;
  /** Returns the key of the client; default: its address. */
  readonly keyGenerator?: ((a: A, b: B) => Maybe<Segment>) | undefined;
  /** Bits of an IPv6 address that make up a client, default 64; false: all. */
  readonly ipv6Subnet?: number | false | undefined;
  /** Finds the address of a client; default: the framework's. */
  readonly clientIp?: ClientIp | undefined;
  /** For tests; the time is the system's by default. */
  readonly clock?: Clock | undefined;

  /**
   * Whether requests reserve: limits with `hold` or `concurrent` hold what a
   * request costs while its response lasts; all others are charged at once.
   *
   * A time, `30_000` or `"30s"`, replaces the `hold` of each limit, and is
   * extended as long as the response lasts.  A plain limit needs it.
   */
  readonly reserve?: boolean | number | string | undefined;
  /**
   * Returns what a request that has reserved has used, `{ tokens: 812 }`, when
   * its response has ended: 0 for nothing, undefined for as much as was held.
   * Default: the header `x-usage` of the response, such as `tokens=812`, says
   * it; without it, a request has used nothing if its status is 500 or more,
   * and else as much as was held.
   */
  readonly settle?: ((a: A, b: B) => Maybe<Cost | undefined>) | undefined;

  /**
   * Clients that are not limited: their addresses, or the keys of
   * `keyGenerator`; or a function of the request.
   */
  readonly allowList?: Allowed<A, B> | undefined;
  /**
   * How often a client is denied in a window until it is banned: the answer is
   * then 403.  Default -1: never.
   */
  readonly ban?: number | undefined;
  /** Whether a denied client has to wait for a whole window from then on. */
  readonly continueExceeding?: boolean | undefined;
  /**
   * Whether a client has to wait twice as long each time that it comes before
   * its wait is over, a day at most.
   */
  readonly exponentialBackoff?: boolean | undefined;
  /**
   * From how many used requests on those that pass wait before they go on, in
   * place of a denial or before there is one.
   */
  readonly delayAfter?: number | undefined;
  /**
   * Milliseconds to wait, for each used request above `delayAfter`; or a
   * function of what is used that returns all of them.  Default 1000.
   */
  readonly delayMs?: number |
    ((used: number, a: A, b: B) => number) | undefined;
  /** The longest wait.  Default 60 000. */
  readonly maxDelayMs?: number | undefined;
  /** How many may wait in this process; others are denied.  Default 1000. */
  readonly maxDelayed?: number | undefined;
  /** Called with each request that passes. */
  readonly onExceeding?: OnDecision<A, B> | undefined;
  /** Called with each request that is denied. */
  readonly onExceeded?: OnDecision<A, B> | undefined;
  /** Called with each request of a client that is banned. */
  readonly onBanReach?: OnDecision<A, B> | undefined;

  /** Requests that pass without being counted. */
  readonly skip?: ((a: A, b: B) => Maybe<boolean>) | undefined;
  /** Whether to give back, or to cancel, the cost of requests that failed. */
  readonly skipFailedRequests?: boolean | undefined;
  /** The same for requests that succeeded. */
  readonly skipSuccessfulRequests?: boolean | undefined;
  /** Whether a request succeeded; default: its status is below 400. */
  readonly requestWasSuccessful?:
    ((a: A, b: B) => Maybe<boolean>) | undefined;

  /** The status of a denial.  Default 429. */
  readonly statusCode?: number | undefined;
  /**
   * The body of a denial: a text, a value for JSON, or a function of the
   * request that returns one of these.  Default `application/problem+json`.
   */
  readonly message?: unknown;
  /** Default `"draft-8"`. */
  readonly standardHeaders?: StandardHeaders | undefined;
  /** Whether to send `X-RateLimit-*`.  Default false. */
  readonly legacyHeaders?: boolean | undefined;
  /** What Retry-After says: `"seconds"`, the default, or a `"date"`. */
  readonly retryAfter?: 'seconds' | 'date' | undefined;
  /**
   * Other names for headers, `{'RateLimit-Limit': 'X-Quota'}`; false: it is not
   * sent.
   */
  readonly headerNames?: HeaderNames | undefined;
  /** Whether to warn about likely mistakes, once for each.  Default true. */
  readonly validate?: Validate | undefined;
  /**
   * The logger for likely mistakes, and for failures of the store.  Default:
   * the warnings of the process; in Fastify, the log of the app for the store.
   */
  readonly logger?: Logger | undefined;
}

/** What is told about a decision; a program that throws here denies nobody. */
export type OnDecision<A, B> = (a: A, b: B, info: RateLimitInfo) => unknown;

/** New names for headers by their usual names, in any case. */
export type HeaderNames = Readonly<Record<string, string | boolean>>;

type Flags<T> = Readonly<Record<keyof T, true>>;

/** The compiler checks that none is missing. */
const STORE: Flags<StoreOptions> = {
  store: true, maxBuckets: true, maxBytes: true, timeout: true,
  connectTimeout: true, connections: true, prefix: true,
  clientName: true, lowLatency: true, shareCalls: true, onStoreError: true,
  localShare: true, denyCache: true, denyCacheSize: true, retrySpread: true,
  leases: true, nearLimit: true, shadowMode: true, perSecondStore: true,
  passwordFile: true, tlsCaFile: true,
  tlsCertFile: true, tlsKeyFile: true, tlsServerName: true, tlsVerify: true,
  sentinelUsername: true, sentinelPassword: true,
  sentinelPasswordFile: true,
};

const WEB: Flags<Omit<WebOptions<never, never>, keyof StoreOptions>> = {
  passOnStoreError: true, limiter: true, limits: true, path: true, cost: true,
  limit: true, max: true, windowMs: true, algorithm: true, name: true,
  keyGenerator: true, ipv6Subnet: true, clientIp: true, clock: true,
  reserve: true, settle: true, allowList: true, ban: true,
  continueExceeding: true, exponentialBackoff: true, onExceeding: true,
  onExceeded: true, onBanReach: true, delayAfter: true, delayMs: true,
  maxDelayMs: true, maxDelayed: true, retryAfter: true, skip: true,
  skipFailedRequests: true, skipSuccessfulRequests: true,
  requestWasSuccessful: true, statusCode: true,
  message: true, standardHeaders: true, legacyHeaders: true, headerNames: true,
  validate: true, logger: true,
};

/** Options of other libraries, and the equivalent here. */
const ADVICE: Readonly<Record<string, string>> = {
  skipOnError: 'say onStoreError: "allow"',
  identifier: 'say name',
  nameSpace: 'say prefix',
  redis: 'say store: { client: redis }, or store: "redis://..."',
  errorResponseBuilder: 'say message or handler',
  enableDraftSpec: 'say standardHeaders: "draft-6"',
};

/** The options of the store among `options`. */
export function storeOptionsOf(options: object): StoreOptions {
  const found = Object.entries(options).filter(
    ([name, value]) => name in STORE && value !== undefined && !isStore(value));
  return Object.fromEntries(found) as StoreOptions;
}

/** The same with the default of a web server: it answers without its store. */
export function webStoreOptionsOf(
  options: object & { readonly passOnStoreError?: boolean | undefined },
): StoreOptions {
  const { passOnStoreError: passes } = options;
  const onStoreError = passes === undefined ? 'local'
    : passes ? 'allow' : 'raise';
  return { onStoreError, ...storeOptionsOf(options) };
}

function refuseName(name: string, names: readonly string[]): never {
  const advice = Object.hasOwn(ADVICE, name) ? ADVICE[name] : undefined;
  return refuse(advice === undefined ? noOption(name, names)
    : `there is no option ${name}: ${advice}`);
}

/** Refuses what is no object, such as `rateLimit(100)`. */
export function checkObject(
  options: unknown,
  example = '{limit: 100, windowMs: 60000}',
): void {
  if (typeof options === 'object' && options !== null) {
    if (!('req' in options || 'socket' in options)) return;
    refuse('options are a request: write app.use(rateLimit({limit: 100})), ' +
      'with options in parentheses');
  }
  refuse(`options must be an object such as ${example}, is ${shown(options)}`);
}

function checkEach(
  options: object,
  names: readonly string[],
  example?: string,
): void {
  checkObject(options, example);
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) refuseName(name, names);
  }
}

/** Refuses unknown options of a store; `clock` and `logger` are known. */
export function checkStoreNames(options: object): void {
  checkEach(options, [...Object.keys(STORE), 'clock', 'logger'],
            '{store: "redis://..."}');
}

/** Refuses unknown options; `more` are those of the framework. */
export function checkNames(options: object, more: readonly string[]): void {
  checkEach(options, [...Object.keys(WEB), ...Object.keys(STORE), ...more]);
}

/** Refuses values of the wrong type. */
export function checkKinds(options: WebOptions<never, never>): void {
  const given: Record<string, unknown> = { ...options };
  const check = (type: string, what: string, names: readonly string[]) => {
    for (const name of names) {
      const value = given[name];
      if (value === undefined || typeof value === type) continue;
      refuse(`${name} must be ${what}, is ${shown(value)}`);
    }
  };
  check('function', 'a function', ['path', 'keyGenerator', 'skip', 'settle',
                                   'requestWasSuccessful', 'clientIp',
                                   'handler', 'onExceeding', 'onExceeded',
                                   'onBanReach']);
  check('boolean', 'true or false', [
    'skipFailedRequests', 'skipSuccessfulRequests', 'legacyHeaders',
    'continueExceeding', 'exponentialBackoff', 'passOnStoreError']);
  const { statusCode = 429, store, cost = 1 } = options;
  if (typeof cost !== 'function') checkCost(cost);
  if (!Number.isInteger(statusCode) || statusCode < 400 || statusCode > 599) {
    refuse(`statusCode must be 400 to 599, is ${shown(statusCode)}`);
  }
  if (isStore(store)) {
    checkStore(store);
  } else if (typeof store === 'object' && store !== null) {
    checkClientStore(store);
  } else if (store !== undefined && typeof store !== 'string') {
    refuse('store must be a URL such as "redis://127.0.0.1", is ' +
      shown(store));
  }
  checkReserve(options);
  checkLogger(options.logger);
  checkValidate(options.validate);
}

function checkReserve({ reserve, settle }: WebOptions<never, never>): void {
  if (reserve === undefined && settle !== undefined) {
    refuse('settle is for requests that reserve: give reserve: true');
  }
  if (reserve === undefined || typeof reserve === 'boolean') return;
  if (typeof reserve !== 'number' && typeof reserve !== 'string') {
    refuse('reserve must be true, false or a time such as "30s", is ' +
      shown(reserve));
  }
  try {
    holdOf(reserve, 'reserve');
  } catch (error) {
    refuse((error as Error).message);
  }
}

function checkCost(cost: Cost): void {
  try {
    if (unitsOf(cost) !== undefined) return;
  } catch (error) {
    refuse((error as Error).message);
  }
  if (!Number.isSafeInteger(cost) || (cost as number) < 0) {
    refuse(`cost must be a whole number or a function, is ${shown(cost)}`);
  }
}

function checkLogger(logger: unknown): void {
  const { warn } = (logger ?? { warn: checkLogger }) as { warn?: unknown };
  if (typeof warn !== 'function') {
    refuse(`logger must have warn(text), such as console, is ${shown(logger)}`);
  }
}

function checkValidate(validate: unknown): void {
  if (validate === undefined || typeof validate === 'boolean') return;
  if (typeof validate !== 'object' || validate === null) {
    refuse('validate must be true, false or an object such as ' +
      `{trustProxy: false}, is ${shown(validate)}`);
  }
  for (const name of Object.keys(validate)) {
    if (!CHECKS.includes(name as Check)) refuseName(`validate.${name}`,
      CHECKS.map((check) => `validate.${check}`));
  }
}
