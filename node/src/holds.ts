// Reserves, and ends or extends what was reserved.

import { NONE, checkOptions } from './call_options.js';
import type { AsyncReserveOptions, ReserveOptions } from './call_options.js';
import { usedOf, type Cost, type Units } from './cost.js';
import type { Read } from './delivery.js';
import { ConfigError, invalidArgument } from './errors.js';
import * as at from './layout.js';
import { msOf } from './limits.js';
import { native } from './native.js';
import type { Path, PathList } from './paths.js';
import { callOfPath, callOfPaths } from './requests.js';
import type { Call, Requests } from './requests.js';
import { Reservation, type Holder } from './reservation.js';
import { shown } from './words.js';

const numbers = native.numbers;

/** Nanoseconds of a time to hold; errors call it `name`. */
export function holdOf(hold: number | string, name = 'hold'): number {
  let ms = 0;
  try {
    ms = msOf(hold, name);
  } catch (error) {
    throw error instanceof ConfigError ? invalidArgument(error.message) : error;
  }
  const ns = Math.round(ms * 1e6);
  if (ns >= 1 && ns <= at.MAX_HOLD_NS) return ns;
  throw invalidArgument(`${name} must be more than 0 and at most 24h, is ` +
    (typeof hold === 'number' ? `${hold} ms` : shown(hold)));
}

/** A call that reserves. */
function reservation<Paths>(
  make: (operation: number, paths: Paths, options: AsyncReserveOptions) => Call,
  paths: Paths,
  options: AsyncReserveOptions,
  canWait = true,
): Call {
  checkOptions(options, canWait, true);
  const { hold } = options;
  const holdNs = hold === undefined ? 0 : holdOf(hold);
  return { ...make(at.RESERVE, paths, options), holdNs };
}

const AS_HELD = { cost: at.AS_HELD, levels: false };

/** A call about what was reserved. */
function callOf(
  operation: number,
  receipt: string,
  units: Units | undefined,
  holdNs = 0,
): Call {
  return { operation, segments: [receipt], paths: at.ONE_PATH,
           options: AS_HELD, units, holdNs };
}

const settlement = (receipt: string, cost: Cost | undefined) =>
  callOf(at.SETTLE, receipt, usedOf(cost));
const cancellation = (receipt: string) =>
  callOf(at.CANCEL, receipt, undefined);
const extension = (receipt: string, hold: number | string) =>
  callOf(at.EXTEND, receipt, undefined, holdOf(hold));

/** How many limits were settled, or extended. */
const readHeld: Read<number> = (from) => numbers[from + at.HELD]!;

/** Gives back what a reservation holds that nobody waits for any more. */
function undo({ held, receipt }: Reservation): Call | undefined {
  return held > 0 ? cancellation(receipt) : undefined;
}

/** The calls about reservations of one limiter. */
export class Holds implements Holder {
  readonly #requests: Requests;
  readonly #read: Read<Reservation>;

  constructor(requests: Requests) {
    this.#requests = requests;
    this.#read = (from, withLevels, names, receipt) => new Reservation(
      numbers, from, withLevels, names, this, receipt!);
  }

  reserve(
    path: Path,
    options: AsyncReserveOptions = NONE,
  ): Promise<Reservation> {
    return this.#requests.later(
      () => reservation(callOfPath, path, options), this.#read, undo);
  }

  reserveSync(path: Path, options: ReserveOptions = NONE): Reservation {
    const call = reservation(callOfPath, path, options, false);
    return this.#now('reserve', call, this.#read);
  }

  reserveAll(
    paths: PathList,
    options: AsyncReserveOptions = NONE,
  ): Promise<Reservation> {
    return this.#requests.later(
      () => reservation(callOfPaths, paths, options), this.#read, undo);
  }

  settle(receipt: string, cost?: Cost): Promise<number> {
    return this.#requests.later(() => settlement(receipt, cost), readHeld);
  }

  settleSync(receipt: string, cost?: Cost): number {
    return this.#now('settle', settlement(receipt, cost), readHeld);
  }

  cancel(receipt: string): Promise<number> {
    return this.#requests.later(() => cancellation(receipt), readHeld);
  }

  cancelSync(receipt: string): number {
    return this.#now('cancel', cancellation(receipt), readHeld);
  }

  extend(receipt: string, hold: number | string): Promise<number> {
    return this.#requests.later(() => extension(receipt, hold), readHeld);
  }

  extendSync(receipt: string, hold: number | string): number {
    return this.#now('extend', extension(receipt, hold), readHeld);
  }

  #now<Answer>(name: string, call: Call, read: Read<Answer>): Answer {
    this.#requests.needMemory(name);
    return this.#requests.now(call, read);
  }
}
