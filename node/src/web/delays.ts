// Requests that are slowed down instead of denied: those of a client who has
// used much of a limit wait before they go on.

import { LimitreeError } from '../errors.js';
import { denialOf } from '../made_decision.js';
import { shown } from '../words.js';
import { whenEnded, type Answer } from './ending.js';
import { RateLimitInfo, type Charger } from './info.js';
import type { WebOptions } from './options.js';
import { refuse } from './refuse.js';

const LONGEST_MS = 60_000;
const MOST_WAITING = 1000;

/** The connection of a request, as far as there is one. */
interface Connection {
  readonly response: Answer | undefined;
  readonly socket: object | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whether its client has gone before: then nothing tells it any more. */
  readonly hasGone: boolean;
}

function whole(value: unknown, name: string, most: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0 &&
      (value as number) <= most) {
    return value as number;
  }
  return refuse(`${name} must be a whole number from 0 to ${most}, is ` +
    shown(value));
}

/** The delays of one middleware. */
export class Delays<A, B> {
  readonly #after: number;
  readonly #delayMs: number | ((used: number, a: A, b: B) => number);
  readonly #longestMs: number;
  readonly #mostWaiting: number;
  #waiting = 0;

  /** Undefined if the options have none. */
  static of<A, B>(options: WebOptions<A, B>): Delays<A, B> | undefined {
    const { delayAfter, delayMs, maxDelayMs, maxDelayed } = options;
    if (delayAfter !== undefined) return new Delays(options);
    if ((delayMs ?? maxDelayMs ?? maxDelayed) !== undefined) {
      refuse('delayMs, maxDelayMs and maxDelayed need delayAfter');
    }
    return undefined;
  }

  private constructor(options: WebOptions<A, B>) {
    const { delayAfter, delayMs = 1000, maxDelayMs = LONGEST_MS,
            maxDelayed = MOST_WAITING } = options;
    this.#after = whole(delayAfter, 'delayAfter', Number.MAX_SAFE_INTEGER);
    this.#longestMs = whole(maxDelayMs, 'maxDelayMs', 86_400_000);
    this.#mostWaiting = whole(maxDelayed, 'maxDelayed', 1_000_000);
    this.#delayMs = typeof delayMs === 'function' ? delayMs
      : whole(delayMs, 'delayMs', 86_400_000);
  }

  /** How long to keep a request that is allowed. */
  msOf(info: RateLimitInfo, a: A, b: B): number {
    const { decision, used } = info;
    const more = used - this.#after;
    if (decision.limited || decision.unlimited || more <= 0) return 0;
    const ms = typeof this.#delayMs === 'function' ? this.#delayMs(used, a, b)
      : more * this.#delayMs;
    if (typeof ms !== 'number' || Number.isNaN(ms)) {
      refuse(`delayMs must return a number, has returned ${shown(ms)}`);
    }
    return Math.min(Math.max(0, ms), this.#longestMs);
  }

  /**
   * Resolves after `ms` to the same decision; to a denial if too many requests
   * wait.  Rejects as soon as the client has gone.
   */
  async wait(
    info: RateLimitInfo,
    ms: number,
    connection: Connection,
    charger: Charger,
  ): Promise<RateLimitInfo> {
    if (this.#waiting >= this.#mostWaiting) {
      await charger.giveBack(info);
      const { decision, path, cost, limit } = info;
      const policy = decision.levels?.[0]?.policy ?? 'delayed';
      return new RateLimitInfo(denialOf(policy, limit, ms, ms), path, cost,
                               undefined, charger);
    }
    ++this.#waiting;
    try {
      await sleep(ms, connection);
      return info;
    } catch (error) {
      if (info.reservation !== undefined) void charger.giveBack(info);
      throw error;
    } finally {
      --this.#waiting;
    }
  }
}

function sleep(
  ms: number,
  { response, socket, signal, hasGone }: Connection,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      stop?.();
      signal?.removeEventListener('abort', leave);
    };
    const leave = () => {
      end();
      reject(new LimitreeError('LIMITREE_CANCELLED', 'the client has gone'));
    };
    const timer = setTimeout(() => {
      end();
      resolve();
    }, ms);
    const stop = whenEnded(response, socket, leave);
    signal?.addEventListener('abort', leave);
    if (hasGone) leave();
  });
}
