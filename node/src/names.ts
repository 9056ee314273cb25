// The names of the limits of one limiter, by their numbers in the array.

import type { Functions } from './native.js';
import { ceilSeconds } from './time.js';

/** A limit, as headers call it. */
export class Name {
  /**
   * As a string of a structured field: printable ASCII, and other bytes as %XX,
   * which is what a `%` means in a policy already.
   */
  readonly quoted: string;
  // What the last policyItem() was made of: it changes with a reload only.
  #limit = -1;
  #window = -1;
  #item = '';

  constructor(readonly policy: string) {
    const escaped = policy.replace(/[\\"]/g, '\\$&');
    this.quoted = `"${escaped.replace(/[^ -~]+/gu, encodeURIComponent)}"`;
  }

  /** Its item in RateLimit-Policy. */
  policyItem(limit: number, windowNs: number): string {
    if (limit !== this.#limit || windowNs !== this.#window) {
      this.#limit = limit;
      this.#window = windowNs;
      this.#item = `${this.quoted};q=${limit};w=${ceilSeconds(windowNs)}`;
    }
    return this.#item;
  }
}

/** Asks the native limiter once for each. */
export class Names {
  readonly #functions: Functions;
  readonly #known: Name[] = [];

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  at(number: number): Name {
    return this.#known[number] ?? this.#ask(number);
  }

  #ask(number: number): Name {
    const name = new Name(this.#functions.policy(number));
    this.#known[number] = name;
    return name;
  }
}
