// The paths of a request.

import { costOf } from './cost.js';
import { invalidArgument } from './errors.js';
import * as at from './layout.js';
import { checkNames, shown } from './words.js';

/** A part of a path.  A whole number stands for its decimal digits. */
export type Segment = string | number | bigint;

/** The path of a request, from the root: `['user', 'alex', 'trade']`. */
export type Path = readonly Segment[];

/**
 * What a call does with the limits of a path: `charge` counts and charges them,
 * `check` only counts them, `spend_if_fits` only charges, those that fit.
 */
export type Part = 'charge' | 'check' | 'spend_if_fits';

/** One of several paths, with its own cost and part. */
export interface Costly {
  readonly path: Path;
  /** In `request`; default: that of the call. */
  readonly cost?: number | undefined;
  /** Default: `charge`. */
  readonly part?: Part | undefined;
}

/** Several paths. */
export type PathList = readonly (Path | Costly)[];

/**
 * `text` with U+FFFD in place of each half of a character.  JSON may have one
 * alone, as "\ud83d", which is not text: the core refuses it.
 */
export function wellFormed(text: string): string {
  return /[\ud800-\udfff]/.test(text)
    ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}

export function checkArray(value: unknown, name: string): void {
  if (!Array.isArray(value)) {
    throw invalidArgument(`${name} must be an array, is ${shown(value)}`);
  }
}

function partOf(one: Costly): number {
  const part: unknown = one.part === undefined ? 'charge' : one.part;
  const number = at.PARTS.indexOf(part as Part);
  if (number >= 0) return number;
  throw invalidArgument(
    `part must be charge, check or spend_if_fits, is ${shown(part)}`);
}

/** Appends the segments of `paths`; returns at.PATH_SIZE numbers of each. */
export function sizesOf(
  paths: PathList,
  cost: number,
  segments: Segment[],
): number[] {
  checkArray(paths, 'paths');
  if (paths.length === 0) throw invalidArgument('there are no paths');
  if (paths.length > at.MAX_PATHS) {
    throw invalidArgument(
      `there are ${paths.length} paths, the most is ${at.MAX_PATHS}`);
  }
  const sizes: number[] = [];
  paths.forEach((one, i) => {
    const isCostly = typeof one === 'object' && one !== null && 'path' in one;
    const path = isCostly ? one.path : one;
    if (isCostly) {
      checkNames(one, ['path', 'cost', 'part'], '{path: [...], cost: 2}');
    }
    checkArray(path, `paths[${i}]${isCostly ? '.path' : ''}`);
    segments.push(...path);
    sizes.push(path.length, isCostly ? costOf(one.cost, cost) : cost,
               isCostly ? partOf(one) : 0);
  });
  return sizes;
}
