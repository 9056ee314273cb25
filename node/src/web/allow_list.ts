// The clients that a plain limit does not limit.

import { canonicalIp } from '../address.js';
import type { Segment } from '../paths.js';
import { shown } from '../words.js';
import type { Maybe } from './maybe.js';
import { refuse } from './refuse.js';

/** The clients, or a function that says whether a request is one of theirs. */
export type Allowed<A, B> = readonly Segment[] |
  ((a: A, b: B) => Maybe<boolean>);

type Test<A> = (a: A, more: unknown) => Maybe<boolean>;

export class AllowList<A> {
  readonly #test: Test<A> | undefined;
  readonly #keys = new Set<string>();
  readonly #areAddresses: boolean;

  /** Undefined if all clients are limited. */
  static of<A, B>(
    allowed: Allowed<A, B> | undefined | null,
    areAddresses: boolean,
  ): AllowList<A> | undefined {
    return allowed === undefined || allowed === null ? undefined
      : new AllowList<A>(allowed as Allowed<A, never>, areAddresses);
  }

  private constructor(allowed: Allowed<A, never>, areAddresses: boolean) {
    this.#areAddresses = areAddresses;
    if (typeof allowed === 'function') {
      this.#test = allowed as unknown as Test<A>;
      return;
    }
    if (!Array.isArray(allowed)) {
      refuse('allowList must be an array of clients or a function, is ' +
        shown(allowed));
    }
    for (const one of allowed as readonly Segment[]) {
      this.#keys.add(areAddresses ? addressOf(one) : String(one));
    }
  }

  /** Whether the request is one of theirs. */
  has(a: A, key: Segment, more: unknown): Maybe<boolean> {
    if (this.#test !== undefined) return this.#test(a, more);
    if (this.#keys.has(String(key))) return true;
    return this.#areAddresses && this.#keys.has(formOf(String(key)));
  }
}

function addressOf(one: unknown): string {
  try {
    return canonicalIp(String(one), 128);
  } catch {
    return refuse(
      `allowList must have addresses of clients, has ${shown(one)}`);
  }
}

/** The form in which addresses are in the list; a server may add more. */
export function formOf(address: string, prefix = 128): string {
  try {
    return canonicalIp(address, prefix);
  } catch {
    return address;  // what the core refuses is nobody's address
  }
}
