// The limiters of rate-limiter-flexible.

import type { Clock } from '../clock.js';
import { LimitreeError, StoreError } from '../errors.js';
import type { StoreOptions } from '../limits.js';
import { shown } from '../words.js';
import { BlockedKeys } from './blocked_keys.js';
import { Counter, mostPoints } from './counter.js';
import { storeOf, type StoreClient } from './store_client.js';
import {
  RateLimiterCompatibleAbstract, RateLimiterRes, isLimiter } from './result.js';
import type { CallOptions, Key, RateLimiterLike } from './result.js';

export interface RateLimiterOptions
  extends Omit<StoreOptions, 'onStoreError' | 'prefix'> {
  /** Points of a key in `duration`. */
  readonly points: number;
  /** Seconds; 0: points never come back. */
  readonly duration: number;
  /** The first part of the name of each key.  Default `"rlflx"`. */
  readonly keyPrefix?: string | undefined;
  /** Seconds for which a key is blocked that has used too many points. */
  readonly blockDuration?: number | undefined;
  /** Whether actions wait so that they are spread over the duration. */
  readonly execEvenly?: boolean | undefined;
  readonly execEvenlyMinDelayMs?: number | undefined;
  /** For tests. */
  readonly clock?: Clock | undefined;
}

export interface RateLimiterStoreOptions extends RateLimiterOptions {
  /** A client of ioredis or node-redis: its server, or itself, is used. */
  readonly storeClient?: StoreClient | undefined;
  /** Decides while the store fails. */
  readonly insuranceLimiter?: RateLimiterLike | undefined;
  /** Points from which this process refuses a key without asking. */
  readonly inMemoryBlockOnConsumed?: number | undefined;
  /** For how many seconds; default: until its window ends. */
  readonly inMemoryBlockDuration?: number | undefined;
  /** Has no effect: a store that fails is never waited for. */
  readonly rejectIfRedisNotReady?: boolean | undefined;
  /** Has no effect: clients of both packages are known by their options. */
  readonly useRedisPackage?: boolean | undefined;
}

const NAMES = ['points', 'duration', 'keyPrefix', 'blockDuration', 'execEvenly',
               'execEvenlyMinDelayMs', 'clock', 'storeClient',
               'insuranceLimiter', 'inMemoryBlockOnConsumed',
               'inMemoryBlockDuration', 'rejectIfRedisNotReady',
               'useRedisPackage'] as const;

function checkNumber(value: unknown, name: string, least = -Infinity): number {
  if (Number.isFinite(value) && (value as number) >= least) {
    return value as number;
  }
  throw new Error(`${name} must be a finite number` +
    `${least === 0 ? ', 0 or greater' : ''}, is ${shown(value)}`);
}

/** What all limiters have in common. */
export abstract class RateLimiterAbstract
  extends RateLimiterCompatibleAbstract {
  #points = 0;
  #duration = 0;
  #keyPrefix: string;
  #minDelayMs: number | undefined;
  blockDuration: number;
  execEvenly: boolean;

  constructor(options: RateLimiterOptions) {
    super();
    this.points = options?.points;
    this.duration = options?.duration;
    const { keyPrefix = 'rlflx', blockDuration = 0, execEvenly = false } =
      options;
    if (typeof keyPrefix !== 'string') {
      throw new Error(`keyPrefix must be string, is ${shown(keyPrefix)}`);
    }
    this.#keyPrefix = keyPrefix;
    this.blockDuration = checkNumber(blockDuration, 'blockDuration', 0);
    this.execEvenly = Boolean(execEvenly);
    this.#minDelayMs = options.execEvenlyMinDelayMs;
  }

  get points(): number {
    return this.#points;
  }

  set points(points: number) {
    this.#points = checkNumber(points, 'points');
  }

  /** Seconds. */
  get duration(): number {
    return this.#duration;
  }

  set duration(duration: number) {
    this.#duration = checkNumber(duration, 'duration', 0);
  }

  get msDuration(): number {
    return this.#duration * 1000;
  }

  get msBlockDuration(): number {
    return this.blockDuration * 1000;
  }

  get keyPrefix(): string {
    return this.#keyPrefix;
  }

  get execEvenlyMinDelayMs(): number {
    return this.#minDelayMs ??
      (this.points > 0 ? Math.ceil(this.msDuration / this.points) : 0);
  }

  set execEvenlyMinDelayMs(ms: number | undefined) {
    this.#minDelayMs = ms;
  }

  getKey(key: Key): string {
    return this.keyPrefix === '' ? String(key) : `${this.keyPrefix}:${key}`;
  }

  parseKey(key: string): string {
    return this.keyPrefix === '' ? key
      : key.slice(this.keyPrefix.length + 1);
  }
}

