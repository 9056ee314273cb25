// What an HTTP response says about limits.  Seconds are rounded up, so that a
// client that waits that long is not denied again.

import { invalidArgument } from './errors.js';
import * as at from './layout.js';
import type { Name } from './names.js';
import { ceilSeconds } from './time.js';
import { checkNames, shown } from './words.js';

/**
 * - `ietf`: `RateLimit-Policy` and `RateLimit` of the IETF draft, with one item
 *   for each limit that counts
 * - `draft-7`, `draft-6`: as in those drafts, for the binding limit
 * - `legacy`: `X-RateLimit-Limit`, `-Remaining` and `-Reset`, for the same
 * - `none`: none
 */
export type HeaderStyle = 'ietf' | 'draft-7' | 'draft-6' | 'legacy' | 'none';

/** What the legacy reset counts from: now, or 1970. */
export type Reset = 'delta' | 'epoch';

export interface HeaderOptions {
  /** Where the legacy reset counts from: now, or 1970.  Default `"delta"`. */
  readonly reset?: Reset;
}

export type Headers = Record<string, string>;

/** The members of `application/problem+json`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: 429;
  readonly detail: string;
  /** If the decision carries its levels. */
  readonly 'violated-policies'?: readonly string[];
}

/** The part of a decision that the headers show. */
type Shown = Readonly<{
  limited: boolean; unlimited: boolean; cell: readonly number[];
}>;

/** A level before it is read: numbers by LEVEL_LIMIT, ... */
export interface Row {
  readonly name: Name;
  readonly numbers: readonly number[];
}

type Rows = readonly Row[];

const SHADOW = 1;

/**
 * The headers of a response in the styles "ietf" and "none".  The core writes
 * the same, but a call of it takes longer: 200 ns for one limit, where this
 * takes 100.  headers.test.mjs checks that the two agree.
 *
 * Undefined: the core has to write the style.
 */
export function headers(
  decision: Shown,
  rows: Rows | undefined,
  style: HeaderStyle,
): Headers | undefined {
  if (style !== 'ietf' && style !== 'none') return undefined;
  const found: Headers = {};
  if (style === 'none' || decision.unlimited) return found;
  ietf(rows, found);
  const seconds = retryAfter(decision);
  if (seconds > 0) found['Retry-After'] = String(seconds);
  return found;
}

/** The reset in the options of headers(). */
export function resetIn(options: HeaderOptions): Reset {
  checkNames(options, ['reset'], "{reset: 'epoch'}");
  const { reset = 'delta' } = options;
  if (reset === 'delta' || reset === 'epoch') return reset;
  throw invalidArgument(`reset must be delta or epoch, is ${shown(reset)}`);
}

/** Seconds for Retry-After, at least 1; 0: there is none. */
export function retryAfter(decision: Shown): number {
  if (!decision.limited) return 0;
  const seconds = decision.cell[3];  // -1: no wait helps
  return seconds < 0 ? 0 : Math.max(1, seconds);
}

function ietf(rows: Rows | undefined, found: Headers): void {
  if (rows === undefined) {
    throw invalidArgument(
      'these headers name every limit, but the decision was made without its ' +
        'levels: give levels: true to the limiter or to the call');
  }
  let policies = '';
  let states = '';
  for (const { name, numbers } of rows) {
    if (numbers[at.LEVEL_BITS]! >> at.MODE_SHIFT === SHADOW) continue;
    const policy = name.policyItem(numbers[at.LEVEL_LIMIT]!,
                                   numbers[at.WINDOW_NS]!);
    const state = name.quoted +
      stateOf(numbers[at.LEVEL_REMAINING]!, numbers[at.GROWS_AFTER_NS]!);
    policies = policies === '' ? policy : policies + ', ' + policy;
    states = states === '' ? state : states + ', ' + state;
  }
  if (policies === '') return;
  found['RateLimit-Policy'] = policies;
  found['RateLimit'] = states;
}

/**
 * `;r=`, and `;t=` with the seconds until there is more, unless the bucket is
 * full.
 */
export function stateOf(remaining: number, growsAfterNs: number): string {
  const state = ';r=' + remaining;
  return growsAfterNs === 0 ? state : state + ';t=' + ceilSeconds(growsAfterNs);
}
