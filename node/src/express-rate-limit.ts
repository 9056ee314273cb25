/**
 * For programs that come from express-rate-limit: the middleware of
 * `limitree/express` with the defaults of that package.
 *
 *     import { rateLimit } from 'limitree/express-rate-limit';
 *     app.use(rateLimit({ windowMs: 15 * 60_000, limit: 100 }));
 *
 * And a store for those that keep it: its counters, in the memory of this
 * process, in a file that processes share, or in Redis.
 *
 *     import { rateLimit } from 'express-rate-limit';
 *     import { LimitreeStore } from 'limitree/express-rate-limit';
 *     const store = new LimitreeStore({ store: 'redis://...' });
 *     app.use(rateLimit({ limit: 100, store }));
 */

import type {
  ClientRateLimitInfo, IncrementResponse, Options, Store,
} from 'express-rate-limit';

import { canonicalIp } from './address.js';
import type { Decision } from './decision.js';
import { LimitreeError, StoreError, invalidArgument } from './errors.js';
import { rateLimit as limitExpress } from './express.js';
import type { ExpressOptions, RateLimit } from './express.js';
import { Limiter } from './limiter.js';
import type { StoreOptions } from './limits.js';
import type { Clock } from './clock.js';
import type { Path } from './paths.js';
import { shown } from './words.js';
import { forFramework } from './web/answer.js';
import { checkStoreNames, webStoreOptionsOf } from './web/options.js';
import { StoreLog } from './web/store_log.js';
import { CHECKS } from './web/warnings.js';
import type { Logger, Validate } from './web/warnings.js';

export { canonicalIp, clientIp, RateLimitInfo } from './express.js';
export type {
  ExpressOptions, HandlerOptions, LimitedRequest, RateLimit, WebOptions,
} from './express.js';

export interface LimitreeStoreOptions extends StoreOptions {
  /** For tests, such as `() => Date.now()` under fake timers. */
  readonly clock?: Clock | undefined;
  /**
   * What to do when the store fails.  Default `"local"`: this process counts
   * hits until the store is back.
   */
  readonly onStoreError?: StoreOptions['onStoreError'];
  /**
   * The logger for messages that the store has failed or is back; default: the
   * warnings of the process.
   */
  readonly logger?: Logger | undefined;
}

/** No client makes this many requests; hits are counted one by one. */
const MOST_HITS = 1_000_000_000;

const ROOT = 'hits';

/** The counters of one middleware of express-rate-limit. */
export class LimitreeStore implements Store {
  /** Whether no other process and no other store has these counters. */
  readonly localKeys: boolean;
  /** The prefix of keys in Redis. */
  readonly prefix: string;
  /** Forgets all clients; only in memory. */
  readonly resetAll?: () => Promise<void>;
  readonly #options: LimitreeStoreOptions;
  #windowMs = 0;
  #limiter: Limiter | undefined;
  #log: StoreLog | undefined;

  /** Throws ConfigError for an unknown option. */
  constructor(options: LimitreeStoreOptions = {}) {
    checkStoreNames(options);
    this.#options = options;
    this.prefix = options.prefix ?? 'limitree:';
    this.localKeys = (options.store ?? 'memory:').startsWith('memory:');
    if (this.localKeys) {
      this.resetAll = async () => {
        const before = this.#limiter;
        this.#limiter = this.#made();
        await before?.close();
      };
    }
  }

  /**
   * Called by express-rate-limit.  Throws ConfigError for options that are not
   * valid, and for a `windowMs` that is not a whole number.
   */
  init(options: Pick<Options, 'windowMs'>): void {
    const { windowMs } = options;
    if (!Number.isSafeInteger(windowMs) || windowMs < 1) {
      throw invalidArgument('windowMs must be a whole number greater than 0, ' +
        `is ${shown(windowMs)}`);
    }
    this.#windowMs = windowMs;
    this.#limiter = this.#made();
  }

  /** Counts a hit; the window of a client begins with its first one. */
  increment(key: string): IncrementResponse | Promise<IncrementResponse> {
    const limiter = this.#open();
    const path = pathOf(key);
    if (limiter.isShared) return this.#hitsThere(limiter, path);
    return this.#hits(limiter.authorizeSync(path));
  }

