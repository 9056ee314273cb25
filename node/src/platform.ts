// The place of the native module of this machine: in the package, or next to a
// bundle.

import { fs, path, url } from './builtins.js';

/** The folder of this file, or of the bundle that it has become a part of. */
function here(): string {
  if (typeof __dirname === 'string') return __dirname;
  // A bundle that is an ES module has no __dirname; a stack has its place.
  const [, file] = /(file:\/\/\/?.*?):\d+:\d+/.exec(
    String(new Error().stack)) ?? [];
  return file === undefined ? process.cwd()
    : path.dirname(url.fileURLToPath(file));
}

const HERE = here();

function isMusl(): boolean {
  try {
    return fs.readFileSync('/proc/self/maps', 'latin1').includes('ld-musl');
  } catch {
    return false;
  }
}

/** This machine's folder in prebuilds/: "linux-x64", "linux-x64-musl", ... */
export function platform(): string {
  const libc = process.platform === 'linux' && isMusl() ? '-musl' : '';
  return `${process.platform}-${process.arch}${libc}`;
}

/** The folders that may have prebuilds/, the likeliest first. */
export function places(): string[] {
  const found = [path.join(HERE, '..', '..'), HERE];
  // The package may be installed where the bundle is.
  for (let folder = HERE; ; folder = path.dirname(folder)) {
    found.push(path.join(folder, 'node_modules', 'limitree'));
    if (folder === path.dirname(folder)) return found;
  }
}
