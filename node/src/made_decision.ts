// Decisions that JavaScript has made, from the answer of a store that is not
// limitree's, or because a client is blocked.

import { Decision, LIMITED, rowsOf } from './decision.js';
import * as at from './layout.js';
import { Name, type Names } from './names.js';

/** What is known about one limit. */
export interface Made {
  /** Its name in headers. */
  readonly policy: string;
  readonly limit: number;
  readonly remaining: number;
  readonly limited: boolean;
  readonly cost: number;
  readonly windowMs: number;
  /** Until the next request fits, if it is limited, and all are back. */
  readonly resetMs: number;
}

/** In LEVEL_BITS: the bucket was written. */
const CHARGED = 2;

/** The decision of one limit, with its level. */
export function decisionOf(made: Made): Decision {
  const { limit, remaining, limited } = made;
  const resetNs = Math.max(0, Math.round(made.resetMs * 1e6));
  const retryNs = limited ? resetNs : -1;
  const nextNs = remaining >= made.cost ? 0 : resetNs;
  const numbers = new Float64Array(at.DECISION_SIZE + at.LEVEL_SIZE);
  const write = (index: number, value: number) => { numbers[index] = value; };
  write(at.LIMIT, limit);
  write(at.REMAINING, remaining);
  write(at.RETRY_AFTER_NS, retryNs);
  write(at.RESET_AFTER_NS, resetNs);
  write(at.NEXT_AFTER_NS, nextNs);
  write(at.BINDING_RESET_AFTER_NS, resetNs);
  write(at.BITS, limited ? LIMITED : 0);
  write(at.LEVEL_COUNT, 1);
  const level = at.DECISION_SIZE;
  write(level + at.LEVEL_LIMIT, limit);
  write(level + at.LEVEL_REMAINING, remaining);
  write(level + at.LEVEL_RETRY_AFTER_NS, retryNs);
  write(level + at.LEVEL_RESET_AFTER_NS, resetNs);
  write(level + at.LEVEL_NEXT_AFTER_NS, nextNs);
  write(level + at.GROWS_AFTER_NS, remaining === limit ? 0 : resetNs);
  write(level + at.WINDOW_NS, Math.round(made.windowMs * 1e6));
  write(level + at.LEVEL_COST, made.cost);
  write(level + at.LEVEL_BITS, limited ? 1 : CHARGED);
  const name = new Name(made.policy, 'request');
  const names = { at: () => name } as unknown as Names;
  return new Decision(numbers, 0, rowsOf(numbers, 0, true, names));
}

/** The denial of a client for which nothing remains until then. */
export function denialOf(
  policy: string, limit: number, windowMs: number, resetMs: number,
): Decision {
  return decisionOf({ policy, limit, remaining: 0, limited: true, cost: 1,
                      windowMs, resetMs });
}
