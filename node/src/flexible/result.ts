// What rate-limiter-flexible answers.

/** What a key has used; a denial is rejected with it. */
export class RateLimiterRes {
  constructor(
    /** Points that are left. */
    public remainingPoints = 0,
    /** Until the points are back; -1: never. */
    public msBeforeNext = 0,
    /** Points that are used, which may be more than there are. */
    public consumedPoints = 0,
    /** Whether the window has begun with this call. */
    public isFirstInDuration = false,
  ) {}

  toJSON(): object {
    const { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration } =
      this;
    return { remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration };
  }

  toString(): string {
    return JSON.stringify(this);
  }
}

/** For limiters of a program, which stand in for those of this package. */
export abstract class RateLimiterCompatibleAbstract {
  abstract readonly keyPrefix: string;
  abstract blockDuration: number;
  abstract execEvenly: boolean;
  abstract consume(key: Key, points?: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  abstract penalty(key: Key, points?: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  abstract reward(key: Key, points?: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  abstract get(key: Key, options?: CallOptions): Promise<RateLimiterRes | null>;
  abstract set(key: Key, points: number, secDuration: number,
               options?: CallOptions): Promise<RateLimiterRes>;
  abstract block(key: Key, secDuration: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  abstract delete(key: Key, options?: CallOptions): Promise<boolean>;
}

/** A limiter that can stand in for another. */
export interface RateLimiterLike extends RateLimiterCompatibleAbstract {}

/** Passes on most calls to another limiter, if there is need. */
export abstract class Asking {
  /** Returns the answer of `call`, or another one. */
  protected abstract ask(
    key: Key, call: (limiter: RateLimiterLike) => Promise<RateLimiterRes>,
  ): Promise<RateLimiterRes>;

  consume(key: Key, points = 1, options: CallOptions = {}) {
    return this.ask(key, (one) => one.consume(key, points, options));
  }

  penalty(key: Key, points = 1, options: CallOptions = {}) {
    return this.ask(key, (one) => one.penalty(key, points, options));
  }

  reward(key: Key, points = 1, options: CallOptions = {}) {
    return this.ask(key, (one) => one.reward(key, points, options));
  }

  set(key: Key, points: number, secDuration: number,
      options: CallOptions = {}) {
    return this.ask(key, (one) => one.set(key, points, secDuration, options));
  }

  block(key: Key, secDuration: number, options: CallOptions = {}) {
    return this.ask(key, (one) => one.block(key, secDuration, options));
  }
}

export type Key = string | number;

export interface CallOptions {
  /** Seconds of the window of this call, which counts for itself. */
  readonly customDuration?: number | undefined;
}

const METHODS = ['consume', 'penalty', 'reward', 'get', 'set', 'block',
                 'delete'] as const;

for (const name of METHODS) {
  Object.defineProperty(RateLimiterCompatibleAbstract.prototype, name, {
    value() { throw new Error(`${name} is not implemented`); },
    writable: true, configurable: true });
}

/** Whether all methods of a limiter are there. */
export function isLimiter(value: unknown): value is RateLimiterLike {
  return typeof value === 'object' && value !== null && METHODS.every(
    (name) => typeof (value as Partial<RateLimiterLike>)[name] === 'function');
}
