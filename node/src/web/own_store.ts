// Counters that a program brings along: a store of express-rate-limit.

import type { ClientStore } from '../stores.js';
import type { Decision } from '../decision.js';
import { decisionOf } from '../made_decision.js';
import { messageOf, shown } from '../words.js';
import { isPromise, type Maybe } from './maybe.js';
import { refuse } from './refuse.js';
import { warnSeldom, type Logger } from './warnings.js';

/** What a store says about a key. */
export interface Hits {
  readonly totalHits: number;
  /** When the window ends; undefined: a whole window from now. */
  readonly resetTime?: Date | undefined;
}

/** A store of express-rate-limit, as far as a middleware uses it. */
export interface WebStore {
  /** Called once, before all else. */
  init?(options: { readonly windowMs: number }): void;
  /** Counts a request of the client; the window of this request is `windowMs`,
   * and its limit is `limit`. */
  increment(key: string, windowMs: number, limit: number): Maybe<Hits>;
  /** Takes one request back. */
  decrement(key: string): Maybe<void>;
  /** Forgets a client. */
  resetKey(key: string): Maybe<void>;
  /** Reads without counting. */
  get?(key: string, windowMs: number, limit: number): Maybe<Hits | undefined>;
  shutdown?(): Maybe<void>;
  /** Stores of express-rate-limit have these; limitree does not use them. */
  resetAll?(): Maybe<void>;
  localKeys?: boolean;
  prefix?: string;
  /** @internal It was made by options that have no effect elsewhere. */
  readonly takesOptions?: true;
}

/** The older form of such a store, which counts with a callback. */
export interface OldWebStore
  extends Omit<WebStore, 'increment' | 'get'> {
  incr(
    key: string,
    done: (error: unknown, totalHits: number, resetTime?: Date) => void,
  ): void;
}

/** A request of a client, for a plain limit. */
export interface Asked {
  readonly key: string;
  readonly limit: number;
  readonly windowMs: number;
}

/** A decision, and how many requests the store has counted. */
export interface Counted {
  readonly decision: Decision;
  readonly hits: number;
}

/** Whether the option `store` is an object that counts. */
export function isStore(store: unknown): store is WebStore | OldWebStore {
  return typeof store === 'object' && store !== null && !isClientStore(store);
}

/** Whether it is a client of Redis; stores of others may have one, too. */
export function isClientStore(store: object): store is ClientStore {
  return 'client' in store && !('increment' in store || 'incr' in store);
}

/** Whether a store has only the older form. */
function isOld(store: WebStore | OldWebStore): store is OldWebStore {
  return typeof (store as Partial<OldWebStore>).incr === 'function' &&
    typeof (store as Partial<WebStore>).increment !== 'function';
}

/** Refuses an object without the methods of a store. */
export function checkStore(store: WebStore | OldWebStore): void {
  const methods = store as object as Readonly<Record<string, unknown>>;
  const isMethod = (name: string) => typeof methods[name] === 'function';
  const wrong = [isOld(store) ? 'incr' : 'increment', 'decrement', 'resetKey']
    .find((name) => !isMethod(name)) ?? ['init', 'get', 'shutdown']
    .find((name) => methods[name] !== undefined && !isMethod(name));
  if (wrong === undefined) return;
  refuse('store must be a URL such as "redis://127.0.0.1", or a store of ' +
    `express-rate-limit: the object has no ${wrong}()`);
}

/** A store in the newer form. */
function renewed(store: WebStore | OldWebStore): WebStore {
  if (!isOld(store)) return store;
  return {
    init: (options) => store.init?.(options),
    increment: (key) => new Promise((resolve, reject) => {
      store.incr(key, (error, totalHits, resetTime) => {
        if (error) reject(error);
        else resolve({ totalHits, resetTime });
      });
    }),
    decrement: (key) => store.decrement(key),
    resetKey: (key) => store.resetKey(key),
    shutdown: () => store.shutdown?.(),
  };
}

/** The limits of each store, until they are closed. */
const LIMITS = new WeakMap<object, Map<OwnStore, Counting>>();

/** A plain limit that a store counts. */
interface Counting {
  readonly windowMs: number;
  readonly name: string;
  /** Whether the program has named it, or it is that of a route. */
  readonly hasName: boolean;
  /** The same for all that count in the same buckets. */
  readonly identity: object;
}

