// Where the native module may be: in the package of this platform, where
// limitree-build put it, or next to a bundle.

import { fs, module, path, url } from './builtins.js';
import { PLATFORMS, platform } from './platform.js';

/** The folder of this file, or of the bundle that it has become a part of. */
function here(): string {
  if (typeof __dirname === 'string') return __dirname;
  // A bundle that is an ES module has no __dirname, but a stack shows its path.
  const [, file] = /(file:\/\/\/?.*?):\d+:\d+/.exec(
    String(new Error().stack)) ?? [];
  return file === undefined ? process.cwd()
    : path.dirname(url.fileURLToPath(file));
}

const HERE = here();
const NAME = 'limitree.node';

/** Whether this file is a part of a bundle. */
export function isBundled(): boolean {
  return path.basename(HERE) !== 'dist' ||
    !fs.existsSync(path.join(HERE, 'core.js'));
}

/**
 * The file that `require(name)` in a file of that folder would load, however
 * the packages were installed; undefined if there is none.  Does not use
 * `require` itself, because a bundler would replace that.
 */
function resolve(folder: string, name: string): string | undefined {
  try {
    return module.createRequire(path.join(folder, NAME)).resolve(name);
  } catch {
    return undefined;
  }
}

/** The folder of the package, or of the bundle and the package it can see. */
function* packages(): Generator<string> {
  if (!isBundled()) return yield path.join(HERE, '..', '..');
  yield HERE;
  const found = resolve(HERE, 'limitree/package.json');
  if (found !== undefined) yield path.dirname(found);
}

/** The files that may be the module, the likeliest first. */
export function* candidates(): Generator<string> {
  const own = process.env['LIMITREE_NATIVE_PATH'];
  if (own) return yield own;
  const kind = platform();
  for (const folder of packages()) {
    // What limitree-build made comes before what was downloaded.
    yield path.join(folder, 'prebuilds', kind, NAME);
    const found = resolve(folder, `@limitree/${kind}`);
    if (found !== undefined) yield found;
  }
  yield path.join(HERE, NAME);
}

/** The installed packages for other platforms. */
export function foreign(): string[] {
  return PLATFORMS.filter((name) => [...packages()].some((folder) =>
    resolve(folder, `@limitree/${name}`) !== undefined));
}
