// What becomes of clients who go on although they were denied: they wait
// longer, or are banned.  The core keeps both: a block, and a limit that counts
// denials.

import type { Decision } from '../decision.js';
import { isDone } from '../errors.js';
import type { Limiter } from '../limiter.js';
import { denialOf } from '../made_decision.js';
import type { Path, Segment } from '../paths.js';
import { shown } from '../words.js';
import { refuse } from './refuse.js';
import { webStoreOptionsOf, type WebOptions } from './options.js';
import type { Plain } from './plain.js';
import { durationOf } from './plain_node.js';
import type { PlainTree } from './plain_tree.js';

/** No client is blocked for longer, unless its window is. */
const LONGEST_MS = 86_400_000;

const LEVELS = { levels: true };

/** A decision, and whether its client is banned. */
export interface Ruling {
  readonly decision: Decision;
  readonly isBanned: boolean;
}

/** How many denials a client may have: -1 for any number. */
export function banOf({ ban = -1 }: WebOptions<never, never>): number {
  if (Number.isSafeInteger(ban) && ban >= -1) return ban;
  return refuse('ban must be a whole number of denials, or -1 for no ban, is ' +
    shown(ban));
}

/** The penalties of a plain limit. */
export class Penalties {
  readonly #plain: Plain<never, never>;
  readonly #ban: number;
  readonly #doubles: boolean;
  readonly #blocks: boolean;
  readonly #longestMs: number;
  /** Whether a store that fails is an error. */
  readonly #raises: boolean;

  /** Undefined if the options have none. */
  static of<A, B>(
    plain: Plain<A, B>,
    tree: PlainTree,
    options: WebOptions<A, B>,
  ): Penalties | undefined {
    const { continueExceeding = false, exponentialBackoff = false } = options;
    const some = continueExceeding || exponentialBackoff || banOf(options) >= 0;
    return some ? new Penalties(plain as never, tree, options) : undefined;
  }

  private constructor(
    plain: Plain<never, never>,
    tree: PlainTree,
    options: WebOptions<never, never>,
  ) {
    const { continueExceeding = false, exponentialBackoff = false } = options;
    const { windowMs } = plain;
    this.#plain = plain;
    this.#ban = banOf(options);
    this.#raises = webStoreOptionsOf(options).onStoreError === 'raise';
    this.#doubles = exponentialBackoff && !continueExceeding;
    this.#blocks = continueExceeding || exponentialBackoff;
    this.#longestMs = this.#doubles || windowMs === undefined
      ? Math.max(windowMs ?? 0, LONGEST_MS) : windowMs;
    if (this.#blocks) {
      tree.add(this.#blocked, plain.nodeWith({ block: true }));
    }
    if (this.#ban > 0) {
      if (windowMs === undefined) {
        refuse('ban counts denials in a window: windowMs must not be a ' +
          'function');
      }
      tree.add(this.#denied, plain.nodeWith({
        count: this.#ban, period: durationOf(windowMs),
        algorithm: 'fixed_window', align: 'first' }));
    }
  }

  get #blocked(): string {
    return `${this.#plain.name}~blocked`;
  }

  get #denied(): string {
    return `${this.#plain.name}~denied`;
  }

  /** Forgets what is known about the client with this key. */
  async forget(limiter: Limiter, given: Segment): Promise<void> {
    const key = this.#plain.keyOf(given);
    await Promise.all([
      this.#blocks ? limiter.unblock([this.#blocked, key]) : undefined,
      this.#ban > 0 ? limiter.reset([this.#denied, key]) : undefined]);
  }

  /** The denial of a client who is blocked; undefined for all others. */
  async look(limiter: Limiter, path: Path): Promise<Decision | undefined> {
    const { key, windowMs, limit } = this.#plain.asked(path);
    if (!this.#blocks) return undefined;
    const before = await limiter.peek([this.#blocked, key], LEVELS);
    return !before.limited || before.degraded ? undefined
      : denialOf(policyOf(before), limit, windowMs, before.retryAfterMs);
  }

  /** Decides by `ask`, which decides about the path. */
  async decide(
    limiter: Limiter,
    path: Path,
    ask: () => Promise<Decision> | Decision,
  ): Promise<Ruling> {
    const { key, windowMs, limit } = this.#plain.asked(path);
    const blocked = [this.#blocked, key];
    const before = this.#blocks
      ? await limiter.peek(blocked, LEVELS) : undefined;
    // While the store is away, nobody knows who is blocked.
    const knows = before?.degraded === false;
    const leftMs = knows && before.limited ? before.retryAfterMs : 0;
    const decision = leftMs > 0 ? undefined : await ask();
    // What an outage denies is no client's fault.
    if (decision?.limited === false || decision?.source === 'deny') {
      return { decision, isBanned: false };
    }
    const isBanned = await this.#bans(limiter, key);
    if (!knows) return { decision: decision!, isBanned };
    const resetMs = this.#next(leftMs, windowMs);
    if (resetMs > leftMs) {
      const blocking = limiter.block(blocked, resetMs);
      if (this.#raises) await blocking;
      else if (!await isDone(blocking) && decision !== undefined) {
        return { decision, isBanned };
      }
    }
    return { isBanned, decision: denialOf(
      policyOf(before), limit, windowMs, resetMs) };
  }

  /** For how long to block a client who is blocked already, or was denied. */
  #next(leftMs: number, windowMs: number): number {
    if (!this.#doubles || leftMs <= 0) return windowMs;
    const steps = Math.max(0, Math.ceil(Math.log2(leftMs / windowMs)));
    return Math.min(windowMs * 2 ** (steps + 1), this.#longestMs);
  }

  /** Counts a denial. */
  async #bans(limiter: Limiter, key: Segment): Promise<boolean> {
    if (this.#ban <= 0) return this.#ban === 0;
    const { limited, source } = await limiter.authorize([this.#denied, key]);
    return limited && source !== 'deny';
  }
}

/** The name of the limit whose blocks `before` is about. */
function policyOf(before: Decision): string {
  return before.levels![0]!.policy.replace(/~blocked(:.*)#blocked$/, '$1');
}
