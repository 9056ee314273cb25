// Limiters made of other limiters.

import { shown } from '../words.js';
import { Asking, RateLimiterRes, isLimiter } from './result.js';
import type { CallOptions, Key, RateLimiterLike } from './result.js';

/** The answers of several limiters, by their keyPrefix. */
export type UnionRes = Record<string, RateLimiterRes>;

/** Several limiters, all of which must allow an action. */
export class RateLimiterUnion {
  readonly #limiters: readonly RateLimiterLike[];

  constructor(...limiters: readonly RateLimiterLike[]) {
    if (limiters.length === 0) {
      throw new Error(
        'RateLimiterUnion: at least one limiter have to be passed');
    }
    for (const limiter of limiters) {
      if (isLimiter(limiter)) continue;
      throw new Error('RateLimiterUnion: all limiters have to be limiters, ' +
        `one is ${shown(limiter)}`);
    }
    this.#limiters = limiters;
  }

  /**
   * Resolves to the answers of all.  If some deny, the others get back what
   * they have counted, and this rejects with the denials, or with an error.
   */
  async consume(key: Key, points = 1): Promise<UnionRes> {
    const answers = await Promise.allSettled(
      this.#limiters.map((limiter) => limiter.consume(key, points)));
    const passed: UnionRes = {};
    const denied: UnionRes = {};
    let failure: unknown;
    answers.forEach((answer, i) => {
      const { keyPrefix } = this.#limiters[i]!;
      if (answer.status === 'fulfilled') passed[keyPrefix] = answer.value;
      else if (answer.reason instanceof RateLimiterRes) {
        denied[keyPrefix] = answer.reason;
      } else failure ??= answer.reason;
    });
    if (failure === undefined && Object.keys(denied).length === 0) {
      return passed;
    }
    await Promise.allSettled(this.#limiters
      .filter((_, i) => answers[i]!.status === 'fulfilled')
      .map((limiter) => limiter.reward(key, points)));
    throw failure ?? denied;
  }
}

/** What BurstyRateLimiter asks of its limiters. */
type Burstable = Pick<RateLimiterLike, 'consume' | 'get'> &
  { readonly points: number };

/** A limiter, and a second one for those whom the first denies. */
export class BurstyRateLimiter {
  readonly #limiter: Burstable;
  readonly #burst: Burstable;

  constructor(rateLimiter: Burstable, burstLimiter: Burstable) {
    this.#limiter = rateLimiter;
    this.#burst = burstLimiter;
  }

  get points(): number {
    return this.#limiter.points;
  }

  async consume(
    key: Key,
    points = 1,
    options: CallOptions = {},
  ): Promise<RateLimiterRes> {
    let denial: RateLimiterRes;
    try {
      return await this.#limiter.consume(key, points, options);
    } catch (error) {
      if (!(error instanceof RateLimiterRes)) throw error;
      denial = error;
    }
    try {
      return both(
        denial, await this.#burst.consume(key, points, options));
    } catch (error) {
      throw error instanceof RateLimiterRes ? both(denial, error) : error;
    }
  }

  /** What the first limiter says; null if it knows nothing of the key. */
  async get(key: Key): Promise<RateLimiterRes | null> {
    const [first, second] =
      await Promise.all([this.#limiter.get(key), this.#burst.get(key)]);
    return first === null ? null : both(first, second);
  }
}

function both(
  first: RateLimiterRes,
  second: RateLimiterRes | null,
): RateLimiterRes {
  return new RateLimiterRes(
    first.remainingPoints,
    Math.min(first.msBeforeNext, second?.msBeforeNext ?? 0),
    first.consumedPoints, first.isFirstInDuration);
}

export interface BlackAndWhiteOptions {
  readonly limiter: RateLimiterLike;
  readonly blackList?: readonly Key[] | undefined;
  readonly whiteList?: readonly Key[] | undefined;
  readonly isBlackListed?: ((key: Key) => boolean) | undefined;
  readonly isWhiteListed?: ((key: Key) => boolean) | undefined;
  /** Whether the limiter counts these keys all the same. */
  readonly runActionAnyway?: boolean | undefined;
}

const NO_KEYS = () => false;

/** Keys that are always denied, and keys that are never. */
export class RLWrapperBlackAndWhite
  extends Asking implements RateLimiterLike {
  readonly #limiter: RateLimiterLike;
  readonly #black: ReadonlySet<Key>;
  readonly #white: ReadonlySet<Key>;
  readonly #isBlack: (key: Key) => boolean;
  readonly #isWhite: (key: Key) => boolean;
  readonly #runsAnyway: boolean;

  constructor(options: BlackAndWhiteOptions) {
    super();
    const { limiter, isBlackListed = NO_KEYS, isWhiteListed = NO_KEYS } =
      options ?? {};
    if (!isLimiter(limiter)) throw new Error('limiter is not set');
    for (const [name, value] of Object.entries(
      { isBlackListed, isWhiteListed })) {
      if (typeof value !== 'function') {
        throw new Error(`${name} must be function`);
      }
    }
    this.#limiter = limiter;
    this.#black = new Set(options.blackList);
    this.#white = new Set(options.whiteList);
    this.#isBlack = isBlackListed;
    this.#isWhite = isWhiteListed;
    this.#runsAnyway = options.runActionAnyway === true;
  }

  get limiter(): RateLimiterLike {
    return this.#limiter;
  }

  get keyPrefix(): string {
    return this.#limiter.keyPrefix;
  }

  get blockDuration(): number {
    return this.#limiter.blockDuration;
  }

  set blockDuration(seconds: number) {
    this.#limiter.blockDuration = seconds;
  }

  get execEvenly(): boolean {
    return this.#limiter.execEvenly;
  }

  set execEvenly(isEven: boolean) {
    this.#limiter.execEvenly = isEven;
  }

  /** The answer of the lists; undefined: the limiter has to answer. */
  #listed(key: Key): RateLimiterRes | undefined {
    const { MAX_SAFE_INTEGER: most } = Number;
    if (this.#white.has(key) || this.#isWhite(key)) {
      return new RateLimiterRes(most, 0, 0, false);
    }
    return this.#black.has(key) || this.#isBlack(key)
      ? new RateLimiterRes(0, most, 0, false) : undefined;
  }

  async #run<T extends RateLimiterRes | null>(
    key: Key,
    run: () => Promise<T>,
    denies = false,
  ): Promise<T | RateLimiterRes> {
    const listed = this.#listed(key);
    if (listed === undefined) return run();
    // Nobody waits for it, and nobody else catches what it throws.
    if (this.#runsAnyway) run().catch(() => undefined);
    if (denies && listed.remainingPoints === 0) throw listed;
    return listed;
  }

  protected ask(
    key: Key, call: (limiter: RateLimiterLike) => Promise<RateLimiterRes>,
  ): Promise<RateLimiterRes> {
    return this.#run(key, () => call(this.#limiter));
  }

  override consume(key: Key, points = 1, options: CallOptions = {}) {
    return this.#run(
      key, () => this.#limiter.consume(key, points, options), true);
  }

  async get(
    key: Key,
    options: CallOptions = {},
  ): Promise<RateLimiterRes | null> {
    return this.#runsAnyway ? this.#limiter.get(key, options)
      : this.#run(key, () => this.#limiter.get(key, options));
  }

  delete(key: Key, options: CallOptions = {}): Promise<boolean> {
    return this.#limiter.delete(key, options);
  }
}
