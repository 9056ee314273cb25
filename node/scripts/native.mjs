// Compiles the native module, for limitree-build.mjs and prebuild.mjs.

import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The package brings them; in a clone they are where npm puts them. */
function headers() {
  const packed = join(ROOT, 'node', 'headers');
  return existsSync(packed) ? packed : join(ROOT, 'node_modules');
}

function cmake(who, ...args) {
  const done = spawnSync('cmake', args, { stdio: 'inherit' });
  if (done.error) {
    console.error(`${who}: cannot run cmake: ${done.error.message}`);
    process.exit(1);
  }
  if (done.status !== 0) process.exit(done.status ?? 1);
}

/**
 * Puts the module for `platform` where it is looked for, or ends the process;
 * `who` says so.  With `options` for CMake.
 */
export function buildNative(who, platform, options) {
  const build = join(ROOT, 'build', `native-${platform}`);
  const place = join(ROOT, 'prebuilds', platform);
  cmake(who, '-S', ROOT, '-B', build, '-DCMAKE_BUILD_TYPE=Release',
        '-DLIMITREE_NODE=ON', '-DLIMITREE_CLI=OFF', '-DLIMITREE_INSTALL=OFF',
        `-DLIMITREE_NODE_HEADERS=${headers()}`, ...options);
  cmake(who, '--build', build, '--target', 'limitree_node',
        '--parallel', String(availableParallelism?.() ?? cpus().length));
  // A new file: a process may have the old one open, and strip writes to it.
  rmSync(join(place, 'limitree.node'), { force: true });
  cmake(who, '--install', build, '--component', 'node', '--prefix', place,
        '--strip');
  console.log(`built ${join(place, 'limitree.node')}`);
}
