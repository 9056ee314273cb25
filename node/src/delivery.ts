// Delivers answers of a store to the promises that wait for them: native code
// writes many answers to the array and calls `deliver` once.

import { Decision, rowsOf } from './decision.js';
import { makeError } from './errors.js';
import * as at from './layout.js';
import { spelled } from './limits.js';
import { native } from './native.js';
import type { Names } from './names.js';

/**
 * An AbortSignal.  Defined here, so that programs without its type can use this
 * package.
 */
export interface Signal {
  readonly aborted: boolean;
  readonly reason?: unknown;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

const numbers = native.numbers;

/** The requests of one limiter that wait for an answer. */
export class PendingRequests {
  readonly names: Names;
  #waiting = 0;
  #idle: (() => void)[] = [];

  constructor(names: Names) {
    this.names = names;
  }

  /** Counts a waiting request; call end() after its answer. */
  begin(): void {
    ++this.#waiting;
  }

  end(): void {
    if (--this.#waiting > 0 || this.#idle.length === 0) return;
    for (const idle of this.#idle.splice(0)) idle();
  }

  /** Resolves when no request waits, or after that many milliseconds. */
  drained(ms: number): Promise<void> {
    if (this.#waiting === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** Reads an answer, which begins at `from` of the array. */
export type Read<Answer> = (
  from: number,
  withLevels: boolean,
  names: Names,
  /** What native code returned for the call. */
  receipt: string | undefined,
) => Answer;

export const readDecision: Read<Decision> = (from, withLevels, names) =>
  new Decision(numbers, from, rowsOf(numbers, from, withLevels, names));

/** A request that waits for an answer. */
interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: unknown) => void;
  readonly read: Read<unknown>;
  readonly withLevels: boolean;
  readonly pending: PendingRequests;
  readonly signal: Signal | undefined;
  readonly onAbort: (() => void) | undefined;
  receipt: string | undefined;
}

/** Requests by slot; an undefined slot is free, and `free` has its number. */
const waiting: (Waiting | undefined)[] = [];
const free: number[] = [];

/** Resolves to the answer that begins at `from`. */
function answer(one: Waiting, from: number): void {
  one.resolve(one.read(
    from, one.withLevels, one.pending.names, one.receipt) as never);
}

/** Takes the waiting request out of the slot. */
function take(slot: number): Waiting {
  const one = waiting[slot]!;
  waiting[slot] = undefined;
  free.push(slot);
  one.pending.end();
  if (one.onAbort !== undefined) {
    one.signal!.removeEventListener('abort', one.onAbort);
  }
  return one;
}

function deliver(count: number, errors: Error[]): void {
  let from = at.INPUT_SIZE;
  let nextError = 0;
  for (let i = 0; i < count; ++i) {
    const one = take(numbers[from]!);
    const failed = numbers[from + 1]! < 0;
    from += 2;
    if (failed) {
      one.reject(errors[nextError++]);
      continue;
    }
    answer(one, from);
    from += at.DECISION_SIZE + numbers[from + at.LEVEL_COUNT]! * at.LEVEL_SIZE;
  }
}

native.connect((status, reason, messages) =>
  makeError(status, reason, messages.map(spelled)), deliver);

/**
 * Calls `start` of a native limiter with a slot for its answer.
 *
 * Rejects with the reason of `signal` as soon as that is aborted; the request
 * may have been charged then, and its answer is dropped.
 */
export function startRequest<Answer>(
  start: () => string | undefined,
  read: Read<Answer>,
  withLevels: boolean,
  pending: PendingRequests,
  signal: Signal | undefined,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const slot = free.pop() ?? waiting.length;
    const onAbort = signal && (() => reject(signal.reason));
    const one: Waiting = { resolve, reject, read, withLevels, pending, signal,
                           onAbort, receipt: undefined };
    waiting[slot] = one;
    pending.begin();
    numbers[at.SLOT] = slot;
    try {
      one.receipt = start();
    } catch (error) {
      take(slot);
      throw error;
    }
    if (numbers[at.PENDING] === 0) {
      answer(take(slot), at.INPUT_SIZE);
    } else if (onAbort !== undefined) {
      signal!.addEventListener('abort', onAbort);
    }
  });
}
