// The paths of a request to a web server.

import { wellFormed, type Path, type PathList } from '../paths.js';

/** One path, or several, each of which may have its own cost. */
export type Paths = Path | PathList;

export function areSeveral(paths: Paths): paths is PathList {
  return Array.isArray(paths) && typeof paths[0] === 'object' &&
    paths[0] !== null;
}

/**
 * The same paths with text in place of halves of characters, which any client
 * may have sent; undefined if there are none.
 */
export function wellFormedPaths(paths: Paths): Paths | undefined {
  let isOther = false;
  const made = (one: unknown): unknown => {
    if (typeof one === 'string') {
      const text = wellFormed(one);
      isOther ||= text !== one;
      return text;
    }
    if (Array.isArray(one)) return one.map(made);
    return typeof one === 'object' && one !== null && 'path' in one
      ? { ...one, path: made(one.path) } : one;
  };
  const all = made(paths) as Paths;
  return isOther ? all : undefined;
}
