// The name of the platform of this machine, which is a part of the name of its
// package.

import { fs } from './builtins.js';

/** Each has a package @limitree/<name> with the native module. */
export const PLATFORMS: readonly string[] = [
  'darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-arm64-musl', 'linux-x64',
  'linux-x64-musl'];

const PT_INTERP = 3;

/** Reads `size` bytes of an open file. */
function read(file: number, at: number, size: number): Buffer {
  const bytes = Buffer.alloc(size);
  return bytes.subarray(0, fs.readSync(file, bytes, 0, size, at));
}

/**
 * The program that starts an ELF program of 64 bits, which the C library
 * brings; empty if it needs none.
 */
function interpreterOf(program: string): string {
  const file = fs.openSync(program, 'r');
  try {
    const head = read(file, 0, 64);
    if (head.toString('latin1', 0, 5) !== '\x7fELF\x02') return '';
    const size = head.readUInt16LE(54);
    const parts = read(file, Number(head.readBigUInt64LE(32)),
                       size * head.readUInt16LE(56));
    for (let i = 0; i < parts.length; i += size) {
      if (parts.readUInt32LE(i) !== PT_INTERP) continue;
      return read(file, Number(parts.readBigUInt64LE(i + 8)),
                  Number(parts.readBigUInt64LE(i + 32))).toString('latin1');
    }
    return '';
  } finally {
    fs.closeSync(file);
  }
}

/**
 * Reads the program file, which is much faster than a report of the process or
 * its memory map.
 */
function isMusl(): boolean {
  try {
    return interpreterOf(process.execPath).includes('ld-musl');
  } catch {
    return false;
  }
}

/** The platform: "linux-x64", "linux-x64-musl", "darwin-arm64", ... */
export function platform(): string {
  const libc = process.platform === 'linux' && isMusl() ? '-musl' : '';
  return `${process.platform}-${process.arch}${libc}`;
}
