// Callers that wait where they would be denied: one line for each path, first
// come, first served.  Only the first of a line asks the limiter.

import type { Cost } from './cost.js';
import type { Decision } from './decision.js';
import type { Signal } from './delivery.js';
import { LimitreeError, invalidArgument } from './errors.js';
import { msOf } from './limits.js';
import type { Path } from './paths.js';
import { LONGEST_TIMER_MS } from './time.js';
import { checkNames, shown } from './words.js';

export interface WaitOptions {
  /** As in `authorize`. */
  readonly cost?: Cost | undefined;
  /**
   * The longest time to wait: milliseconds, or a text such as `"10s"`.
   * Default 60 s.
   */
  readonly maxWait?: number | string | undefined;
  /** The most callers that wait for this path in this process: default 1000. */
  readonly maxQueue?: number | undefined;
  /** Stops waiting. */
  readonly signal?: Signal | undefined;
}

/** Decides about a path, as Limiter.authorize. */
type Ask = (
  path: Path, options: { readonly cost?: Cost | undefined },
) => Promise<Decision>;

interface Waiting {
  readonly cost: Cost | undefined;
  readonly deadline: number;
  /** How many may wait, this one included. */
  readonly maxQueue: number;
  /** Called once; whoever is gone is passed over. */
  readonly end: (answer: Decision | undefined, error?: unknown) => void;
  isGone: boolean;
}

/** How long a caller waits, and behind how many others. */
interface Bounds {
  readonly maxMs: number;
  readonly maxQueue: number;
  readonly signal: Signal | undefined;
}

interface Line {
  readonly path: Path;
  readonly callers: Waiting[];
  /** How many of them are still waiting. */
  waiting: number;
  /** The last denial, for those who cannot wait. */
  denial: Decision | undefined;
  /** Whether those who came before there was a denial have been counted. */
  isBounded: boolean;
  /** Ends the pause of the line. */
  wake: (() => void) | undefined;
}

const NAMES = ['cost', 'maxWait', 'maxQueue', 'signal'];

/** The lines of one limiter. */
export class Lines {
  readonly #lines = new Map<string, Line>();
  readonly #ask: Ask;
  #isClosed = false;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** Resolves to a permission, or to the denial of one who cannot wait. */
  async wait(path: Path, options: WaitOptions = {}): Promise<Decision> {
    checkNames(options, NAMES, '{maxWait: "10s"}');
    const { cost, maxQueue = 1000, signal } = options;
    const maxMs = Math.min(msOf(options.maxWait ?? 60_000, 'maxWait'),
                           LONGEST_TIMER_MS);
    if (!Number.isSafeInteger(maxQueue) || maxQueue < 0) {
      throw invalidArgument('maxQueue must be a whole number, 0 or greater, ' +
        `is ${shown(maxQueue)}`);
    }
    if (signal?.aborted) throw signal.reason;
    const key = JSON.stringify(path, (_, value: unknown) =>
      typeof value === 'bigint' ? String(value) : value);
    const line = this.#lines.get(key);
    // The denial of the first one holds for all behind it.
    if (line?.denial !== undefined && line.waiting >= maxQueue) {
      return line.denial;
    }
    return this.#join(key, path, cost, { maxMs, maxQueue, signal });
  }

  /** Ends all lines. */
  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) line.wake?.();
  }

  #join(
    key: string,
    path: Path,
    cost: Cost | undefined,
    { maxMs, maxQueue, signal }: Bounds,
  ): Promise<Decision> {
    let line = this.#lines.get(key);
    const isNew = line === undefined;
    // Callers may use their array again.
    line ??= { path: Array.isArray(path) ? [...path] : path, callers: [],
               waiting: 0, denial: undefined, isBounded: false,
               wake: undefined };
    const joined = line;
    const promise = new Promise<Decision>((resolve, reject) => {
      const leave = () => {
        one.isGone = true;
        --joined.waiting;
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const one: Waiting = {
        cost: copyOf(cost), deadline: performance.now() + maxMs, maxQueue,
        isGone: false,
        end(answer, error) {
          if (one.isGone) return;
          leave();
          if (answer === undefined) reject(error);
          else resolve(answer);
        },
      };
      const onAbort = () => one.end(undefined, signal!.reason);
      // Until there is an answer about the first one, it decides.
      const timer = setTimeout(() => {
        if (joined.denial !== undefined) one.end(joined.denial);
      }, maxMs);
      signal?.addEventListener('abort', onAbort);
      joined.callers.push(one);
      ++joined.waiting;
    });
    if (isNew) {
      this.#lines.set(key, joined);
      void this.#serve(key, joined);
    }
    return promise;
  }

  async #serve(key: string, line: Line): Promise<void> {
    const { callers } = line;
    // The front is cut off from time to time, not for each caller.
    let at = 0;
    while (at < callers.length) {
      const one = callers[at]!;
      if (one.isGone) {
        ++at;
        continue;
      }
      const waitMs = await this.#serveOne(line, one);
      if (waitMs === undefined) {
        ++at;
        continue;
      }
      callers.splice(0, at);
      at = 0;
      await pause(line, waitMs);
    }
    this.#lines.delete(key);
  }

  /** Returns how long the line has to wait; undefined: it moves up. */
  async #serveOne(line: Line, one: Waiting): Promise<number | undefined> {
    if (this.#isClosed) {
      one.end(undefined, new LimitreeError(
        'LIMITREE_CANCELLED', 'the limiter is closed'));
      return undefined;
    }
    try {
      const decision = await this.#ask(line.path, { cost: one.cost });
      // Not retryAfterMs, which may be spread: callers in line are already.
      const { limited, nextAfterMs } = decision;
      if (limited) line.denial = decision;
      if (limited && one.maxQueue > 0 &&
          performance.now() + nextAfterMs <= one.deadline) {
        bound(line, decision);
        return nextAfterMs;
      }
      one.end(decision);
    } catch (error) {
      one.end(undefined, error);
    }
    return undefined;
  }
}

/** The units of a cost may be changed by whoever waits. */
function copyOf(cost: Cost | undefined): Cost | undefined {
  return typeof cost === 'object' && cost !== null ? { ...cost } : cost;
}

/** Denies those who came when nobody had to wait, and are too many now. */
function bound(line: Line, denial: Decision): void {
  if (line.isBounded) return;
  line.isBounded = true;
  let before = 0;
  for (const one of line.callers) {
    if (one.isGone) continue;
    if (before < one.maxQueue) ++before;
    else one.end(denial);
  }
}

/** A timer may be a millisecond late: that is little of a longer wait. */
const LONG_MS = 100;

/**
 * Not a moment too early, and short waits not a moment too late: a limit
 * without a burst would lose what a line of many comes too late for.
 */
function pause(line: Line, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const due = performance.now() + ms;
    let isWoken = false;
    const look = () => {
      if (isWoken || performance.now() >= due) resolve();
      else setImmediate(look);
    };
    const sleepMs = ms > LONG_MS ? Math.ceil(ms) : Math.floor(ms) - 2;
    const timer = setTimeout(look, Math.min(sleepMs, LONGEST_TIMER_MS));
    line.wake = () => {
      isWoken = true;
      clearTimeout(timer);
      resolve();
    };
  });
}
