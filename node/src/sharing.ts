// Checks what a limiter cannot have if it is shared with other threads, or with
// other machines.

import { ConfigError, invalidArgument } from './errors.js';
import type { Functions } from './native.js';
import { shown } from './words.js';

/** Refuses options that a limiter shared by threads cannot have. */
export function checkShare(
  options: { readonly share?: unknown; readonly clock?: unknown },
): void {
  const { share } = options;
  if (share === undefined) return;
  if (typeof share !== 'string' || share === '') {
    throw invalidArgument(`share must be a name, is ${shown(share)}`);
  }
  if (options.clock !== undefined) {
    throw invalidArgument('share: threads cannot share a clock');
  }
}

/** Refuses runtimes that cannot watch a connection for native code. */
export function checkRuntime(made: Functions): void {
  const { bun, deno } = process.versions;
  if (!made.isRemote || (bun === undefined && deno === undefined)) return;
  made.close();
  const why = bun === undefined
    ? `Deno ${deno} never tells that it has answered`
    : `Bun ${bun} has no uv_poll_init`;
  throw new ConfigError(['store: a store on another machine needs Node.js, ' +
    `for ${why}: use shm:// or memory://, or run the program with Node.js`]);
}
