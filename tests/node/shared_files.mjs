// Files of shm:// that processes share.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
let count = 0;

/** The URL of a file that nobody has made yet. */
export function newFile() {
  return `shm://${join(folder, String(++count))}?max_buckets=1000`;
}

/** The file of such a URL. */
export function pathOf(url) {
  return url.slice('shm://'.length).split('?')[0];
}

/** Functions that return the URL of each store that answers at once. */
export const STORES = { memory: () => 'memory://', shared: newFile };
