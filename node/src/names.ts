// The texts of one limiter: the names of its limits, by their numbers in the
// array, and the one warning that its store is full.

import type { Functions } from './native.js';
import { ceilSeconds } from './time.js';

/** The texts of a limit, and its name in the form for headers. */
export class Name {
  /**
   * As a string of a structured field: printable ASCII, and other bytes as %XX,
   * which is what a `%` means in a policy already.
   */
  readonly quoted: string;
  // The arguments of the last policyItem(): only a reload changes them.
  #limit = -1;
  #window = -1;
  #item = '';

  constructor(readonly policy: string, readonly unit: string) {
    const escaped = policy.replace(/[\\"]/g, '\\$&');
    this.quoted = `"${escaped.replace(/[^ -~]+/gu, encodeURIComponent)}"`;
  }

  /** Its item in RateLimit-Policy. */
  policyItem(limit: number, windowNs: number): string {
    if (limit !== this.#limit || windowNs !== this.#window) {
      this.#limit = limit;
      this.#window = windowNs;
      // Without a window it is how many at once.
      const unit = this.unit !== 'request' ? this.unit
        : windowNs === 0 ? 'concurrent-requests' : '';
      this.#item = `${this.quoted};q=${limit}` +
        (unit === '' ? '' : `;qu="${unit}"`) +
        (windowNs === 0 ? '' : `;w=${ceilSeconds(windowNs)}`);
    }
    return this.#item;
  }
}

/** The names of a limiter's limits.  Each is fetched once. */
export class Names {
  readonly #functions: Functions;
  readonly #known: Name[] = [];
  #warned = false;

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  at(number: number): Name {
    return this.#known[number] ?? this.#fetch(number);
  }

  /** Called after a decision for which a caller at a limit was forgotten. */
  warnFull(): void {
    if (this.#warned) return;
    this.#warned = true;
    process.emitWarning(
      'the store is full of callers at their limits: some are ' +
      'forgotten, and may begin again; raise maxBuckets, or maxBytes for ' +
      'limits with logs', { type: 'LimitreeWarning', code: 'LIMITREE_FULL' });
  }

  #fetch(number: number): Name {
    const name = new Name(...this.#functions.names(number));
    this.#known[number] = name;
    return name;
  }
}
