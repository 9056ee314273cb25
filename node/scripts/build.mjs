// Builds node/dist from node/src: CommonJS from the TypeScript compiler, in
// three files.  Next to each entry point of the package is a module for
// `import` that re-exports it, so that there is only one Limiter, however the
// package is loaded.  Files that are the same as before stay, because tests
// that another build started may load them now.
//
// build.mjs [limitree.node]: also puts that native module in its place.

import { spawnSync } from 'node:child_process';
import {
  copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync,
  renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { joinFiles } from './join.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const DIST = join(ROOT, 'node', 'dist');
const require = createRequire(import.meta.url);

function compile(out) {
  const compiler = require.resolve('typescript/bin/tsc');
  const done = spawnSync(
    process.execPath, [compiler, '-p', join(ROOT, 'node'), '--outDir', out],
    { stdio: 'inherit' });
  if (done.status !== 0) process.exit(done.status ?? 1);
}

/** The files in a folder and below, by their paths in it. */
function filesIn(folder) {
  return existsSync(folder) ? readdirSync(folder, { recursive: true })
    .filter((name) => statSync(join(folder, name)).isFile()) : [];
}

/** Makes `to` as `from` is, by renaming the files that differ. */
function replace(from, to) {
  const names = filesIn(from);
  for (const name of filesIn(to)) {
    if (!names.includes(name)) rmSync(join(to, name));
  }
  for (const name of names) {
    const [fresh, old] = [join(from, name), join(to, name)];
    if (existsSync(old) && readFileSync(old).equals(readFileSync(fresh))) {
      continue;
    }
    mkdirSync(dirname(old), { recursive: true });
    renameSync(fresh, old);
  }
}

/** Writes the module for `import` beside a file that exports these names. */
function wrap(file, names) {
  const beside = `./${basename(file)}`;
  const named = names.filter((name) => name !== 'default');
  let code = '';
  let types = `export * from '${beside}';\n`;
  if (named.length > 0) {
    code += `export {\n${named.map((name) => `  ${name},\n`).join('')}` +
      `} from '${beside}';\n`;
  }
  if (names.includes('default')) {
    code = `import all from '${beside}';\n${code}export default all.default;\n`;
    types = `import all = require('${beside}');\n${types}` +
      'declare const one: typeof all.default;\nexport default one;\n';
  }
  const stem = file.slice(0, -'.js'.length);
  writeFileSync(`${stem}.mjs`, code);
  writeFileSync(`${stem}.d.mts`, types);
}

/** A new file: a process may have the old one open. */
function place(native) {
  const { platform } = require(join(DIST, 'core.js'))('platform.js');
  const folder = join(ROOT, 'prebuilds', platform());
  const file = join(folder, 'limitree.node');
  mkdirSync(folder, { recursive: true });
  rmSync(file, { force: true });
  copyFileSync(native, file);
}

mkdirSync(DIST, { recursive: true });
const made = mkdtempSync(`${DIST}-`);
process.on('exit', () => rmSync(made, { recursive: true, force: true }));
compile(made);
const manifest = readFileSync(join(ROOT, 'package.json'), 'utf8');
const { exports, version } = JSON.parse(manifest);
const entries = Object.values(exports).filter((entry) => entry.require)
  .map((entry) => basename(entry.require.default));
const exported = joinFiles(made, 'index.js', entries, version);
for (const [name, names] of Object.entries(exported)) {
  wrap(join(made, name), names);
}
replace(made, DIST);
if (process.argv[2]) place(process.argv[2]);
