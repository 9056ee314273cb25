#!/usr/bin/env node
// limitree-build [cmake option ...]: builds the native module from the sources
// in the package and puts it where it is looked for.
//
// Takes CMake 3.25, a C++20 compiler, pkg-config, libyaml, hiredis and OpenSSL;
// no node-gyp and no network.  On Debian and Ubuntu: apt-get install cmake g++
// make pkg-config libyaml-dev libhiredis-dev libssl-dev

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const BUILD = join(ROOT, 'build', 'native');
const { platform } = createRequire(import.meta.url)('../dist/platform.js');
const PLACE = join(ROOT, 'prebuilds', platform());

/** The package brings them; in a clone they are where npm puts them. */
function headers() {
  const packed = join(ROOT, 'node', 'headers');
  return existsSync(packed) ? packed : join(ROOT, 'node_modules');
}

function cmake(...args) {
  const done = spawnSync('cmake', args, { stdio: 'inherit' });
  if (done.error) {
    console.error(`limitree-build: cannot run cmake: ${done.error.message}`);
    process.exit(1);
  }
  if (done.status !== 0) process.exit(done.status ?? 1);
}

cmake('-S', ROOT, '-B', BUILD, '-DCMAKE_BUILD_TYPE=Release',
      '-DLIMITREE_NODE=ON', '-DLIMITREE_CLI=OFF', '-DLIMITREE_INSTALL=OFF',
      `-DLIMITREE_NODE_HEADERS=${headers()}`, ...process.argv.slice(2));
cmake('--build', BUILD, '--target', 'limitree_node',
      '--parallel', String(availableParallelism?.() ?? cpus().length));
cmake('--install', BUILD, '--component', 'node', '--prefix', PLACE, '--strip');
console.log(`built ${join(PLACE, 'limitree.node')}`);
