// Several native modules in one tarball: compiling them, with fake compilers
// that only record their arguments, packing them, and loading them.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync,
  symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';

import { platform } from '../../node/dist/platform.js';
import { ROOT } from './packed.mjs';

const OWN = platform();
const OTHER = 'linux-arm64';
// Such a machine compiles that module as its own.
const skip = OWN === OTHER && 'needs a machine of another kind';

const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
after(() => rmSync(folder, { recursive: true }));
const at = (...names) => join(folder, ...names);
const modules = (name) => at('prebuilds', name, 'limitree.node');

for (const name of ['dist', 'scripts']) {
  cpSync(join(ROOT, 'node', name), at('node', name), { recursive: true });
}
for (const name of ['package.json', '.npmrc']) {
  cpSync(join(ROOT, name), at(name));
}
symlinkSync(join(ROOT, 'node_modules'), at('node_modules'));
mkdirSync(at('programs'));

/** Puts `program` into PATH: it records its arguments, then runs `code`. */
function putProgram(program, code = '') {
  const file = at('programs', program);
  writeFileSync(file, `#!/bin/sh
echo "${program} $*" >> ${at('notes')}
${code}
`);
  chmodSync(file, 0o755);
}

function prebuild(...names) {
  const done = spawnSync(
    process.execPath, [at('node/scripts/prebuild.mjs'), ...names],
    { encoding: 'utf8', env: { PATH: at('programs') } });
  const notes = existsSync(at('notes')) ?
    readFileSync(at('notes'), 'utf8') : '';
  return { ...done, notes };
}

describe('prebuild.mjs', () => {
  beforeEach(() => {
    rmSync(at('notes'), { force: true });
    rmSync(at('programs'), { recursive: true });
    mkdirSync(at('programs'));
  });

  it('says which platforms there are', () => {
    const known = [...new Set([OTHER, OWN])].sort().join(', ');
    const { status, stderr } = prebuild(OWN, 'linux-pdp11', 'toString');
    assert.equal(status, 1);
    assert.equal(stderr, 'prebuild: no such platform here: linux-pdp11, ' +
      `toString; there are: ${known}\n`);
    assert.equal(prebuild().stderr,
                 `prebuild: name platforms; there are: ${known}\n`);
  });

  it('says what is missing for all of them', { skip }, () => {
    const { status, stderr } = prebuild(OWN, OTHER);
    assert.equal(status, 1);
    assert.equal(stderr, `\
prebuild: missing for ${OWN}: cmake, pkg-config, make, c++
missing for linux-arm64: cmake, pkg-config, make, aarch64-linux-gnu-g++
on Debian, as root:
  dpkg --add-architecture arm64
  apt-get update
  apt-get install cmake make pkg-config g++ libssl-dev libhiredis-dev \
libyaml-dev g++-aarch64-linux-gnu libssl-dev:arm64 libhiredis-dev:arm64 \
libyaml-dev:arm64
`);
  });

  it('compiles nothing while libraries are missing', { skip }, () => {
    for (const name of ['cmake', 'make', 'c++', 'pkg-config']) putProgram(name);
    putProgram('aarch64-linux-gnu-g++', 'echo "${1#*=}"');
    const { status, stderr, notes } = prebuild(OWN, OTHER);
    assert.equal(status, 1);
    assert.match(stderr, new RegExp(
      '^prebuild: missing for linux-arm64: libssl.a, libhiredis.a, libyaml.a' +
      '\non Debian'));
    assert.deepEqual(notes.match(/^cmake .*$/gm),
                     ['cmake --version', 'cmake --version']);
  });

  it('compiles each once, others with a toolchain file', { skip }, () => {
    for (const name of ['cmake', 'make', 'c++', 'pkg-config']) putProgram(name);
    putProgram('aarch64-linux-gnu-g++', 'echo "/lib/${1#*=}"');
    mkdirSync(at('prebuilds', OTHER), { recursive: true });
    writeFileSync(modules(OTHER), 'of before');
    const { status, notes } = prebuild(OWN, OTHER, OWN);
    assert.equal(status, 0);
    const configured = notes.match(/^cmake -S .*$/gm);
    assert.equal(configured.length, 2);
    assert.ok(!configured[0].includes('--toolchain'));
    assert.ok(configured[1].includes(
      `--toolchain ${at('cmake', 'linux-arm64.cmake')}`));
    assert.ok(existsSync(join(ROOT, 'cmake', 'linux-arm64.cmake')));
    const places = notes.match(/--prefix \S+/g);
    assert.deepEqual(places, [OWN, OTHER].map((name) =>
      `--prefix ${at('prebuilds', name)}`));
    assert.ok(!existsSync(modules(OTHER)));
  });

  it('stops at the first that fails', { skip }, () => {
    for (const name of ['make', 'c++', 'pkg-config']) putProgram(name);
    putProgram('cmake', 'test "$1" != --build || exit 7');
    putProgram('aarch64-linux-gnu-g++', 'echo "/lib/${1#*=}"');
    const { status, notes, stdout } = prebuild(OTHER, OWN);
    assert.equal(status, 7);
    assert.equal(notes.match(/^cmake -S /gm).length, 1);
    assert.equal(stdout, '');
  });
});

describe('several platforms', () => {
  const pack = () => spawnSync(
    'npm', ['pack', '--dry-run', '--json', '--loglevel', 'error'],
    { cwd: folder, encoding: 'utf8' });
  const foreign = ['linux-pdp11', 'linux-pdp11-musl'];

  beforeEach(() => {
    rmSync(at('prebuilds'), { recursive: true, force: true });
    cpSync(join(ROOT, 'prebuilds', OWN), at('prebuilds', OWN),
           { recursive: true });
    for (const name of foreign) {
      mkdirSync(at('prebuilds', name));
      writeFileSync(modules(name), 'no module of this machine');
    }
  });

  it('are packed', () => {
    const { status, stdout, stderr } = pack();
    assert.equal(status, 0, stderr);
    assert.match(stderr, new RegExp('prepack: native modules for ' +
      [OWN, ...foreign].sort().join(', ')));
    const [{ files }] = JSON.parse(stdout.slice(stdout.indexOf('[')));
    const packed = files.map(({ path }) => path).filter((path) =>
      path.startsWith('prebuilds/'));
    assert.deepEqual(packed.sort(), [OWN, ...foreign].flatMap((name) =>
      ['NOTICE.txt', 'limitree.node'].map((file) =>
        `prebuilds/${name}/${file}`)).sort());
  });

  it('are not packed with one of them empty', () => {
    rmSync(modules('linux-pdp11'));
    const { status, stderr } = pack();
    assert.notEqual(status, 0);
    assert.match(stderr, /prepack: prebuilds\/linux-pdp11 has no limitree\.no/);
  });

  it('are told apart where they are loaded', () => {
    const load = (first) => spawnSync(
      process.execPath, ['-e', `${first}
        console.log(require('./node/dist/native.js').native.version);`],
      { cwd: folder, encoding: 'utf8' });
    assert.match(load('').stdout, /^\d+\.\d+\.\d+\n$/);
    const { stderr } = load(`for (const [name, value] of Object.entries(
      { platform: 'linux', arch: 'pdp11' })) {
      Object.defineProperty(process, name, { value });
    }`);
    assert.match(stderr, /linux-pdp11(-musl)?.limitree.node: .*(header|short)/);
  });
});