/** Counts points in the store of limitree. */
class Counted extends RateLimiterAbstract {
  readonly #counter: Counter;
  readonly #insurance: RateLimiterLike | undefined;
  readonly #blocked: BlockedKeys;
  readonly #blockOn: number;

  constructor(options: RateLimiterStoreOptions, store: StoreOptions['store']) {
    super(options);
    const { insuranceLimiter, inMemoryBlockOnConsumed: blockOn = 0,
            inMemoryBlockDuration = 0, clock } = options;
    if (insuranceLimiter !== undefined && !isLimiter(insuranceLimiter)) {
      throw new Error('insuranceLimiter must be a limiter, is ' +
        shown(insuranceLimiter));
    }
    if (blockOn > 0 && blockOn < this.points) {
      throw new Error('inMemoryBlockOnConsumed must be greater or equal ' +
        `points, is ${blockOn}`);
    }
    if (inMemoryBlockDuration > 0 && blockOn <= 0) {
      throw new Error('inMemoryBlockDuration needs inMemoryBlockOnConsumed');
    }
    this.#blockOn = blockOn;
    this.#blocked = new BlockedKeys(inMemoryBlockDuration * 1000);
    this.#insurance = insuranceLimiter;
    if (insuranceLimiter !== undefined) {
      insuranceLimiter.blockDuration = this.blockDuration;
      insuranceLimiter.execEvenly = this.execEvenly;
    }
    const others = Object.fromEntries(Object.entries(options).filter(
      ([name]) => !(NAMES as readonly string[]).includes(name)));
    this.#counter = new Counter(
      this.keyPrefix, this.#msOf(undefined),
      { ...others, store, onStoreError: 'raise' }, clock);
  }

  get insuranceLimiter(): RateLimiterLike | undefined {
    return this.#insurance;
  }

  #msOf(options: CallOptions | undefined): number {
    const custom = options?.customDuration;
    const seconds =
      custom !== undefined && custom >= 0 ? custom : this.duration;
    const whole = Math.round(seconds * 1000);
    const ms = whole === 0 ? seconds * 1000 : whole;  // 0.1 ms is not forever
    if (this.points > mostPoints(ms)) {
      throw new Error(`points must be at most ${mostPoints(ms)} in ` +
        `${seconds} s, is ${this.points}`);
    }
    return ms;
  }

  /** Asks the insurance if the store fails. */
  async #insured<T>(
    ask: () => Promise<T>,
    other: (insurance: RateLimiterLike) => Promise<T>,
  ): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (this.#insurance === undefined || !(error instanceof StoreError)) {
        throw error;
      }
    }
    return other(this.#insurance);
  }

  #res(consumed: number, leftMs: number, isFirst = false): RateLimiterRes {
    return new RateLimiterRes(Math.max(this.points - consumed, 0), leftMs,
                              consumed, isFirst);
  }

  consume(
    key: Key,
    points = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    return this.#insured(() => this.#consume(key, points, options),
                         (other) => other.consume(key, points, options));
  }

  async #consume(
    key: Key,
    points: number,
    options: CallOptions,
  ): Promise<RateLimiterRes> {
    const here = this.#blockOn > 0 ? this.#blocked.leftMs(this.getKey(key)) : 0;
    if (here > 0) throw new RateLimiterRes(0, here);
    const windowMs = this.#msOf(options);
    const { consumed, leftMs, blockedMs } =
      await this.#counter.add(key, checkPoints(points), windowMs);
    const isFirst = consumed === points;
    if (blockedMs !== 0) {
      throw this.#res(Math.max(consumed, this.points + 1), blockedMs);
    }
    const res = this.#res(consumed, leftMs, isFirst);
    if (consumed > this.points && this.blockDuration > 0 &&
        consumed <= this.points + points) {
      await this.#counter.block(key, this.msBlockDuration, windowMs);
      res.msBeforeNext = this.msBlockDuration;
    }
    if (this.#blockOn > 0 && consumed >= this.#blockOn) {
      res.msBeforeNext =
        this.#blocked.add(this.getKey(key), res.msBeforeNext);
    }
    if (consumed > this.points) throw res;
    if (this.execEvenly && leftMs > 0 && !isFirst) await this.#delay(res);
    return res;
  }

  /** Spreads what is left over the rest of the window. */
  async #delay(res: RateLimiterRes): Promise<void> {
    const least = this.execEvenlyMinDelayMs;
    const even = Math.ceil(res.msBeforeNext / (res.remainingPoints + 2));
    const delay = even < least ? res.consumedPoints * least : even;
    res.msBeforeNext = Math.max(res.msBeforeNext - delay, 0);
    await new Promise((resolve) => { setTimeout(resolve, delay); });
  }

  penalty(
    key: Key,
    points = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    return this.#insured(async () => {
      const { consumed, leftMs } = await this.#counter.add(
        key, checkPoints(points), this.#msOf(options));
      return this.#res(consumed, leftMs, consumed === points);
    }, (other) => other.penalty(key, points, options));
  }

  reward(
    key: Key,
    points = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    return this.#insured(async () => {
      const { consumed, leftMs } = await this.#counter.take(
        key, checkPoints(points), this.#msOf(options));
      return this.#res(consumed, leftMs);
    }, (other) => other.reward(key, points, options));
  }

  get(key: Key, options: CallOptions = {}): Promise<RateLimiterRes | null> {
    return this.#insured(async () => {
      const { consumed, leftMs, blockedMs } =
        await this.#counter.read(key, this.#msOf(options));
      if (blockedMs !== 0) {
        return this.#res(Math.max(consumed, this.points + 1), blockedMs);
      }
      return consumed === 0 ? null : this.#res(consumed, leftMs);
    }, (other) => other.get(key, options));
  }

  /** Has used `points`.  More than there are block the key for the time. */
  set(
    key: Key,
    points: number,
    secDuration: number = this.duration,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    return this.#insured(async () => {
      const seconds = secDuration >= 0 ? secDuration : this.duration;
      const windowMs = this.#msOf(options);
      if (points > this.points) {
        await this.#counter.block(key, seconds * 1000, windowMs,
                                  checkPoints(points));
      } else {
        await this.#counter.forget(key, windowMs);
        await this.#counter.add(key, checkPoints(points), windowMs);
      }
      return new RateLimiterRes(0, seconds === 0 ? -1 : seconds * 1000, points);
    }, (other) => other.set(key, points, secDuration, options));
  }

  /** Denies a key for some seconds; 0: forever. */
  block(
    key: Key,
    secDuration: number,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    return this.#insured(async () => {
      const ms = checkNumber(secDuration, 'secDuration', 0) * 1000;
      await this.#counter.block(key, ms, this.#msOf(options));
      return new RateLimiterRes(0, ms === 0 ? -1 : ms, this.points + 1);
    }, (other) => other.block(key, secDuration, options));
  }

  /** Forgets a key; whether there was something to forget. */
  delete(key: Key, options: CallOptions = {}): Promise<boolean> {
    return this.#insured(async () => {
      this.#blocked.delete(this.getKey(key));
      const windowMs = this.#msOf(options);
      const { consumed, blockedMs } =
        await this.#counter.read(key, windowMs);
      await this.#counter.forget(key, windowMs);
      return consumed > 0 || blockedMs !== 0;
    }, (other) => other.delete(key, options));
  }

  deleteInMemoryBlockedAll(): void {
    this.#blocked.clear();
  }

  /** Ends the connections; rate-limiter-flexible has no such call. */
  close(): Promise<void> {
    return this.#counter.close();
  }
}

function checkPoints(points: number): number {
  if (Number.isSafeInteger(points) && points >= 0) return points;
  throw new LimitreeError('LIMITREE_INVALID_ARGUMENT',
    `points must be a whole number, 0 or greater, is ${shown(points)}`);
}

/** In this process, or with `store: 'shm://name'` in several. */
export class RateLimiterMemory extends Counted {
  constructor(options: RateLimiterOptions) {
    super(options, options?.store ?? 'memory://');
  }
}

/** In Redis or Valkey, by `store: 'redis://...'` or the server of a client. */
export class RateLimiterRedis extends Counted {
  constructor(options: RateLimiterStoreOptions) {
    super(options, options?.store ?? storeOf(options?.storeClient));
  }
}
