// What to do where there is no native module.

import { foreign, isBundled } from './find.js';
import { PLATFORMS, platform } from './platform.js';

const BUNDLE = 'In a bundle: leave limitree out of it, with esbuild by ' +
  '--external:limitree and with webpack by externals: {limitree: "commonjs ' +
  'limitree"}; or copy limitree.node of that package beside the bundle';

function absent(kind: string, version: string): string {
  const name = `@limitree/${kind}`;
  const others = foreign().map((other) => `@limitree/${other}`);
  const why = others.length > 0
    ? `There is ${others.join(' and ')}: node_modules comes from another ` +
      'platform'
    : 'Package managers leave it out with --omit=optional, without a ' +
      'network, and if the lock file comes from another platform';
  return `limitree needs the package ${name}, which is not installed. ` +
    `${why}. To install it: npm install --save-optional ${name}@${version}`;
}

/** The message, by what was there and could not be loaded, and why. */
export function explain(failed: readonly string[], version: string): string {
  const kind = platform();
  const build = 'from the sources: npm install --no-save ' +
    `@limitree/source@${version} && npx limitree-build`;
  const lines: string[] = [];
  if (process.env['LIMITREE_NATIVE_PATH'] && failed.length === 0) {
    lines.push('limitree has no native module: there is no file ' +
      `${process.env['LIMITREE_NATIVE_PATH']}, which LIMITREE_NATIVE_PATH ` +
      'names');
  } else if (failed.length > 0) {
    lines.push(`limitree cannot load its native module for ${kind}, ` +
      `${process.release.name} ${process.versions.node}:`,
      ...failed.map((line) => `  ${line}`), `To build it ${build}`);
  } else if (PLATFORMS.includes(kind)) {
    lines.push(absent(kind, version));
    if (isBundled()) lines.push(BUNDLE);
  } else {
    lines.push(`limitree has no native module for ${kind}; there are some ` +
      `for ${PLATFORMS.join(', ')}. To build it ${build}`);
  }
  return lines.join('\n');
}
