// What a reservation answers.

/// <reference lib="esnext.disposable" preserve="true" />

import type { Cost } from './cost.js';
import { Decision, fieldsOf, rowsOf } from './decision.js';
import * as at from './layout.js';
import type { Names } from './names.js';

/** What takes receipts. */
export interface Holder {
  settle(receipt: string, cost?: Cost): Promise<number>;
  settleSync(receipt: string, cost?: Cost): number;
  cancel(receipt: string): Promise<number>;
  cancelSync(receipt: string): number;
  extend(receipt: string, hold: number | string): Promise<number>;
  extendSync(receipt: string, hold: number | string): number;
}

/** Whether it may hold something that no call has ended. */
export let isOpen: (held: Reservation) => boolean;

/** Settles it, or cancels it for a cost of 0, if no call has ended it. */
export let endHeld: (held: Reservation, cost?: Cost) => Promise<void>;

/** Calls `run` once a call has ended it. */
export let whenOver: (held: Reservation, run: () => void) => void;

/**
 * The decision about a reservation, and what it holds.  `await using` settles
 * it as held at the end of the block, unless it was settled or cancelled.
 */
export class Reservation extends Decision {
  /**
   * Its text, for a queue or another process: `settle`, `cancel` and `extend`
   * of a limiter take it wherever the limits and the store are the same.
   */
  readonly receipt: string;
  /** How many limits hold something; 0 if the request was denied. */
  readonly held: number;
  readonly #holder: Holder;
  #isOver = false;
  #ending: Promise<number> | undefined;
  #whenOver: (() => void) | undefined;

  /** @internal Reads the row that begins at `from`. */
  constructor(
    numbers: Float64Array,
    from: number,
    withLevels: boolean,
    names: Names,
    holder: Holder,
    receipt: string,
  ) {
    super(numbers, from, rowsOf(numbers, from, withLevels, names));
    this.held = numbers[from + at.HELD]!;
    this.receipt = receipt;
    this.#holder = holder;
  }

  /**
   * Ends the hold, and charges what was used: `{ tokens: 812 }`, or a number,
   * which is the cost in `request`.  A unit that is not named was used as held.
   *
   * Resolves to the number of limits that were settled: 0 if the hold had ended
   * before, or was settled.
   */
  settle(cost?: Cost): Promise<number> {
    return this.#end(() => this.#holder.settle(this.receipt, cost));
  }

  /** `settle` at once, as `authorizeSync`. */
  settleSync(cost?: Cost): number {
    return this.#endSync(() => this.#holder.settleSync(this.receipt, cost));
  }

  /** Ends the hold, and charges nothing.  Resolves as `settle`. */
  cancel(): Promise<number> {
    return this.#end(() => this.#holder.cancel(this.receipt));
  }

  /** `cancel` at once. */
  cancelSync(): number {
    return this.#endSync(() => this.#holder.cancelSync(this.receipt));
  }

  /**
   * Lets the hold end that long from now: milliseconds, or a text such as
   * `"10m"`.  Resolves to the number of limits that still hold.
   */
  extend(hold: number | string): Promise<number> {
    return this.#holdsNothing() ? Promise.resolve(0)
      : this.#holder.extend(this.receipt, hold);
  }

  /** `extend` at once. */
  extendSync(hold: number | string): number {
    return this.#holdsNothing() ? 0
      : this.#holder.extendSync(this.receipt, hold);
  }

  /** Whether the store need not be asked. */
  #holdsNothing(): boolean {
    // A store that did not answer in time may hold something.
    return this.limited || (this.held === 0 && !this.degraded);
  }

  #end(ask: () => Promise<number>): Promise<number> {
    if (this.#holdsNothing()) return Promise.resolve(0);
    return this.#ending = this.#ended(ask);
  }

  async #ended(ask: () => Promise<number>): Promise<number> {
    const count = await ask();
    this.#close();
    return count;
  }

  #endSync(ask: () => number): number {
    if (this.#holdsNothing()) return 0;
    const count = ask();
    this.#close();
    return count;
  }

  #close(): void {
    this.#isOver = true;
    this.#whenOver?.();
  }

  override toJSON(): object {
    const { held, receipt } = this;
    return { ...super.toJSON(), held, receipt };
  }

  /** For console.log(). */
  [Symbol.for('nodejs.util.inspect.custom')](
    _depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ): string {
    const { held, receipt } = this;
    return 'Reservation ' +
      inspect({ ...fieldsOf(this), held, receipt }, options);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return endHeld(this);
  }

  [Symbol.dispose](): void {
    if (!this.#isOver) this.settleSync();
  }

  static {
    isOpen = (held) => !held.#isOver && !held.#holdsNothing();
    endHeld = async (held, cost) => {
      await held.#ending?.catch(() => {});  // its caller has the error
      if (held.#isOver) return;
      await (cost === 0 ? held.cancel() : held.settle(cost));
    };
    whenOver = (held, run) => { held.#whenOver = run; };
    // The name of methods whose symbol is missing in this runtime.
    Reflect.deleteProperty(this.prototype, 'undefined');
  }
}
