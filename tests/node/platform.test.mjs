// The name of the platform, also of machines that this one is not: by the
// program that runs, of which only the beginning is needed.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, it } from 'node:test';

import { load } from './packed.mjs';

const { PLATFORMS, platform } = load('platform.js');
const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
after(() => rmSync(folder, { recursive: true }));
const real = Object.fromEntries(['platform', 'arch', 'execPath'].map((name) =>
  [name, process[name]]));

function pretend(values) {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(process, name, { value, configurable: true });
  }
}
afterEach(() => pretend(real));

/** An ELF program of 64 bits with two headers, the second of this type. */
function program(interpreter, type = 3) {
  const bytes = Buffer.alloc(256);
  bytes.write('\x7fELF\x02', 'latin1');
  bytes.writeBigUInt64LE(64n, 32);  // its headers
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(2, 56);
  bytes.writeUInt32LE(6, 64);
  bytes.writeUInt32LE(type, 120);
  bytes.writeBigUInt64LE(200n, 128);  // where the name is
  bytes.writeBigUInt64LE(BigInt(interpreter.length), 152);
  bytes.write(interpreter, 200);
  return bytes;
}

const MUSL = '/lib/ld-musl-x86_64.so.1';
const CASES = [
  ['musl', 'linux', program(MUSL), '-musl'],
  ['glibc', 'linux', program('/lib64/ld-linux-x86-64.so.2'), ''],
  ['a static program', 'linux', program(MUSL, 1), ''],
  ['not ELF', 'linux', Buffer.from(`#!/bin/sh ${MUSL}`), ''],
  ['a cut off program', 'linux', program(MUSL).subarray(0, 100), ''],
  ['no such file', 'linux', undefined, ''],
  ['macOS', 'darwin', program(MUSL), ''],
];
for (const [name, system, bytes, libc] of CASES) {
  it(`${name}: ${system}-arm64${libc}`, () => {
    const execPath = join(folder, name);
    if (bytes !== undefined) writeFileSync(execPath, bytes);
    pretend({ platform: system, arch: 'arm64', execPath });
    assert.equal(platform(), `${system}-arm64${libc}`);
    assert.ok(PLATFORMS.includes(platform()));
  });
}
