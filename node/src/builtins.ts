// Modules of Node itself.  A bundle may lack `require`, so they come from the
// process if it offers them (Node.js 20.16 and 22.3).

import type * as Crypto from 'node:crypto';
import type * as Fs from 'node:fs';
import type * as Http from 'node:http';
import type * as Module from 'node:module';
import type * as Path from 'node:path';
import type * as Url from 'node:url';

import { LimitreeError } from './errors.js';

/** `byRequire` calls `require` with the name, so that bundlers see it. */
function load<T>(name: string, byRequire: () => unknown): T {
  const { getBuiltinModule } = process as Partial<typeof process>;
  const found: unknown = getBuiltinModule?.(name);
  if (found !== undefined) return found as T;
  try {
    return byRequire() as T;
  } catch (error) {
    throw Object.assign(new LimitreeError('LIMITREE_NO_NATIVE',
      `limitree cannot load ${name} in this bundle: leave limitree out of ` +
      'it, with esbuild by --external:limitree, or use Node.js 20.16'),
      { cause: error });
  }
}

export const fs = load<typeof Fs>('node:fs', () => require('node:fs'));
export const module = load<typeof Module>(
  'node:module', () => require('node:module'));
export const path = load<typeof Path>('node:path', () => require('node:path'));
/** Only when it is needed: it loads much. */
export const http = () =>
  load<typeof Http>('node:http', () => require('node:http'));
/** The same. */
export const crypto = () =>
  load<typeof Crypto>('node:crypto', () => require('node:crypto'));
export const url = load<typeof Url>('node:url', () => require('node:url'));
