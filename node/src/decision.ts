// The decision about one request.

import { headers, resetIn } from './headers.js';
import type {
  HeaderOptions, HeaderStyle, Headers, Problem, Reset, Row,
} from './headers.js';
import { invalidArgument } from './errors.js';
import type { Names } from './names.js';
import * as at from './layout.js';
import { native, type Mode, type Source } from './native.js';
import { ceilSeconds, toMs, waitSeconds } from './time.js';
import { shown } from './words.js';

export type { Mode, Source } from './native.js';

export const LIMITED = 1;
const UNLIMITED = 1 << 1;
const SHADOWED = 1 << 2;
const DEGRADED = 1 << 3;
const SOFT = 1 << 5;
export const FORGOT = 1 << 6;
const SOURCE_SHIFT = 16;

/** The verdict of one limit on the path. */
export interface Level {
  /** The limit's place in the tree: `user:carol`. */
  readonly policy: string;
  /** Tokens in a full bucket. */
  readonly limit: number;
  /** Tokens left. */
  readonly remaining: number;
  /** Until the cost fits here: -1 if it does, Infinity if never. */
  readonly retryAfterMs: number;
  /** Until the bucket is full. */
  readonly resetAfterMs: number;
  /** Until an identical request fits here. */
  readonly nextAfterMs: number;
  /** Until `remaining` is larger; 0 if the bucket is full. */
  readonly growsAfterMs: number;
  /** The time in which an empty bucket fills; 0: how many at once. */
  readonly windowMs: number;
  /** What the limit counts: `"request"`, `"tokens"`. */
  readonly unit: string;
  /** How much of it was asked for. */
  readonly cost: number;
  /** Whether the cost does not fit. */
  readonly limited: boolean;
  /** Whether the bucket was written. */
  readonly charged: boolean;
  /** Whether it fits only thanks to the limit's overrun. */
  readonly soft: boolean;
  readonly mode: Mode;
  /** Index of the first path that met it. */
  readonly path: number;
}

interface Rows extends ReadonlyArray<Row> {
  levels?: readonly Level[];
}

/**
 * The levels of the decision that begins at `from`, if they are wanted.  Also
 * warns if the store has forgotten a caller for it.
 */
export function rowsOf(
  numbers: Float64Array,
  from: number,
  withLevels: boolean,
  names: Names,
): Rows | undefined {
  if ((numbers[from + at.BITS]! & FORGOT) !== 0) names.warnFull();
  return withLevels ? readRows(numbers, from + at.DECISION_SIZE,
                               numbers[from + at.LEVEL_COUNT]!, names)
    : undefined;
}

function readRows(
  numbers: Float64Array,
  from: number,
  count: number,
  names: Names,
): Rows {
  if (!(count >= 0 && count <= at.MAX_LEVELS)) {
    throw invalidArgument(`a decision has 0 to ${at.MAX_LEVELS} levels, not ` +
      String(count));
  }
  const rows: Row[] = [];
  for (let row = 0; row < count; ++row, from += at.LEVEL_SIZE) {
    rows.push({
      name: names.at(numbers[from + at.POLICY]!),
      // An array literal is one piece of memory, without a box for each number.
      numbers: [
        0, numbers[from + 1]!, numbers[from + 2]!, numbers[from + 3]!,
        numbers[from + 4]!, numbers[from + 5]!, numbers[from + 6]!,
        numbers[from + 7]!, numbers[from + 8]!, numbers[from + 9]!,
        numbers[from + 10]!],
    });
  }
  return rows;
}

function levelOf(row: Row): Level {
  const number = (field: number) => row.numbers[field]!;
  const bits = number(at.LEVEL_BITS);
  return {
    policy: row.name.policy,
    limit: number(at.LEVEL_LIMIT),
    remaining: number(at.LEVEL_REMAINING),
    retryAfterMs: toMs(number(at.LEVEL_RETRY_AFTER_NS)),
    resetAfterMs: toMs(number(at.LEVEL_RESET_AFTER_NS)),
    nextAfterMs: toMs(number(at.LEVEL_NEXT_AFTER_NS)),
    growsAfterMs: toMs(number(at.GROWS_AFTER_NS)),
    windowMs: toMs(number(at.WINDOW_NS)),
    unit: row.name.unit,
    cost: number(at.LEVEL_COST),
    limited: (bits & 1) !== 0,
    charged: (bits & 2) !== 0,
    soft: (bits & 4) !== 0,
    mode: native.modes[bits >> at.MODE_SHIFT] ?? 'enforce',
    path: number(at.PATH),
  };
}

/** The decision about one request.  Its numbers are made when they are read. */
export class Decision {
  /** By LIMIT ... BITS. */
  readonly #numbers: readonly number[];
  #rows: Rows | undefined;

