// Joins the files of the TypeScript compiler into one, dist/core.js, because
// Node.js takes longer to find and open them than to run them.  The entry points
// stay as files that take their part of it.

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const HEAD = `"use strict";
// The modules of this package, each run when it is loaded for the first time.

const modules = {};
const loaded = {};

function loadPart(name) {
  if (!(name in loaded)) {
    loaded[name] = {};
    modules[name](loaded[name]);
  }
  return loaded[name];
}

module.exports = loadPart;
loadPart.loaded = () => Object.keys(loaded);
`;

/** The names that a CommonJS file exports, by what the compiler wrote. */
function namesOf(code) {
  const names = new Set();
  for (const match of code.matchAll(/^exports\.(\w+) = /gm)) {
    names.add(match[1]);
  }
  const getters = /^Object\.defineProperty\(exports, "(\w+)"/gm;
  for (const match of code.matchAll(getters)) names.add(match[1]);
  names.delete('__esModule');
  return [...names].sort();
}

/** A function that runs the module; builtins stay for bundlers to see. */
function functionOf(name, code, version) {
  const body = code
    .replace(/\brequire\("(\.[^"]*\.js)"\)/g, (_, other) =>
      `loadPart("${posix.join(posix.dirname(name), other)}")`)
    .replace(/\brequire\('[./]*\/package\.json'\)/,
             JSON.stringify({ version }));
  // Names that mean something else in the file of all.
  if (/\bloadPart\b/.test(code) ||
      /\brequire\(['"]\.|\bmodule\.exports\b/.test(body)) {
    throw new Error(`${name}: cannot be joined with others`);
  }
  return `\nmodules["${name}"] = (exports) => {\n${body}};\n`;
}

/**
 * The file of an entry point.  `import` and other tools see its names, and do
 * not have to read all of core.js for them.
 */
function entryOf(name, names) {
  return `"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
const load = require("./core.js");
const entry = load("${name}");
${names.map((one) => `exports.${one} = entry.${one};\n`).join('')}`;
}

/**
 * Joins the files in `folder`; `entries` are names of files in it.  Returns the
 * names that each of these exports.
 */
export function joinFiles(folder, entries, version) {
  const names = readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.js')).sort();
  const exported = {};
  let code = HEAD;
  for (const name of names) {
    const file = join(folder, name);
    const own = readFileSync(file, 'utf8');
    code += functionOf(name, own, version);
    rmSync(file);
    if (!entries.includes(name)) continue;
    exported[name] = namesOf(own);
    writeFileSync(file, entryOf(name, exported[name]));
  }
  writeFileSync(join(folder, 'core.js'), code);
  return exported;
}
