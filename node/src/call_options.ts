// The options of a call.

import type { Cost } from './cost.js';
import type { Signal } from './delivery.js';
import { invalidArgument } from './errors.js';
import { noOption, shown } from './words.js';

export interface CallOptions {
  /**
   * What is asked for: a whole number, or `{ request: 1, tokens: 812 }`; 0 only
   * looks.  Default 1.
   */
  readonly cost?: Cost | undefined;
  /** Whether the decision carries its levels; default: as for the limiter. */
  readonly levels?: boolean | undefined;
}

export interface AsyncCallOptions extends CallOptions {
  /**
   * Stops waiting for the store.  If it is aborted before the call, nothing is
   * charged; if later, the request may have been charged.  What a reservation
   * holds then is given back when the answer comes.
   */
  readonly signal?: Signal | undefined;
}

export interface ReserveOptions extends CallOptions {
  /**
   * How long units are held at most: milliseconds, or a text such as `"10m"`;
   * at most 24 hours.  Default: as long as each limit says.
   */
  readonly hold?: number | string | undefined;
}

export interface AsyncReserveOptions
  extends AsyncCallOptions, ReserveOptions {}

export const NONE: AsyncReserveOptions = {};

/** Refuses wrong options of a call, in one pass over their names. */
export function checkOptions(
  options: object,
  canWait: boolean,
  canHold = false,
): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidArgument(
      `options must be an object such as {cost: 2}, is ${shown(options)}`);
  }
  for (const name in options) {
    if (name === 'cost' || (name === 'hold' && canHold)) continue;
    if (name === 'levels') {
      const { levels } = options as CallOptions;
      if (levels !== undefined) checkFlag(levels, name);
    } else if (name === 'signal' && canWait) {
      checkSignal((options as AsyncCallOptions).signal);
    } else {
      throw invalidArgument(noOption(name, [
        'cost', ...canHold ? ['hold'] : [], 'levels',
        ...canWait ? ['signal'] : []]));
    }
  }
}

export function checkFlag(value: unknown, name: string): void {
  if (typeof value !== 'boolean') {
    throw invalidArgument(`${name} must be true or false, is ${shown(value)}`);
  }
}

function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<Signal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') {
    return;
  }
  throw invalidArgument(`signal must be an AbortSignal, is ${shown(signal)}`);
}
