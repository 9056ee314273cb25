// The counts of keys and how long they are blocked, in a limiter of the core:
// a fixed window and a block for each key.

import type { Clock } from '../clock.js';
import type { Decision } from '../decision.js';
import { invalidArgument } from '../errors.js';
import { Limiter } from '../limiter.js';
import { isMemory } from '../stores.js';
import type { StoreOptions } from '../limits.js';
import { wellFormed, type Path, type PathList } from '../paths.js';
import { shown } from '../words.js';
import type { Key } from './result.js';

/** The most that a limit of the core counts. */
const MOST_POINTS = 4_000_000_000;

/** A window that does not end, and the longest block: 100 years. */
const FOREVER_MS = 36_500 * 86_400_000;

/** Windows of other lengths, which callers name. */
const MOST_WINDOWS = 100;

/** The most points that are told apart in a window; 0: forever. */
export function mostPoints(windowMs: number): number {
  return Math.min(MOST_POINTS, (windowMs || FOREVER_MS) * 1_000_000);
}

/** What is known about a key. */
export interface Found {
  readonly consumed: number;
  /** Until the window ends; -1: never. */
  readonly leftMs: number;
  /** How long the key is blocked; -1: forever, 0: it is not. */
  readonly blockedMs: number;
}

export class Counter {
  readonly #limiter: Limiter;
  readonly #root: string;
  /** Milliseconds of windows that the limiter knows. */
  readonly #windows = new Map<number, Promise<void> | true>();

  constructor(
    keyPrefix: string,
    windowMs: number,
    options: StoreOptions,
    clock: Clock | undefined,
  ) {
    this.#root = keyPrefix === '' ? 'points' : keyPrefix;
    if (this.#root.includes('*')) {
      throw invalidArgument(
        `keyPrefix must not contain *, is ${shown(keyPrefix)}`);
    }
    this.#windows.set(checkMs(windowMs === 0 ? FOREVER_MS : windowMs), true);
    const now = isMemory(options.store) ? () => Date.now() : undefined;
    this.#limiter = new Limiter({
      ...options, clock: clock ?? now,
      limits: { schema: {
        [this.#root]: this.#node(),
        [this.#blocks]: { children: { '*': { limits: { block: true } } } } } },
    });
  }

  get #blocks(): string {
    return `${this.#root}~blocked`;
  }

  #node(): object {
    return { children: { '*': { children: Object.fromEntries(
      [...this.#windows.keys()].map((ms) => [String(ms), { limits: {
        count: mostPoints(ms), period: `${ms}ms`, algorithm: 'fixed_window',
        align: 'first' } }])) } } };
  }

  /** The windows of one length are known once this has resolved. */
  #know(windowMs: number): Promise<void> | true {
    const known = this.#windows.get(windowMs);
    if (known !== undefined) return known;
    if (this.#windows.size === MOST_WINDOWS) {
      throw invalidArgument(`a duration of ${windowMs / 1000} s would be one ` +
        `too many: there are ${MOST_WINDOWS} different ones already`);
    }
    this.#windows.set(checkMs(windowMs), Promise.resolve());
    const changed =
      this.#limiter.put(this.#root, this.#node(), { replace: true });
    this.#windows.set(windowMs, changed);
    changed.then(() => this.#windows.set(windowMs, true),
                 () => this.#windows.delete(windowMs));
    return changed;
  }

  /** Runs with the window of a key; at once, unless it is a new one. */
  #with<T>(
    key: Key,
    ms: number,
    run: (window: Path) => Promise<T>,
  ): Promise<T> {
    const windowMs = ms === 0 ? FOREVER_MS : ms;
    const window = [this.#root, wellFormed(String(key)), String(windowMs)];
    const known = this.#know(windowMs);
    return known === true ? run(window) : known.then(() => run(window));
  }

  /** A window, and whether its key is blocked. */
  #both(key: Key, path: Path, cost: number): PathList {
    return [{ path, cost }, this.#block(key)];
  }

  /** Counts points; if the key is blocked, it counts nothing. */
  add(key: Key, points: number, windowMs: number): Promise<Found> {
    return this.#with(key, windowMs, async (window) => {
      const decision = await this.#limiter.authorizeAll(
        this.#both(key, window, points), { levels: true });
      const before = found(decision);
      if (!decision.levels![0]!.limited || before.blockedMs !== 0) {
        return before;
      }
      // What does not fit into the window fills it.
      await this.#limiter.spend(window, { cost: points });
      return { ...await this.read(key, windowMs),
               consumed: before.consumed + points };
    });
  }

  /** Takes points back; there are never less than none. */
  async take(key: Key, points: number, windowMs: number): Promise<Found> {
    await this.#with(key, windowMs, (window) =>
      this.#limiter.refund(window, { cost: points }));
    return this.read(key, windowMs);
  }

  read(key: Key, windowMs: number): Promise<Found> {
    return this.#with(key, windowMs, (window) => this.#limiter.peekAll(
      this.#both(key, window, 0), { levels: true })).then(found);
  }

  #block(key: Key): Path {
    return [this.#blocks, wellFormed(String(key))];
  }

  /**
   * Blocks a key for some time, from now on; 0: forever.  It then has used
   * `points`, as long as its window lasts.
   */
  async block(
    key: Key,
    ms: number,
    windowMs: number,
    points = 0,
  ): Promise<void> {
    // The window must not deny for longer than the block does.
    const cost = ms === 0 || ms >= windowMs ? points : 0;
    // What is in memory is done before anybody else can ask.
    await Promise.all([
      this.#limiter.block(this.#block(key), ms === 0 ? FOREVER_MS : ms),
      this.#with(key, windowMs, async (window) => {
        await this.#limiter.reset(window);
        if (cost > 0) await this.#limiter.spend(window, { cost });
      })]);
  }

  /** Forgets a key. */
  async forget(key: Key, windowMs: number): Promise<void> {
    await Promise.all([
      this.#with(key, windowMs, (window) => this.#limiter.reset(window)),
      this.#limiter.unblock(this.#block(key))]);
  }

  close(): Promise<void> {
    return this.#limiter.close();
  }
}

function checkMs(ms: number): number {
  if (Number.isSafeInteger(ms) && ms >= 1 && ms <= FOREVER_MS) return ms;
  throw invalidArgument('a duration must be at least a millisecond, at most ' +
    `100 years and in whole milliseconds, is ${ms / 1000} s`);
}

function found(decision: Decision): Found {
  const [window, block] = decision.levels!;
  return {
    consumed: window!.limit - window!.remaining,
    leftMs: window!.windowMs >= FOREVER_MS ? -1
      : Math.ceil(window!.resetAfterMs),
    blockedMs: !block!.limited ? 0
      : block!.retryAfterMs > FOREVER_MS / 2 ? -1
      : Math.ceil(block!.retryAfterMs) };
}