/** Decides by the counts of a store.  Requests that it denies have counted. */
export class OwnStore {
  readonly #given: WebStore | OldWebStore;
  readonly #store: WebStore;
  readonly #limit: Counting;
  /** What is before the key of each client, so that names count apart. */
  readonly #prefix: string;
  readonly #now: () => number;

  constructor(
    store: WebStore | OldWebStore,
    limit: Counting,
    now: () => number,
  ) {
    this.#given = store;
    this.#store = renewed(store);
    this.#limit = limit;
    // Classes of @fastify/rate-limit have an object for each route.
    const isApart = this.#store.takesOptions === true || !limit.hasName;
    this.#prefix = isApart ? '' : `${limit.name}:`;
    this.#now = now;
  }

  /**
   * `options` are those of the middleware, for stores that read more.  Throws
   * ConfigError if the store has another limit that this one would change.
   */
  init(options: {
    readonly limit?: unknown;
    readonly logger?: Logger | undefined;
  }): void {
    const limits = LIMITS.get(this.#given) ?? new Map<OwnStore, Counting>();
    const own = this.#limit;
    for (const { windowMs, hasName, identity } of limits.values()) {
      if (windowMs !== own.windowMs && this.#given.init !== undefined) {
        refuse(`an object as store has one window, here of ${windowMs} ms: ` +
          `${own.name} needs an object of its own`);
      }
      if (!hasName && !own.hasName && identity !== own.identity) {
        refuse('two limits without a name have one object as store: give ' +
          'each a name, or an object of its own');
      }
    }
    if (limits.size === 0) this.#begin({ ...options, windowMs: own.windowMs });
    LIMITS.set(this.#given, limits.set(this, own));
  }

  #begin(options: {
    readonly windowMs: number;
    readonly logger?: Logger | undefined;
  }): void {
    const begun: unknown = this.#store.init?.(options);
    // What rejects here would end the process, because nobody waits for it.
    if (isPromise(begun)) {
      begun.then(undefined, (error) => warnSeldom('LIMITREE_STORE_AWAY',
        `the store has not begun: ${messageOf(error)}`, options.logger));
    }
  }

  async count(asked: Asked): Promise<Counted> {
    const { key, windowMs, limit } = asked;
    const hits =
      await this.#store.increment(this.#prefix + key, windowMs, limit);
    return this.#counted(asked, checkHits(hits), hits.totalHits > limit);
  }

  /** What a client has used; undefined if that is nothing. */
  async look(asked: Asked): Promise<Counted | undefined> {
    const { key, windowMs, limit } = asked;
    if (typeof this.#store.get !== 'function') {
      refuse('the store cannot be read: it has no get()');
    }
    const hits =
      await this.#store.get(this.#prefix + key, windowMs, limit);
    return hits && this.#counted(asked, checkHits(hits),
                                 hits.totalHits >= limit);
  }

  /** A client that has used nothing. */
  fresh(asked: Asked): Counted {
    return this.#counted(asked, { totalHits: 0, resetTime: undefined }, false);
  }

  #counted(asked: Asked, hits: Hits, limited: boolean): Counted {
    const { limit, windowMs } = asked;
    const { totalHits, resetTime } = hits;
    const resetMs = resetTime === undefined ? windowMs
      : resetTime.getTime() - this.#now();
    return {
      hits: totalHits,
      decision: decisionOf({
        policy: `${this.#limit.name}:*`, limit, limited, cost: 1, windowMs,
        resetMs, remaining: Math.max(0, limit - totalHits) }) };
  }

  async undo(key: string): Promise<void> {
    await this.#store.decrement(this.#prefix + key);
  }

  async reset(key: string): Promise<void> {
    await this.#store.resetKey(this.#prefix + key);
  }

  /** Ends the store, unless other limits use it. */
  async close(): Promise<void> {
    const limits = LIMITS.get(this.#given);
    if (!limits?.delete(this) || limits.size > 0) return;
    await this.#store.shutdown?.();
  }
}

/** A store that answers anything else must not let all requests pass. */
function checkHits(hits: Hits | undefined): Hits {
  const { totalHits, resetTime } = hits ?? {};
  const isDate = resetTime === undefined ||
    (typeof resetTime?.getTime === 'function' && !isNaN(resetTime.getTime()));
  if (Number.isFinite(totalHits) && totalHits! >= 0 && isDate) return hits!;
  throw new TypeError('a store must answer with {totalHits, resetTime}, not ' +
    shown(hits));
}
