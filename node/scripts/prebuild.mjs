// prebuild.mjs <platform ...>: compiles the native module for each platform
// into prebuilds/, all of which `npm pack` takes into one tarball.
//
// The platform that it runs on is compiled as limitree-build.mjs does, others
// with a cross compiler.  It reports everything that is missing before it
// compiles.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { isAbsolute, join } from 'node:path';

import { ROOT, buildNative } from './native.mjs';

const PLATFORM = join(ROOT, 'node', 'dist', 'platform.js');
const TOOLS = ['cmake', 'pkg-config'];
if (!process.env.CMAKE_GENERATOR) TOOLS.push('make');

/** What compiles for others, with the packages that Debian has for it. */
const CROSS = {
  'linux-arm64': {
    toolchain: join(ROOT, 'cmake', 'linux-arm64.cmake'),
    compiler: 'aarch64-linux-gnu-g++',
    libraries: ['libssl.a', 'libhiredis.a', 'libyaml.a'],
    architecture: 'arm64',
    packages: 'g++-aarch64-linux-gnu libssl-dev:arm64 libhiredis-dev:arm64 ' +
      'libyaml-dev:arm64',
  },
};

/** What compiles for this machine: here pkg-config alone knows libraries. */
const OWN = {
  compiler: process.env.CXX?.split(' ')[0] || 'c++',
  modules: ['openssl', 'hiredis', 'yaml-0.1'],
  packages: 'g++ libssl-dev libhiredis-dev libyaml-dev',
};

function fail(message) {
  console.error(`prebuild: ${message}`);
  process.exit(1);
}

/** What a program prints, or undefined if it fails or is not there. */
function ask(program, ...args) {
  const { status, stdout } = spawnSync(program, args, { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : undefined;
}

const answers = (program, ...args) => ask(program, ...args) !== undefined;

function missingFor({ compiler, libraries = [], modules = [] }) {
  const missing = TOOLS.filter((tool) => !answers(tool, '--version'));
  if (!answers(compiler, '--version')) return [...missing, compiler];
  // A compiler repeats the name of a file that it does not find.
  missing.push(...libraries.filter((name) =>
    !isAbsolute(ask(compiler, `-print-file-name=${name}`) ?? '')));
  if (!missing.includes('pkg-config')) {
    missing.push(...modules.filter((name) =>
      !answers('pkg-config', '--exists', name)));
  }
  return missing;
}

/** Ends the process unless everything is there for all of `names`. */
function requireAll(names, targets) {
  const complaints = [];
  const packages = new Set(['cmake', 'make', 'pkg-config']);
  const before = [];
  for (const name of names) {
    const target = targets[name];
    const missing = missingFor(target);
    if (missing.length === 0) continue;
    complaints.push(`missing for ${name}: ${missing.join(', ')}`);
    for (const one of target.packages.split(' ')) packages.add(one);
    if (target.architecture) {
      before.push(`  dpkg --add-architecture ${target.architecture}`);
    }
  }
  if (complaints.length === 0) return;
  if (before.length > 0) before.push('  apt-get update');
  fail([...complaints, 'on Debian, as root:', ...before,
        `  apt-get install ${[...packages].join(' ')}`].join('\n'));
}

const names = [...new Set(process.argv.slice(2))];
if (!existsSync(PLATFORM)) fail('node/dist is missing: run npm run build');
const own = createRequire(import.meta.url)(PLATFORM).platform();
const targets = { ...CROSS, [own]: OWN };
const known = Object.keys(targets).sort().join(', ');
const unknown = names.filter((name) => !Object.hasOwn(targets, name));
if (unknown.length > 0) {
  fail(`no such platform here: ${unknown.join(', ')}; there are: ${known}`);
}
if (names.length === 0) fail(`name platforms; there are: ${known}`);
requireAll(names, targets);
for (const name of names) {
  const { toolchain } = targets[name];
  buildNative('prebuild', name, toolchain ? ['--toolchain', toolchain] : []);
}
