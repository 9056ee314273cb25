// A store of express-rate-limit, whose counters are limitree's: in the memory
// of this process, in a file that processes share, or in Redis.

import { checkLimiterStore } from './client.js';
import { timeOf, wholeMs, type Clock } from './clock.js';
import type { Decision } from './decision.js';
import { LimitreeError, StoreError, invalidArgument } from './errors.js';
import * as at from './layout.js';
import { Limiter, partsOf } from './limiter.js';
import { isMemory } from './stores.js';
import type { StoreOptions } from './limits.js';
import { native } from './native.js';
import { wellFormed, type Path } from './paths.js';
import type { Requests } from './requests.js';
import { shown } from './words.js';
import { forFramework } from './web/answer.js';
import { checkStoreNames, webStoreOptionsOf } from './web/options.js';
import type { WebStore } from './web/own_store.js';
import { StoreLog } from './web/store_log.js';
import type { Logger } from './web/warnings.js';

/** What is counted of a client. */
export interface ClientRateLimitInfo {
  totalHits: number;
  resetTime: Date | undefined;
}

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

const numbers = native.numbers;

/** The counters of one middleware of express-rate-limit. */
export class LimitreeStore implements WebStore {
  /** Whether no other process and no other store has these counters. */
  readonly localKeys: boolean;
  /** The prefix of keys in Redis. */
  readonly prefix: string;
  /** Forgets all clients; only in memory. */
  readonly resetAll?: () => Promise<void>;
  readonly #options: LimitreeStoreOptions;
  readonly #clock: Clock;
  #windowMs = 0;
  #limiter: Limiter | undefined;
  #requests: Requests | undefined;
  #isShared = false;
  #log: StoreLog | undefined;
  /** The end of the window that was told last. */
  #end = new Date(0);
  #endMs = 0;

  /** Throws ConfigError for an unknown option. */
  constructor(options: LimitreeStoreOptions = {}) {
    checkStoreNames(options);
    if (options.shadowMode === true) {
      throw invalidArgument('shadowMode: express-rate-limit decides, this ' +
        'store only counts');
    }
    checkLimiterStore(options.store);
    this.#options = options;
    this.#clock = options.clock ?? (() => Date.now());
    this.prefix = options.prefix ?? 'limitree:';
    this.localKeys = isMemory(options.store);
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
  init(options: { readonly windowMs: number }): void {
    const { windowMs } = options;
    if (!Number.isSafeInteger(windowMs) || windowMs < 1) {
      throw invalidArgument('windowMs must be a whole number greater than 0, ' +
        `is ${shown(windowMs)}`);
    }
    this.#windowMs = windowMs;
    this.#limiter = this.#made();
  }

  /** Counts a hit; the window of a client begins with its first one. */
  increment(key: string): ClientRateLimitInfo | Promise<ClientRateLimitInfo> {
    const limiter = this.#limiter ?? this.#open();
    if (this.#isShared) return this.#hitsThere(limiter, pathOf(key));
    const text = checkedKey(key);
    // Without an object for path, time and decision: together they would cost
    // half as much as counting the hit.
    const now = timeOf(this.#clock);
    this.#requests!.chargeOne(ROOT, text, now);
    const from = at.INPUT_SIZE;
    return this.#hits(numbers[from + at.LIMIT]!, numbers[from + at.REMAINING]!,
                      wholeMs(now) + numbers[from + at.RESET_AFTER_NS]! / 1e6);
  }

  /** Takes one hit back, if the window has not ended. */
  async decrement(key: string): Promise<void> {
    await forExpress(this.#open().refund(pathOf(key)));
  }

  /** The hits of a client; undefined if there are none. */
  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const decision =
      await forExpress(this.#open().peek(pathOf(key), { cost: 0 }));
    const { limit, remaining } = decision;
    return limit === remaining ? undefined
      : this.#hits(limit, remaining, this.#endOf(decision));
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
      ...webStoreOptionsOf({ ...this.#options }),
      clock: this.localKeys ? this.#clock : this.#options.clock,
      limits: { schema: { [ROOT]: { children: { '*': { limits } } } } } });
    this.#requests = partsOf(made)[1];
    this.#isShared = made.isShared;
    this.#log = made.isShared
      ? StoreLog.of(made, this.#options.logger) : undefined;
    return made;
  }

  async #hitsThere(limiter: Limiter, path: Path): Promise<ClientRateLimitInfo> {
    try {
      const decision = await limiter.authorize(path);
      this.#log?.write(decision);
      const { limit, remaining } = decision;
      return this.#hits(limit, remaining, this.#endOf(decision));
    } catch (error) {
      if (error instanceof StoreError) this.#log?.write();
      throw forFramework(error);
    }
  }

  #endOf({ source, resetAfterMs }: Decision): number {
    // If the store failed and all requests pass, there is no window.
    return wholeMs(this.#clock()) +
      (source === 'allow' ? this.#windowMs : resetAfterMs);
  }

  #hits(limit: number, remaining: number, endMs: number): ClientRateLimitInfo {
    const end = Math.round(endMs);
    if (end !== this.#endMs) {
      this.#endMs = end;
      this.#end = new Date(end);
    }
    // An integer of 32 bits, for which V8 allocates no box.
    return { totalHits: (limit - remaining) | 0, resetTime: this.#end };
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
  return [ROOT, checkedKey(key)];
}

function checkedKey(key: string): string {
  if (typeof key === 'string') return wellFormed(key);
  throw invalidArgument(`a key must be a string, is ${typeof key}`);
}
