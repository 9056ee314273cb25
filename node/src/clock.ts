// The clock of a caller, which tests set.

import { invalidArgument } from './errors.js';
import * as at from './layout.js';
import { native } from './native.js';
import { shown } from './words.js';

const numbers = native.numbers;

/** The time: milliseconds since 1970 as a number, nanoseconds as a bigint. */
export type Clock = () => number | bigint;

/** Reads the clock. */
export function timeOf(clock: Clock): number | bigint {
  const now: unknown = clock();
  if (typeof now !== 'bigint' && !Number.isFinite(now)) {
    throw invalidArgument('clock must return milliseconds as a number or ' +
      `nanoseconds as a bigint, not ${shown(now)}`);
  }
  return now as number | bigint;
}

/** The time in milliseconds, without a part that only a bigint has. */
export function wholeMs(now: number | bigint): number {
  return typeof now === 'bigint' ? Number(now / 1_000_000n) : now;
}

export function writeTime(now: number | bigint): void {
  if (typeof now === 'bigint') {
    const seconds = now / 1_000_000_000n;
    numbers[at.NOW_SECONDS] = Number(seconds);
    numbers[at.NOW_REST] = Number(now - seconds * 1_000_000_000n);
  } else {
    const seconds = Math.floor(now / 1000);
    numbers[at.NOW_SECONDS] = seconds;
    numbers[at.NOW_REST] = Math.round((now - seconds * 1000) * 1e6);
  }
}

/** Writes the time of `clock`, for the limiter that is about to be made. */
export function writeFirstTime(clock: Clock | undefined): void {
  if (clock === undefined) return;
  if (typeof clock !== 'function') {
    throw invalidArgument(`clock must be a function, is ${shown(clock)}`);
  }
  writeTime(timeOf(clock));
}
