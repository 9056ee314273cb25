// The options of a limiter and of its methods.

import { checkFlag } from './call_options.js';
import type { Clock } from './clock.js';
import { invalidArgument } from './errors.js';
import * as at from './layout.js';
import { msOf } from './limits.js';
import type { DescriptorOptions, Limits, StoreOptions } from './limits.js';
import { checkNames, shown } from './words.js';

export interface LimiterOptions extends StoreOptions, DescriptorOptions {
  /** May be left out if there are descriptors. */
  readonly limits?: Limits | undefined;
  /** For tests; without it the store's own clock is used. */
  readonly clock?: Clock | undefined;
  /** Whether decisions carry their levels by default. */
  readonly levels?: boolean | undefined;
  /**
   * A name under which the threads of this process share one limiter: the first
   * thread makes it, and it lives until the last one has closed it.  Memory
   * store only.
   */
  readonly share?: string | undefined;
}

export interface CloseOptions {
  /**
   * How long running requests may take: milliseconds, or a text such as `"2s"`.
   * Default 0: they are cancelled.
   */
  readonly drain?: number | string | undefined;
}

export interface ResetOptions {
  /** Whether to forget only the buckets of the deepest node with limits. */
  readonly leaf?: boolean | undefined;
}

export interface PutOptions {
  /**
   * Whether a name that exists may be replaced; `'added'`: only if `put` has
   * added it.  Default false.
   */
  readonly replace?: boolean | 'added' | undefined;
}

const REPLACE = new Map<unknown, number>(
  [[undefined, 0], [false, 0], [true, 1], ['added', 2]]);

/** The number of LIMITREE_REPLACE_* in limitree.h. */
export function replaceOf(name: unknown, options: PutOptions): number {
  checkNames(options, ['replace'], '{replace: true}');
  const replace = REPLACE.get(options.replace);
  if (typeof name !== 'string') {
    throw invalidArgument(`a name must be a string, is ${shown(name)}`);
  }
  if (replace !== undefined) return replace;
  throw invalidArgument('replace must be true, false or "added", is ' +
    shown(options.replace));
}

/** Milliseconds of `drain`. */
export function drainMsOf(options: CloseOptions): number {
  checkNames(options, ['drain'], '{drain: 1000}');
  const drain = msOf(options.drain ?? 0, 'drain');
  if (drain < 2 ** 31) return drain;
  throw invalidArgument('drain must be shorter than 25 days');
}

/** What a reset forgets. */
export function forgottenBy(options: ResetOptions): number {
  checkNames(options, ['leaf'], '{leaf: true}');
  if (options.leaf !== undefined) checkFlag(options.leaf, 'leaf');
  return options.leaf === true ? at.LAST_NODE : at.WHOLE_PATH;
}

/** Nanoseconds of a block; the core refuses what is too long. */
export function blockNsOf(duration: number | string): number {
  return Math.min(Math.round(msOf(duration, 'duration') * 1e6), 9e18);
}

/** A pressure, which the core checks further. */
export function pressureOf(pressure: unknown): number {
  if (typeof pressure === 'number') return pressure;
  throw invalidArgument(
    `pressure must be a number from 0 to 1, is ${shown(pressure)}`);
}
