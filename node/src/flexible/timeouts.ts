// A limiter whose answers come in time, or not at all.

import { LONGEST_TIMER_MS } from '../time.js';
import { shown } from '../words.js';
import { Asking, RateLimiterRes, isLimiter } from './result.js';
import type { CallOptions, Key, RateLimiterLike } from './result.js';

export interface TimeoutsOptions {
  readonly limiter: RateLimiterLike;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Decides when the limiter fails or is late. */
  readonly insuranceLimiter?: RateLimiterLike | undefined;
  readonly keyPrefix?: string | undefined;
}

function insuranceOf(limiter: RateLimiterLike): RateLimiterLike | undefined {
  return (limiter as Partial<TimeoutsOptions>).insuranceLimiter;
}

/** Rejects, or asks the insurance, when a limiter takes too long. */
export class RLWrapperTimeouts extends Asking implements RateLimiterLike {
  readonly keyPrefix: string;
  blockDuration = 0;
  execEvenly = false;
  readonly limiter: RateLimiterLike;
  readonly insuranceLimiter: RateLimiterLike | undefined;
  readonly timeoutMs: number;

  constructor(options: TimeoutsOptions) {
    super();
    const { limiter, timeoutMs = 0, keyPrefix = 'rlflx' } = options ?? {};
    if (!isLimiter(limiter)) {
      throw new TypeError(`limiter must be a limiter, is ${shown(limiter)}`);
    }
    const { insuranceLimiter = insuranceOf(limiter) } = options;
    if (insuranceLimiter !== undefined && !isLimiter(insuranceLimiter)) {
      throw new TypeError('insuranceLimiter must be a limiter, is ' +
        shown(insuranceLimiter));
    }
    if (!(timeoutMs >= 0)) {
      throw new TypeError('timeoutMs must be a number, 0 or greater, is ' +
        shown(timeoutMs));
    }
    this.limiter = limiter;
    this.insuranceLimiter = insuranceLimiter;
    this.timeoutMs = Math.min(timeoutMs, LONGEST_TIMER_MS);
    this.keyPrefix = keyPrefix;
  }

  /** What a call of the limiter answers, or else one of the insurance. */
  protected async ask<T>(
    _: Key, call: (limiter: RateLimiterLike) => Promise<T>,
  ): Promise<T> {
    try {
      return await this.#inTime(call(this.limiter));
    } catch (error) {
      const other = this.insuranceLimiter;
      if (other === undefined || error instanceof RateLimiterRes) throw error;
      return call(other);
    }
  }

  #inTime<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error('Operation timed out')), this.timeoutMs);
      answer.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }

  get(key: Key, options: CallOptions = {}) {
    return this.ask(key, (one) => one.get(key, options));
  }

  delete(key: Key, options: CallOptions = {}) {
    return this.ask(key, (one) => one.delete(key, options));
  }
}
