#!/usr/bin/env node
// limitree-build [cmake option ...]: builds the native module from the sources
// in the package @limitree/source, or in a clone, and puts it where limitree
// looks for it.
//
// Needs CMake 3.25, a C++20 compiler, pkg-config, libyaml, hiredis and OpenSSL;
// no node-gyp and no network.  On Debian and Ubuntu: apt-get install cmake g++
// make pkg-config libyaml-dev libhiredis-dev libssl-dev

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const { platform } = createRequire(import.meta.url)('../dist/core.js')(
  'platform.js');

function fail(message) {
  console.error(`limitree-build: ${message}`);
  process.exit(1);
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The package with the sources, found from the project or this package. */
function sourcePackage() {
  for (const folder of [process.cwd(), ROOT]) {
    try {
      return dirname(createRequire(join(folder, 'package.json')).resolve(
        '@limitree/source/package.json'));
    } catch {
      // Not there.
    }
  }
  return undefined;
}

/** The folder with the sources of this version. */
function sources() {
  if (existsSync(join(ROOT, 'CMakeLists.txt'))) return ROOT;
  const { version } = manifestOf(ROOT);
  const install = `run npm install --no-save @limitree/source@${version}`;
  const folder = sourcePackage();
  if (folder === undefined) {
    fail(`the sources, the package @limitree/source, are missing: ${install}`);
  }
  const { version: other } = manifestOf(folder);
  if (other !== version) {
    fail(`@limitree/source is of version ${other}, not ${version}: ${install}`);
  }
  return folder;
}

/**
 * The headers of Node-API are in the package; in a clone they are where npm
 * puts them.
 */
function headers(source) {
  const packed = join(source, 'node', 'headers');
  return existsSync(packed) ? packed : join(ROOT, 'node_modules');
}

function cmake(...args) {
  const done = spawnSync('cmake', args, { stdio: 'inherit' });
  if (done.error) fail(`cannot run cmake: ${done.error.message}`);
  if (done.status !== 0) process.exit(done.status ?? 1);
}

const source = sources();
const build = join(source, 'build', `native-${platform()}`);
const place = join(ROOT, 'prebuilds', platform());
try {
  mkdirSync(place, { recursive: true });
} catch (error) {
  fail(`cannot put the module into ${place}: ${error.message}`);
}
cmake('-S', source, '-B', build, '-DCMAKE_BUILD_TYPE=Release',
      '-DLIMITREE_NODE=ON', '-DLIMITREE_CLI=OFF', '-DLIMITREE_INSTALL=OFF',
      `-DLIMITREE_NODE_HEADERS=${headers(source)}`, ...process.argv.slice(2));
cmake('--build', build, '--target', 'limitree_node',
      '--parallel', String(availableParallelism?.() ?? cpus().length));
// A new file: a process may have the old one open, and strip writes to it.
rmSync(join(place, 'limitree.node'), { force: true });
cmake('--install', build, '--component', 'node', '--prefix', place, '--strip');
console.log(`built ${join(place, 'limitree.node')}`);
