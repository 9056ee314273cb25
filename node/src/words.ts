// Names in messages: values by their type, and wrong names with the name that
// was probably meant.

import { invalidArgument } from './errors.js';

/** `value` as a message names it: `the text "2"`, `NaN`, `an object`. */
export function shown(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return `the text ${JSON.stringify(value.length > 40
        ? `${value.slice(0, 37)}...` : value)}`;
    case 'bigint':
      return `the bigint ${value}n`;
    case 'function':
      return 'a function';
    case 'symbol':
      return 'a symbol';
    case 'object':
      if (value === null) return 'null';
      return Array.isArray(value) ? 'an array' : 'an object';
    default:
      return String(value);
  }
}

/** What somebody else's error says. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : shown(error);
}

/** The text of anything that was thrown; an object may have no text. */
export function textOf(error: unknown): string {
  if (error instanceof Error) return error.stack ?? error.message;
  try {
    return String(error);
  } catch {
    return typeof error;
  }
}

/** A name as it is compared: `max_buckets` and `MaxBuckets` are the same. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}

/** Letters to insert, take out, change or swap until `a` is `b`. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; ++i) {
    const [last, row] = [rows[i - 1]!, [i]];
    for (let j = 1; j <= b.length; ++j) {
      const change = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(Math.min(change, last[j]! + 1, row[j - 1]! + 1,
                        isSwap ? rows[i - 2]![j - 2]! + 1 : change));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}

/** The one of `names` that was probably meant. */
function nearest(name: string, names: readonly string[]): string | undefined {
  const wrong = plain(name);
  const most = Math.floor(Math.min(wrong.length, 12) / 3);
  let best: string | undefined;
  let least = most + 1;
  for (const one of names) {
    const found = distance(wrong, plain(one));
    if (found < least) [best, least] = [one, found];
  }
  return best;
}

/** `there is no option costs, did you mean cost?` */
export function noOption(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  return `there is no option ${name}, ${meant === undefined
    ? `there are: ${names.join(', ')}` : `did you mean ${meant}?`}`;
}

/** Refuses values that are not objects, and names that are not in `names`. */
export function checkNames(
  options: unknown,
  names: readonly string[],
  example: string,
): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidArgument(
      `options must be an object such as ${example}, is ${shown(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!names.includes(name)) throw invalidArgument(noOption(name, names));
  }
}
