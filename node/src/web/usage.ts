// What a response says that its request has used: the header
// `x-usage: tokens=812, request=1`, a dictionary of RFC 9651.

import type { Cost } from '../cost.js';
import type { Answer } from './ending.js';

/** The header, in lower case. */
export const USAGE = 'x-usage';

const KEY = '[a-z*][a-z0-9_.*-]*';

/** What a parameter may be; nobody reads it. */
const VALUE = [
  '-?\\d{1,15}(?:\\.\\d{1,3})?',  // a number
  '"(?:[ !#-\\[\\]-~]|\\\\["\\\\])*"',  // a string
  '[A-Za-z*][\\w!#$%&\'*+.^`|~:/-]*',  // a token
  ':[A-Za-z0-9+/=]*:',  // bytes
  '\\?[01]',
  '@-?\\d{1,15}',  // a date
  '%"(?:[ !#$&-~]|%[0-9a-f]{2})*"',  // a text
].join('|');

/** One unit, with what separates it from the next. */
const MEMBER = new RegExp(
  `(${KEY})=(\\d{1,16})((?:; *${KEY}(?:=(?:${VALUE}))?)*)` +
  '(?:[ \\t]*,[ \\t]*(?!$)|$)', 'y');

/**
 * The units in the value of the header, or its lines; undefined if there are
 * none.  Throws a TypeError if it cannot be read.
 */
export function readUsage(header: unknown): Cost | undefined {
  const text = (Array.isArray(header) ? header.join() : String(header ?? ''))
    .replace(/^ +| +$/g, '');
  if (text === '') return undefined;
  const units = new Map<string, number>();
  MEMBER.lastIndex = 0;
  while (MEMBER.lastIndex < text.length) {
    const [, unit, digits] = MEMBER.exec(text) ?? refuse();
    const count = Number(digits);
    if (!Number.isSafeInteger(count)) refuse();
    units.set(unit!, count);
  }
  return Object.fromEntries(units);
}

function refuse(): never {
  throw new TypeError(
    `${USAGE} must name units, such as tokens=812, request=1`);
}

/**
 * Makes a response of HTTP/1.1 keep the headers that writeHead() gets: it does
 * so if it had a header before.
 */
export function keepHeaders(response: Answer): void {
  if (response.headersSent || response.stream !== undefined) return;
  response.setHeader?.(USAGE, '');
  response.removeHeader?.(USAGE);
}