  /**
   * @internal Reads the numbers that begin at `from`; `rows` are rowsOf() them.
   *
   * Without a branch, and with its `return`, V8 knows what it has made when it
   * resolves a promise with it, and does not look for a then().
   */
  constructor(numbers: Float64Array, from: number, rows: Rows | undefined) {
    // An array literal is one piece of memory, without a box for each number.
    this.#numbers = [
      numbers[from + at.LIMIT]!, numbers[from + at.REMAINING]!,
      numbers[from + at.RETRY_AFTER_NS]!, numbers[from + at.RESET_AFTER_NS]!,
      numbers[from + at.NEXT_AFTER_NS]!,
      numbers[from + at.BINDING_RESET_AFTER_NS]!, numbers[from + at.BITS]!];
    this.#rows = rows;
    return this;
  }

  /** Tokens in a full bucket of the binding limit; -1 if there is no limit. */
  get limit(): number {
    return this.#numbers[at.LIMIT]!;
  }

  /** Tokens left there; -1 if there is no limit. */
  get remaining(): number {
    return this.#numbers[at.REMAINING]!;
  }

  /** Whether the request was denied. */
  get limited(): boolean {
    return (this.#numbers[at.BITS]! & LIMITED) !== 0;
  }

  /** The opposite of `limited`. */
  get allowed(): boolean {
    return (this.#numbers[at.BITS]! & LIMITED) === 0;
  }

  /** How long to wait: -1 if allowed, Infinity if no wait is long enough. */
  get retryAfterMs(): number {
    return toMs(this.#numbers[at.RETRY_AFTER_NS]!);
  }

  /** Until every bucket on the path is full. */
  get resetAfterMs(): number {
    return toMs(this.#numbers[at.RESET_AFTER_NS]!);
  }

  /** Until an identical request fits; Infinity if it never will. */
  get nextAfterMs(): number {
    return toMs(this.#numbers[at.NEXT_AFTER_NS]!);
  }

  /** Until the bucket of the binding limit is full. */
  get bindingResetAfterMs(): number {
    return toMs(this.#numbers[at.BINDING_RESET_AFTER_NS]!);
  }

  /**
   * The verdict of each limit met, from the root to the leaf, path after path,
   * at most 64; undefined unless asked for by `levels: true`.
   */
  get levels(): readonly Level[] | undefined {
    const rows = this.#rows;
    return rows && (rows.levels ??= rows.map(levelOf));
  }

  /** Who decided. */
  get source(): Source {
    return native.sources[this.#numbers[at.BITS]! >> SOURCE_SHIFT] ?? 'store';
  }

  /** Whether there is no limit on the path. */
  get unlimited(): boolean {
    return (this.#numbers[at.BITS]! & UNLIMITED) !== 0;
  }

  /** Whether a limit in mode shadow would have denied. */
  get shadowed(): boolean {
    return (this.#numbers[at.BITS]! & SHADOWED) !== 0;
  }

  /** Whether the store failed and `onStoreError` decided. */
  get degraded(): boolean {
    return (this.#numbers[at.BITS]! & DEGRADED) !== 0;
  }

  /** Whether it was allowed only thanks to an overrun. */
  get soft(): boolean {
    return (this.#numbers[at.BITS]! & SOFT) !== 0;
  }

  /**
   * The five numbers of redis-cell's CL.THROTTLE: limited, limit, remaining,
   * seconds to wait and to reset, rounded up; -1 for "not limited" and "never".
   */
  get cell(): readonly [0 | 1, number, number, number, number] {
    return [this.limited ? 1 : 0, this.limit, this.remaining,
            waitSeconds(this.#numbers[at.RETRY_AFTER_NS]!),
            ceilSeconds(this.#numbers[at.RESET_AFTER_NS]!)];
  }

  /**
   * The headers of a response.
   *
   * Throws `LIMITREE_INVALID_ARGUMENT` for an unknown style, and for `"ietf"`
   * if the decision was made without its levels.
   */
  headers(style: HeaderStyle = 'ietf', options?: HeaderOptions): Headers {
    const reset = options === undefined ? 'delta' : resetIn(options);
    return headers(this, this.#rows, style) ??
      this.#headersOfCore(style, reset);
  }

  /**
   * The body of a 429, `application/problem+json`.  Throws
   * `LIMITREE_INVALID_ARGUMENT` if the request was allowed.
   */
  problem(): Problem {
    return JSON.parse(native.httpProblem(429, this.#toCore())) as Problem;
  }

  /** Also refuses unknown styles. */
  #headersOfCore(style: HeaderStyle, reset: Reset): Headers {
    if (typeof style !== 'string') {
      throw invalidArgument(`style must be a string, is ${shown(style)}`);
    }
    const fields = native.httpHeaders(
      style, reset === 'epoch' ? Date.now() : 0, this.#toCore());
    const found: Headers = {};
    for (let i = 0; i < fields.length; i += 2) {
      found[fields[i]!] = fields[i + 1]!;
    }
    return found;
  }

  /** Writes all to the array; returns the names of the levels, if known. */
  #toCore(): string[] | undefined {
    const { numbers } = native;
    const from = at.INPUT_SIZE;
    numbers[from + at.LIMIT] = this.limit;
    numbers[from + at.REMAINING] = this.remaining;
    numbers[from + at.RETRY_AFTER_NS] = this.#numbers[at.RETRY_AFTER_NS]!;
    numbers[from + at.BINDING_RESET_AFTER_NS] =
      this.#numbers[at.BINDING_RESET_AFTER_NS]!;
    numbers[from + at.BITS] = this.#numbers[at.BITS]!;
    this.#rows?.forEach((row, i) => numbers.set(
      row.numbers, from + at.DECISION_SIZE + i * at.LEVEL_SIZE));
    return this.#rows?.map(({ name }) => name.policy);
  }

  toJSON(): object {
    return { ...fieldsOf(this), retryAfterMs: finite(this.retryAfterMs),
             nextAfterMs: finite(this.nextAfterMs) };
  }

  /** For console.log(). */
  [Symbol.for('nodejs.util.inspect.custom')](
    _depth: number,
    options: object,
    inspect: (value: unknown, options: object) => string,
  ): string {
    return `Decision ${inspect(fieldsOf(this), options)}`;
  }
}

/** What is shown of a decision. */
export function fieldsOf(decision: Decision) {
  const { limited, limit, remaining, retryAfterMs, resetAfterMs, nextAfterMs,
          source, levels } = decision;
  const fields = { limited, limit, remaining, retryAfterMs, resetAfterMs,
                   nextAfterMs, source };
  return levels === undefined ? fields : { ...fields, levels };
}

/** JSON has no Infinity. */
function finite(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}
