// The paths of a request to a web server.

import type { Path, PathList } from '../paths.js';

/** One path, or several, each of which may have its own cost. */
export type Paths = Path | PathList;

export function areSeveral(paths: Paths): paths is PathList {
  return Array.isArray(paths) && typeof paths[0] === 'object' &&
    paths[0] !== null;
}
