// The names of the limits of one limiter, by their numbers in the array.

import type { Functions } from './native.js';

/** What is known of one limit. */
export interface Name {
  readonly policy: string;
  /** As a string of a structured field: printable ASCII, quoted. */
  readonly quoted: string;
}

function quoted(policy: string): string {
  const escaped = policy.replace(/[\\"]/g, '\\$&');
  return `"${escaped.replace(/[^ -~]/gu, '?')}"`;
}

/** Asks the native limiter once for each. */
export class Names {
  readonly #functions: Functions;
  readonly #known: Name[] = [];

  constructor(functions: Functions) {
    this.#functions = functions;
  }

  at(number: number): Name {
    const known = this.#known[number];
    if (known !== undefined) return known;
    const policy = this.#functions.policy(number);
    const name = { policy, quoted: quoted(policy) };
    this.#known[number] = name;
    return name;
  }
}
