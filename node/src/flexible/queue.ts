// Callers that wait for their points, first come, first served.

import { LONGEST_TIMER_MS } from '../time.js';
import { shown } from '../words.js';
import { RateLimiterRes, type Key } from './result.js';

/** The limiters that a queue can wait for: also BurstyRateLimiter. */
export interface Queueable {
  readonly points: number;
  consume(key: Key, points?: number): Promise<RateLimiterRes>;
  get(key: Key): Promise<RateLimiterRes | null>;
}

export interface RateLimiterQueueOptions {
  /** The most callers of a key that wait.  Default 100 000. */
  readonly maxQueueSize?: number | undefined;
}

export class RateLimiterQueueError extends Error {
  constructor(message: string, readonly extra?: unknown) {
    super(message);
    this.name = 'RateLimiterQueueError';
  }
}

interface Waiting {
  readonly tokens: number;
  /** Seconds since 1970; 0: it waits as long as it takes. */
  readonly expiresUnixAt: number;
  readonly resolve: (remaining: number) => void;
  readonly reject: (error: unknown) => void;
}

const DEFAULT_KEY = 'limiter';
const MOST_WAITING = 100_000;

/** Has callers wait where a limiter would deny them. */
export class RateLimiterQueue {
  readonly #limiter: Queueable;
  readonly #most: number;
  /** Those who wait, by their keys. */
  readonly #lines = new Map<Key, Waiting[]>();

  constructor(limiter: Queueable, options: RateLimiterQueueOptions = {}) {
    const { maxQueueSize = MOST_WAITING } = options;
    if (!(maxQueueSize >= 0)) {
      throw new Error('maxQueueSize must be a number, 0 or greater, is ' +
        shown(maxQueueSize));
    }
    this.#limiter = limiter;
    this.#most = maxQueueSize;
  }

  /** The points that are left; all of them if the store fails. */
  async getTokensRemaining(key: Key = DEFAULT_KEY): Promise<number> {
    try {
      const res = await this.#limiter.get(key);
      return res === null ? this.#limiter.points : res.remainingPoints;
    } catch {
      return this.#limiter.points;
    }
  }

  /** Resolves to the points that are left, once there were enough. */
  removeTokens(
    tokens: number,
    key: Key = DEFAULT_KEY,
    expiresUnixAt = 0,
  ): Promise<number> {
    const { points } = this.#limiter;
    if (tokens > points) {
      return Promise.reject(new RateLimiterQueueError(
        `Requested tokens ${tokens} exceeds maximum ${points} tokens per ` +
          'interval'));
    }
    return new Promise((resolve, reject) => {
      const one = { tokens, expiresUnixAt, resolve, reject };
      const line = this.#lines.get(key);
      if (line === undefined) {
        const begun = [one];
        this.#lines.set(key, begun);
        void this.#serve(key, begun);
      } else if (line.length - 1 < this.#most) {
        line.push(one);  // the first one is asking
      } else {
        reject(full(this.#most));
      }
    });
  }

  /** Serves the line of a key until it is empty. */
  async #serve(key: Key, line: Waiting[]): Promise<void> {
    // Taken from the front without moving the others each time.
    for (let i = 0; i < line.length;) {
      const waitMs = await this.#ask(key, line[i]!, i === 0);
      if (waitMs === undefined) {
        ++i;
      } else {
        line.splice(0, i);
        i = 0;
        await sleep(waitMs);
        expire(line);
      }
    }
    this.#lines.delete(key);
  }

  /** Returns how long to wait if there are not enough points. */
  async #ask(
    key: Key,
    one: Waiting,
    isFirst: boolean,
  ): Promise<number | undefined> {
    try {
      const res = await this.#limiter.consume(key, one.tokens);
      one.resolve(res.remainingPoints);
    } catch (error) {
      if (error instanceof RateLimiterRes) {
        if (this.#most > 0 || !isFirst) return error.msBeforeNext;
        one.reject(full(this.#most));
      } else {
        one.reject(error);
      }
    }
    return undefined;
  }
}

function full(most: number): RateLimiterQueueError {
  return new RateLimiterQueueError(
    `Number of requests reached it's maximum ${most}`);
}

function expire(line: Waiting[]): void {
  const now = Math.floor(Date.now() / 1000);
  const isLate = ({ expiresUnixAt }: Waiting) =>
    expiresUnixAt > 0 && now >= expiresUnixAt;
  if (!line.some(isLate)) return;
  for (const one of line.filter(isLate)) {
    one.reject(new RateLimiterQueueError(
      'The request to remove tokens expired before it could be fulfilled'));
  }
  const others = line.filter((one) => !isLate(one));
  line.splice(0, line.length, ...others);
}

/** -1 is never: then it asks again from time to time. */
function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms < 0 ? 60_000 : Math.min(ms, LONGEST_TIMER_MS));
  });
}