  /** Takes one hit back, if the window has not ended. */
  async decrement(key: string): Promise<void> {
    await forExpress(this.#open().refund(pathOf(key)));
  }

  /** The hits of a client; undefined if there are none. */
  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const decision =
      await forExpress(this.#open().peek(pathOf(key), { cost: 0 }));
    return decision.limit === decision.remaining ? undefined
      : this.#hits(decision);
  }

  /** Forgets a client. */
  async resetKey(key: string): Promise<void> {
    await forExpress(this.#open().reset(pathOf(key)));
  }

  /** Ends the connections; there is nothing else to end. */
  async shutdown(): Promise<void> {
    await this.#limiter?.close();
  }

  #open(): Limiter {
    if (this.#limiter !== undefined) return this.#limiter;
    throw new LimitreeError('LIMITREE_INVALID_ARGUMENT',
      'the store has to be given to rateLimit() before it can count');
  }

  #made(): Limiter {
    const limits = {
      // There must be at least a nanosecond for each hit.
      count: Math.min(MOST_HITS, this.#windowMs * 1_000_000),
      period: `${this.#windowMs}ms`, algorithm: 'fixed_window', align: 'first',
    };
    const made = new Limiter({
      ...webStoreOptionsOf({ ...this.#options }), clock: this.#options.clock,
      limits: { schema: { [ROOT]: { children: { '*': { limits } } } } } });
    this.#log = made.isShared
      ? StoreLog.of(made, this.#options.logger) : undefined;
    return made;
  }

  async #hitsThere(limiter: Limiter, path: Path): Promise<IncrementResponse> {
    try {
      const decision = await limiter.authorize(path);
      this.#log?.write(decision);
      return this.#hits(decision);
    } catch (error) {
      if (error instanceof StoreError) this.#log?.write();
      throw forFramework(error);
    }
  }

  #now(): number {
    const now = this.#options.clock?.() ?? Date.now();
    return typeof now === 'bigint' ? Number(now / 1_000_000n) : now;
  }

  #hits(decision: Decision): IncrementResponse {
    const { limit, remaining, resetAfterMs, source } = decision;
    // If the store failed and all requests pass, there is no window.
    const left = source === 'allow' ? this.#windowMs : resetAfterMs;
    return { totalHits: limit - remaining,
             resetTime: new Date(Math.round(this.#now() + left)) };
  }
}

/** Passes on the answer, and errors of the store in the form for Express. */
async function forExpress<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw forFramework(error);
  }
}

function pathOf(key: string): Path {
  if (typeof key === 'string') return [ROOT, key];
  throw invalidArgument(`a key must be a string, is ${typeof key}`);
}

/** `validate` may also name checks that only express-rate-limit has. */
export interface TheirOptions extends Omit<ExpressOptions, 'validate'> {
  readonly validate?: boolean | Readonly<Record<string, boolean>> | undefined;
}

function validateOf(validate: TheirOptions['validate']): Validate | undefined {
  if (typeof validate !== 'object' || validate === null) return validate;
  const { default: usual = true } = validate;
  return Object.fromEntries(
    CHECKS.map((check) => [check, validate[check] ?? usual]));
}

const DEFAULTS: ExpressOptions = {
  standardHeaders: false, legacyHeaders: true,
  message: 'Too many requests, please try again later.' };

/**
 * The middleware of `limitree/express` with the defaults of express-rate-limit:
 * 5 requests of a client in a minute, in windows that begin with a request of
 * the client, and the headers `X-RateLimit-*`.
 */
export function rateLimit(theirs: TheirOptions = {}): RateLimit {
  const options = { ...theirs, validate: validateOf(theirs.validate) };
  const {
    limiter, limits, max, limit = max ?? 5, windowMs = 60_000, ...others
  } = options;
  const given = Object.fromEntries(
    Object.entries(others).filter(([, value]) => value !== undefined));
  if (limiter !== undefined || limits !== undefined) {
    return limitExpress({ ...DEFAULTS, ...options });
  }
  const subnet = options.keyGenerator !== undefined ||
    options.clientIp !== undefined ? {} : { ipv6Subnet: 56 };
  return limitExpress({ ...DEFAULTS, algorithm: 'fixed_window', ...subnet,
                        ...given, limit, windowMs });
}

/**
 * The key for an address, as `keyGenerator` may return it: that of its network
 * of `ipv6Subnet` bits.
 */
export function ipKeyGenerator(
  ip: string,
  ipv6Subnet: number | false = 56,
): string {
  return canonicalIp(ip, ipv6Subnet === false ? 128 : ipv6Subnet);
}

export default LimitreeStore;
