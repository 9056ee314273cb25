// Where the native module of this machine lies in the package.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the package. */
export const ROOT = join(__dirname, '..', '..');

function isMusl(): boolean {
  try {
    return readFileSync('/proc/self/maps', 'latin1').includes('ld-musl');
  } catch {
    return false;
  }
}

/** Its folder in prebuilds/: "linux-x64", "linux-x64-musl", "darwin-arm64". */
export function platform(): string {
  const libc = process.platform === 'linux' && isMusl() ? '-musl' : '';
  return `${process.platform}-${process.arch}${libc}`;
}
