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

/** A limiter that can stand in for another. */
export interface RateLimiterLike {
  readonly keyPrefix: string;
  blockDuration: number;
  execEvenly: boolean;
  consume(key: Key, points?: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  penalty(key: Key, points?: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  reward(key: Key, points?: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  get(key: Key, options?: CallOptions): Promise<RateLimiterRes | null>;
  set(key: Key, points: number, secDuration: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  block(key: Key, secDuration: number, options?: CallOptions):
    Promise<RateLimiterRes>;
  delete(key: Key, options?: CallOptions): Promise<boolean>;
}

/** For limiters of a program, which stand in for those of this package. */
export abstract class RateLimiterCompatibleAbstract implements RateLimiterLike {
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
