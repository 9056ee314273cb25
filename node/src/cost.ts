// The cost of a request, read from an argument.

import { invalidArgument } from './errors.js';
import * as at from './layout.js';
import { shown } from './words.js';

/**
 * What a request costs: a number is the cost in `request`, which limits count
 * by default; `{ request: 1, tokens: 812 }` is one in several units, whose
 * `request` is 1 if it is not named.
 */
export type Cost = number | Readonly<Record<string, number>>;

/** A cost in several units, in the form for native code. */
export interface Units {
  readonly request: number;
  /** The other units, and as many costs. */
  readonly names: readonly string[];
  readonly costs: readonly number[];
}

function checkWhole(cost: unknown, name: string): void {
  if (Number.isSafeInteger(cost)) return;
  throw invalidArgument(`${name} must be a whole number, is ${shown(cost)}`);
}

/** A cost that is a number. */
export function costOf(cost: Cost | undefined, usual = 1): number {
  if (cost === undefined) return usual;
  if (!Number.isSafeInteger(cost)) checkWhole(cost, 'cost');
  return cost as number;
}

/** A cost that is an object; undefined for a number. */
export function unitsOf(cost: Cost | undefined): Units | undefined {
  return typeof cost === 'object' ? readUnits(cost, 1) : undefined;
}

/** What was used of a reservation; what is not named was used as held. */
export function usedOf(cost: Cost | undefined): Units {
  if (typeof cost === 'object') return readUnits(cost, at.AS_HELD);
  const request = costOf(cost, at.AS_HELD);
  if (cost !== undefined && request < 0) {
    throw invalidArgument(`cost must not be negative, is ${request}`);
  }
  return { request, names: [], costs: [] };
}

/** Whether it is `{...}`, of any realm: a Promise or a Map names no units. */
function isPlain(value: object | null): boolean {
  if (value === null) return false;
  const parent: unknown = Object.getPrototypeOf(value);
  return parent === null || Object.getPrototypeOf(parent) === null;
}

function readUnits(
  cost: Readonly<Record<string, number>>,
  usualRequest: number,
): Units {
  const entries = isPlain(cost) ? Object.entries(cost) : [];
  if (entries.length === 0) {
    throw invalidArgument('cost must be a whole number or name units, such as' +
      ` {tokens: 812}, is ${shown(cost)}`);
  }
  let request = usualRequest;
  const names: string[] = [];
  const costs: number[] = [];
  for (const [unit, units] of entries) {
    const name = /^\w{1,40}$/.test(unit) ? unit : shown(unit);
    checkWhole(units, `cost in ${name}`);
    if (units < 0) {
      throw invalidArgument(
        `cost in ${name} must not be negative, is ${units}`);
    }
    if (unit === 'request') {
      request = units;
    } else {
      names.push(unit);
      costs.push(units);
    }
  }
  if (names.length <= at.MAX_UNITS) return { request, names, costs };
  throw invalidArgument(
    `cost names ${names.length} units, the most is ${at.MAX_UNITS}`);
}
