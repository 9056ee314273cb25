// What was decided about one request.

import { headers, problem } from './headers.js';
import type {
  HeaderOptions, HeaderStyle, Headers, Problem } from './headers.js';
import type { Name, Names } from './names.js';
import * as at from './layout.js';

/** Who decided. */
export type Source = 'store' | 'deny_cache' | 'local' | 'allow' | 'deny';

/** How a limit takes part: `limits.yaml` says so. */
export type Mode = 'enforce' | 'shadow' | 'check';

const SOURCES: readonly Source[] = [
  'store', 'deny_cache', 'local', 'allow', 'deny'];
const MODES: readonly Mode[] = ['enforce', 'shadow', 'check'];

const LIMITED = 1;
const UNLIMITED = 1 << 1;
const SHADOWED = 1 << 2;
const DEGRADED = 1 << 3;
const SOFT = 1 << 5;
const SOURCE_SHIFT = 16;

/** The verdict of one limit met on the way. */
export interface Level {
  /** The limit's place in the tree: `user:carol`. */
  readonly policy: string;
  /** Tokens in a full bucket. */
  readonly limit: number;
  /** Tokens left. */
  readonly remaining: number;
  /** Until what was asked for fits here: -1 if it does, Infinity if never. */
  readonly retryAfterMs: number;
  /** Until the bucket is full. */
  readonly resetAfterMs: number;
  /** Until an identical request fits here. */
  readonly nextAfterMs: number;
  /** The time in which an empty bucket fills. */
  readonly windowMs: number;
  /** Tokens asked for. */
  readonly cost: number;
  /** Whether what was asked for does not fit. */
  readonly limited: boolean;
  /** Whether the bucket was written. */
  readonly charged: boolean;
  readonly mode: Mode;
  /** Index of the first path that met it. */
  readonly path: number;
}

/** The rows of levels, until somebody looks at them. */
export interface Rows {
  readonly numbers: readonly number[];
  readonly names: readonly Name[];
}

function readRows(
  numbers: Float64Array,
  from: number,
  count: number,
  names: Names,
): Rows {
  const kept: number[] = [];
  const found: Name[] = [];
  const end = from + count * at.LEVEL_SIZE;
  for (let i = from; i < end; ++i) kept.push(numbers[i]!);
  for (let i = from; i < end; i += at.LEVEL_SIZE) {
    found.push(names.at(numbers[i]!));
  }
  return { numbers: kept, names: found };
}

function levelOf(rows: Rows, index: number): Level {
  const from = index * at.LEVEL_SIZE;
  const number = (field: number) => rows.numbers[from + field]!;
  const bits = number(at.LEVEL_BITS);
  return {
    policy: rows.names[index]!.policy,
    limit: number(at.LEVEL_LIMIT),
    remaining: number(at.LEVEL_REMAINING),
    retryAfterMs: number(at.LEVEL_RETRY_AFTER_MS),
    resetAfterMs: number(at.LEVEL_RESET_AFTER_MS),
    nextAfterMs: number(at.LEVEL_NEXT_AFTER_MS),
    windowMs: number(at.WINDOW_MS),
    cost: number(at.LEVEL_COST),
    limited: (bits & 1) !== 0,
    charged: (bits & 2) !== 0,
    mode: MODES[bits >> 2] ?? 'enforce',
    path: number(at.PATH),
  };
}

/** What was decided about one request. */
export class Decision {
  /** Whether the request was denied. */
  readonly limited: boolean;
  /** Tokens in a full bucket of the binding limit; -1 if there is no limit. */
  readonly limit: number;
  /** Tokens left there; -1 if there is no limit. */
  readonly remaining: number;
  /** How long to wait: -1 if allowed, Infinity if no wait is long enough. */
  readonly retryAfterMs: number;
  /** Until every bucket on the path is full. */
  readonly resetAfterMs: number;
  /** Until an identical request fits. */
  readonly nextAfterMs: number;
  readonly #bits: number;
  readonly #retryAfterS: number;
  readonly #resetAfterS: number;
  readonly #rows: Rows | undefined;
  #levels: readonly Level[] | undefined;

  /** @internal Reads the row that begins at `from`. */
  constructor(
    numbers: Float64Array,
    from: number,
    withLevels: boolean,
    names: Names,
  ) {
    const bits = numbers[from + at.BITS]!;
    this.limited = (bits & LIMITED) !== 0;
    this.limit = numbers[from + at.LIMIT]!;
    this.remaining = numbers[from + at.REMAINING]!;
    this.retryAfterMs = numbers[from + at.RETRY_AFTER_MS]!;
    this.resetAfterMs = numbers[from + at.RESET_AFTER_MS]!;
    this.nextAfterMs = numbers[from + at.NEXT_AFTER_MS]!;
    this.#bits = bits;
    this.#retryAfterS = numbers[from + at.RETRY_AFTER_S]!;
    this.#resetAfterS = numbers[from + at.RESET_AFTER_S]!;
    if (withLevels) {
      this.#rows = readRows(numbers, from + at.DECISION_SIZE,
                            numbers[from + at.LEVEL_COUNT]!, names);
    }
  }

  /** The opposite of `limited`. */
  get allowed(): boolean {
    return !this.limited;
  }

  /**
   * The verdict of each limit met, from the root to the leaf, path after path,
   * at most 64; undefined unless asked for by `levels: true`.
   */
  get levels(): readonly Level[] | undefined {
    const rows = this.#rows;
    if (rows === undefined) return undefined;
    this.#levels ??= rows.names.map((_, index) => levelOf(rows, index));
    return this.#levels;
  }

  /** Who decided. */
  get source(): Source {
    return SOURCES[this.#bits >> SOURCE_SHIFT] ?? 'store';
  }

  /** Whether no limit lies on the path. */
  get unlimited(): boolean {
    return (this.#bits & UNLIMITED) !== 0;
  }

  /** Whether a limit in mode shadow would have denied. */
  get shadowed(): boolean {
    return (this.#bits & SHADOWED) !== 0;
  }

  /** Whether the store failed and `onStoreError` decided. */
  get degraded(): boolean {
    return (this.#bits & DEGRADED) !== 0;
  }

  /** Whether it was allowed out of the overrun share. */
  get soft(): boolean {
    return (this.#bits & SOFT) !== 0;
  }

  /**
   * The five numbers of redis-cell's CL.THROTTLE: limited, limit, remaining,
   * seconds to wait and to reset, rounded up; -1 for "not limited" and "never".
   */
  get cell(): readonly [0 | 1, number, number, number, number] {
    return [this.limited ? 1 : 0, this.limit, this.remaining,
            this.#retryAfterS, this.#resetAfterS];
  }

  /**
   * The headers of a response.
   *
   * Throws `LIMITREE_INVALID_ARGUMENT` for an unknown style, and for `"ietf"`
   * if the decision was made without its levels.
   */
  headers(style: HeaderStyle = 'ietf', options?: HeaderOptions): Headers {
    return headers(this, this.#rows, style, options);
  }

  /**
   * The body of a 429, `application/problem+json`.  Throws
   * `LIMITREE_INVALID_ARGUMENT` if the request was allowed.
   */
  problem(): Problem {
    return problem(this, this.#rows);
  }

  toJSON(): object {
    const { limited, limit, remaining, resetAfterMs } = this;
    return { limited, limit, remaining, retryAfterMs: finite(this.retryAfterMs),
             resetAfterMs, nextAfterMs: finite(this.nextAfterMs),
             source: this.source };
  }
}

/** JSON has no Infinity. */
function finite(ms: number): number | null {
  return Number.isFinite(ms) ? ms : null;
}
