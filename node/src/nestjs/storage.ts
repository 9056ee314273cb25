// A storage for those that keep @nestjs/throttler: its counts, in the memory of
// this process, in a file that processes share, or in Redis.

import { checkLimiterStore } from '../client.js';
import type { Clock } from '../clock.js';
import { isDone } from '../errors.js';
import type { StoreOptions } from '../limits.js';
import { wellFormed, type Path } from '../paths.js';
import { forFramework } from '../web/answer.js';
import { Gate } from '../web/gate.js';
import { checkStoreNames, webStoreOptionsOf } from '../web/options.js';
import { PlainTree } from '../web/plain_tree.js';
import { plainSubject, type Server } from '../web/subject.js';
import type { Logger } from '../web/warnings.js';

export interface StorageOptions extends StoreOptions {
  /** For tests, such as `() => Date.now()` under fake timers. */
  readonly clock?: Clock | undefined;
  /**
   * What to do when the store fails.  Default `"local"`: this process counts
   * until the store is back.
   */
  readonly onStoreError?: StoreOptions['onStoreError'];
  /** For failures of the store; default: the warnings of the process. */
  readonly logger?: Logger | undefined;
}

/** What @nestjs/throttler asks for. */
export interface StorageRecord {
  /** Requests of the client; one more than the limit if it is denied. */
  readonly totalHits: number;
  /** Seconds until all of them are forgotten. */
  readonly timeToExpire: number;
  readonly isBlocked: boolean;
  /** Seconds until the client may come back; 0 if it is not blocked. */
  readonly timeToBlockExpire: number;
}

/** A request of a client. */
interface Hit {
  readonly key: string;
  readonly limit: number;
  readonly ttl: number;
}

const STORAGE: Server<Hit, undefined> = {
  options: [],
  ipOf: () => undefined,
  trustOf: () => ({ headers: {}, believes: false, believesAll: false,
                    advice: '' }),
  requestOf: () => undefined,
  responseOf: () => undefined,
};

/** The log of a longer limit would be much to send to Redis. */
const MOST_IN_LOG = 1000;

/** No client is blocked for longer than a year. */
const LONGEST_MS = 31_536_000_000;

const BLOCKED = 'blocked';

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

function blocked(limit: number, ms: number): StorageRecord {
  return { totalHits: limit + 1, timeToExpire: seconds(ms), isBlocked: true,
           timeToBlockExpire: seconds(ms) };
}

/**
 * A ThrottlerStorage.  It remembers each request for its `ttl`, as the storage
 * of @nestjs/throttler does; denied requests do not count.  Limits of more than
 * 1000 count in windows that begin with a request.
 *
 *     ThrottlerModule.forRoot({
 *       throttlers: [{ limit: 100, ttl: 60_000 }],
 *       storage: new LimitreeThrottlerStorage({ store: 'redis://...' }),
 *     })
 */
export class LimitreeThrottlerStorage {
  readonly #tree: PlainTree;
  readonly #log: Gate<Hit, undefined>;
  readonly #windows: Gate<Hit, undefined>;

  /** Throws ConfigError for an unknown option. */
  constructor(options: StorageOptions = {}) {
    checkStoreNames(options);
    checkLimiterStore(options.store);
    const { clock, logger } = options;
    this.#tree = new PlainTree({ ...webStoreOptionsOf(options), clock });
    this.#log = this.#counter('hits', 'sliding_log', logger);
    this.#windows = this.#counter('many', 'fixed_window', logger);
    this.#tree.add(BLOCKED, { children: { '*': { limits: {
      count: LONGEST_MS, burst: LONGEST_MS, period: `${LONGEST_MS}ms` } } } });
  }

  #counter(name: string, algorithm: string, logger: Logger | undefined) {
    const options = {
      limit: (hit: Hit) => hit.limit, windowMs: (hit: Hit) => hit.ttl,
      keyGenerator: (hit: Hit) => hit.key, algorithm, logger };
    return new Gate<Hit, undefined>(
      options, STORAGE, plainSubject(this.#tree, options, STORAGE, name));
  }

  /** Counts a request; times are in milliseconds. */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<StorageRecord> {
    if (limit < 1) return blocked(0, blockDuration > 0 ? blockDuration : ttl);
    const hit = { key: wellFormed(`${throttlerName} ${key}`), limit, ttl };
    try {
      const ms = blockDuration > 0 ? await this.#blockedMs(hit.key) : 0;
      if (ms > 0) return blocked(limit, ms);
      return await this.#count(hit, blockDuration);
    } catch (error) {
      throw forFramework(error);
    }
  }

  async #count(hit: Hit, blockDuration: number): Promise<StorageRecord> {
    const gate = hit.limit > MOST_IN_LOG ? this.#windows : this.#log;
    const info = (await gate.decide(hit, undefined))!;
    const { decision, path, used } = info;
    if (!decision.limited) {
      return { totalHits: used, isBlocked: false, timeToBlockExpire: 0,
               timeToExpire: seconds(decision.bindingResetAfterMs) };
    }
    if (blockDuration <= 0 || decision.source === 'deny') {
      return blocked(hit.limit, decision.retryAfterMs);
    }
    const { limiter } = this.#tree;
    const cost = Math.min(blockDuration, LONGEST_MS);
    await limiter.spend([BLOCKED, hit.key], { cost });
    // Whoever comes back after that begins anew.  What a store that fails
    // could not forget wears off.
    await isDone(limiter.reset(path as Path, { leaf: true }));
    return blocked(hit.limit, cost);
  }

  async #blockedMs(key: string): Promise<number> {
    const { resetAfterMs, source } =
      await this.#tree.limiter.peek([BLOCKED, key], { cost: 0 });
    return source === 'deny' ? 0 : resetAfterMs;  // then nobody knows
  }

  /** Ends the connections; NestJS calls it. */
  async onApplicationShutdown(): Promise<void> {
    await this.#tree.close();
  }
}
