// The limits of a plain limit, in the form of a tree.

import { msOf } from '../limits.js';
import { native } from '../native.js';
import { shown } from '../words.js';
import { refuse } from './refuse.js';
import type { WebOptions } from './options.js';
import type { Node } from './plain_tree.js';

const UNITS = [
  ['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000],
  ['ms', 1]] as const;

/** `900000` as `"15m"`. */
export function durationOf(ms: number): string {
  const unit = UNITS.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  return `${ms / unit[1]}${unit[0]}`;
}

function isPositive(number: unknown): boolean {
  return Number.isSafeInteger(number) && (number as number) > 0;
}

export function checkLimit(limit: unknown): void {
  if (isPositive(limit)) return;
  refuse('limit must be a whole number greater than 0, is ' +
    `${shown(limit)}; to let nobody through, do that in a handler of its own`);
}

/** Milliseconds of a window, which may be a text such as `"15 minutes"`. */
export function windowOf(window: unknown): number {
  let ms = window;
  try {
    if (typeof window === 'string') ms = msOf(window, 'windowMs');
  } catch (error) {
    refuse((error as Error).message);
  }
  if (isPositive(ms)) return ms as number;
  return refuse('windowMs must be a whole number of milliseconds greater than' +
    ` 0, or a text such as "15 minutes", is ${shown(window)}`);
}

/** Other names for gcra, which need no words of their own. */
const EVEN = ['gcra', 'token_bucket', 'leaky_bucket'];

const OTHERS = native.algorithms.filter((name) => !name.includes(','));

const ALGORITHMS = [...new Set([...EVEN, ...OTHERS])];

/** What all limits of a middleware have in common. */
export interface Bucket {
  /** Whether what was used comes back at an even pace. */
  readonly burst: boolean;
  readonly rest: Readonly<Record<string, string>>;
}

/** Reads the algorithm, and what a limit whose requests reserve says. */
export function bucketOf(options: WebOptions<never, never>): Bucket {
  const { algorithm = 'gcra', reserve = false } = options;
  if (!ALGORITHMS.includes(algorithm)) {
    refuse(`algorithm must be one of ${ALGORITHMS.join(', ')}, is ` +
      shown(algorithm));
  }
  const burst = EVEN.includes(algorithm);
  const rest: Record<string, string> = burst ? {} : { algorithm };
  if (reserve === true) {
    refuse('a plain limit holds nothing by itself: give reserve a time, such ' +
      'as "30s"');
  }
  if (reserve !== false) {
    rest['hold'] = typeof reserve === 'number' ? `${reserve}ms` : reserve;
  } else if (algorithm === 'fixed_window') {
    // As everywhere in Node.js: a window begins with a request of the client.
    rest['align'] = 'first';
  }
  return { burst, rest };
}

function limitsOf(bucket: Bucket, count: number, period: string): Node {
  const burst = bucket.burst ? { burst: count } : {};
  return { limits: { count, period, ...burst, ...bucket.rest } };
}

/**
 * The node of a client.  Without `limit` or `windowMs`, functions compute them,
 * and `known` has their results: `"100"`, or `"15m 100"` with the window.
 * Limits of one window share a bucket.
 */
export function clientNode(
  bucket: Bucket,
  limit: number | undefined,
  windowMs: number | undefined,
  known: readonly string[],
): Node {
  if (windowMs !== undefined) {
    const period = durationOf(windowMs);
    return limit === undefined ? tierNode(bucket, period, known)
      : limitsOf(bucket, limit, period);
  }
  const counts = new Map<string, string[]>();
  for (const one of known) {
    const [period, count] = one.split(' ') as [string, string];
    counts.set(period, [...counts.get(period) ?? [], count]);
  }
  if (counts.size === 0) return {};
  return { children: Object.fromEntries([...counts].map(
    ([period, some]) => [period, tierNode(bucket, period, some)])) };
}

function tierNode(
  bucket: Bucket,
  period: string,
  counts: readonly string[],
): Node {
  if (counts.length === 0) return {};
  return { key: 'tier', children: Object.fromEntries(counts.map(
    (count) => [count, limitsOf(bucket, Number(count), period)])) };
}
