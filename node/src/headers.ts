// What an HTTP response says about limits: the text of its headers and the body
// of a 429.  Numbers of whole seconds are rounded up, so that who waits as long
// as told is not denied again.

import type { Decision, Rows } from './decision.js';
import { invalidArgument } from './errors.js';
import * as at from './layout.js';
import { ceilSeconds } from './time.js';
import { checkNames, shown } from './words.js';

/**
 * - `ietf`: `RateLimit-Policy` and `RateLimit` of the IETF draft, with one item
 *   for each limit that counts
 * - `draft-7`, `draft-6`: as those drafts had them, for the binding limit
 * - `legacy`: `X-RateLimit-Limit`, `-Remaining` and `-Reset`, likewise
 * - `none`: none
 */
export type HeaderStyle = 'ietf' | 'draft-7' | 'draft-6' | 'legacy' | 'none';

export interface HeaderOptions {
  /** What the legacy reset counts from: now, or 1970.  Default `"delta"`. */
  readonly reset?: 'delta' | 'epoch';
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

const SHADOW = 1;

export function headers(
  decision: Decision,
  rows: Rows | undefined,
  style: HeaderStyle,
  options?: HeaderOptions,
): Headers {
  if (options !== undefined) checkNames(options, ['reset'], "{reset: 'epoch'}");
  const found: Headers = {};
  if (style === 'none' || decision.unlimited) {
    checkStyle(style);
    return found;
  }
  switch (style) {
    case 'ietf':
      ietf(rows, found);
      break;
    case 'draft-7':
      draft7(decision, rows, found);
      break;
    case 'draft-6':
      draft6(decision, rows, found);
      break;
    case 'legacy':
      legacy(decision, options?.reset ?? 'delta', found);
      break;
    default:
      checkStyle(style);
  }
  const seconds = retryAfter(decision);
  if (seconds > 0) found['Retry-After'] = String(seconds);
  return found;
}

export function problem(decision: Decision, rows: Rows | undefined): Problem {
  if (!decision.limited) {
    throw invalidArgument('the request was allowed: there is no problem');
  }
  const seconds = retryAfter(decision);
  const members: Problem = {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Too Many Requests',
    status: 429,
    detail: seconds > 0 ? `Try again in ${seconds} s.`
      : 'The request is larger than any limit on it allows.',
  };
  if (rows === undefined) return members;
  const violated: string[] = [];
  for (const { name, numbers } of rows) {
    if (counts(numbers) && (numbers[at.LEVEL_BITS]! & 1) !== 0) {
      violated.push(name.policy);
    }
  }
  return { ...members, 'violated-policies': violated };
}

function checkStyle(style: string): void {
  const styles = ['ietf', 'draft-7', 'draft-6', 'legacy', 'none'];
  if (!styles.includes(style)) {
    throw invalidArgument(
      `style must be one of ${styles.join(', ')}, is ${shown(style)}`);
  }
}

/** Seconds for Retry-After, at least 1; 0: there is none. */
function retryAfter(decision: Decision): number {
  if (!decision.limited) return 0;
  return Math.max(0, decision.cell[3]);
}

function counts(numbers: readonly number[]): boolean {
  return numbers[at.LEVEL_BITS]! >> at.MODE_SHIFT !== SHADOW;
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
    if (!counts(numbers)) continue;
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

function policies(rows: Rows | undefined, found: Headers): void {
  if (rows === undefined) return;
  const all: string[] = [];
  for (const { numbers } of rows) {
    if (!counts(numbers)) continue;
    all.push(`${numbers[at.LEVEL_LIMIT]!};w=` +
      ceilSeconds(numbers[at.WINDOW_NS]!));
  }
  if (all.length > 0) found['RateLimit-Policy'] = all.join(', ');
}

/** When the binding limit is full again, in seconds. */
function resetOf(decision: Decision, fromMs = 0): number {
  return Math.ceil((fromMs + decision.bindingResetAfterMs) / 1000);
}

function draft7(
  decision: Decision,
  rows: Rows | undefined,
  found: Headers,
): void {
  policies(rows, found);
  found['RateLimit'] = `limit=${decision.limit}, ` +
    `remaining=${decision.remaining}, reset=${resetOf(decision)}`;
}

function draft6(
  decision: Decision,
  rows: Rows | undefined,
  found: Headers,
): void {
  policies(rows, found);
  found['RateLimit-Limit'] = String(decision.limit);
  found['RateLimit-Remaining'] = String(decision.remaining);
  found['RateLimit-Reset'] = String(resetOf(decision));
}

function legacy(
  decision: Decision,
  reset: 'delta' | 'epoch',
  found: Headers,
): void {
  if (reset !== 'delta' && reset !== 'epoch') {
    throw invalidArgument(
      `reset must be delta or epoch, is ${shown(reset)}`);
  }
  found['X-RateLimit-Limit'] = String(decision.limit);
  found['X-RateLimit-Remaining'] = String(decision.remaining);
  found['X-RateLimit-Reset'] =
    String(resetOf(decision, reset === 'epoch' ? Date.now() : 0));
}
