// A plain limit that never changes, so that its texts are made only once.

import type { Decision } from '../decision.js';
import { retryAfter, stateOf } from '../headers.js';
import type { Headers, HeaderStyle, Problem } from '../headers.js';

export class KnownLimit {
  readonly #policy: string;
  readonly #quoted: string;
  readonly #item: string;  // of RateLimit-Policy
  readonly #draft: string;  // the same in draft 6 and 7
  readonly #limit: number;
  readonly #windowNs: number;

  /** `decision` must carry its levels, and have one. */
  constructor(decision: Decision) {
    const level = decision.levels![0]!;
    this.#policy = level.policy;
    this.#limit = level.limit;
    this.#windowNs = Math.round(level.windowMs * 1e6);
    this.#draft = `${this.#limit};w=${Math.ceil(this.#windowNs / 1e9)}`;
    this.#item = decision.headers()['RateLimit-Policy']!;
    this.#quoted = this.#item.slice(0, this.#item.lastIndexOf(';q='));
  }

  /** The headers of a decision without its levels. */
  headersOf(decision: Decision, style: HeaderStyle): Headers {
    if (style === 'ietf') {
      const headers: Headers = {
        'RateLimit-Policy': this.#item,
        RateLimit: this.#quoted +
          stateOf(decision.remaining, this.#growsAfterNs(decision)),
      };
      const seconds = retryAfter(decision);
      if (seconds > 0) headers['Retry-After'] = String(seconds);
      return headers;
    }
    const headers = decision.headers(style);
    if (style === 'draft-7' || style === 'draft-6') {
      headers['RateLimit-Policy'] = this.#draft;
    }
    return headers;
  }

  /** A plain limit is GCRA: what is missing comes back at an even pace. */
  #growsAfterNs({ remaining, resetAfterMs }: Decision): number {
    const others = Math.max(0, this.#limit - remaining - 1);
    const interval = Math.floor(this.#windowNs / this.#limit);
    return Math.round(resetAfterMs * 1e6) - others * interval;
  }

  /** The body of a denial. */
  problemOf(decision: Decision): Problem {
    return { ...decision.problem(), 'violated-policies': [this.#policy] };
  }
}
