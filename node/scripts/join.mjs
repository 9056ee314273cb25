// Joins the files of the TypeScript compiler into core.js, web.js and nest.js,
// because Node.js takes longer to find and open them than to run them.  The
// entry points remain files, which export their part of these.

import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';

const CORE_HEAD = `"use strict";
// The modules of this package, each run when it is loaded for the first time.

const modules = {};
const loaded = {};

function loadPart(name) {
  if (name in loaded) return loaded[name];
  const exports = loaded[name] = {};
  try {
    modules[name](exports);
  } catch (error) {
    delete loaded[name];
    throw error;
  }
  return exports;
}

module.exports = loadPart;
loadPart.modules = modules;
loadPart.loaded = () => Object.keys(loaded);
`;

const WEB_HEAD = `"use strict";
// The modules for web frameworks.

const loadPart = require("./core.js");
const { modules } = loadPart;

module.exports = loadPart;
`;

/** The packages of NestJS are here alone: bundlers look for what they see. */
const NEST_HEAD = `"use strict";
// The modules for NestJS.

const loadPart = require("./web.js");
const { modules } = loadPart;

module.exports = loadPart;
`;

const HEADS = {
  'core.js': CORE_HEAD, 'web.js': WEB_HEAD, 'nest.js': NEST_HEAD };

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

/** The modules that `name` needs, and itself. */
function reach(name, functions, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, other] of functions[name].matchAll(/loadPart\("([^"]*)"\)/g)) {
    reach(other, functions, found);
  }
  return found;
}

/**
 * Entry points whose require() returns the default export, because that of the
 * packages whose names they have is a function.
 */
const FUNCTIONS = ['express-rate-limit.js', 'fastify-rate-limit.js',
                   'koa-ratelimit.js'];

/**
 * The file of an entry point.  `import` and other tools see its names, and do
 * not have to read the joined files for them.
 */
function entryOf(name, names, joined) {
  return `"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
const load = require("./${joined}");
const entry = load("${name}");
${names.map((one) => `exports.${one} = entry.${one};\n`).join('')}` +
    (FUNCTIONS.includes(name)
      ? 'module.exports = Object.assign(entry.default, exports);\n' : '');
}

/**
 * Joins the files in `folder`: what `first` needs into core.js, what is for
 * NestJS into nest.js, the rest into web.js.  `first` and `entries` are names
 * of files in it.  Returns the names that each of these exports.
 */
export function joinFiles(folder, first, entries, version) {
  const names = readdirSync(folder, { recursive: true })
    .map((name) => name.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.js')).sort();
  const functions = {};
  const exported = {};
  for (const name of names) {
    const file = join(folder, name);
    const code = readFileSync(file, 'utf8');
    functions[name] = functionOf(name, code, version);
    if (entries.includes(name)) exported[name] = namesOf(code);
    rmSync(file);
  }
  const core = reach(first, functions);
  const joined = (name) => core.has(name) ? 'core.js'
    : /^nestjs[./]/.test(name) ? 'nest.js' : 'web.js';
  for (const [file, head] of Object.entries(HEADS)) {
    const own = names.filter((name) => joined(name) === file);
    writeFileSync(join(folder, file),
                  head + own.map((name) => functions[name]).join(''));
  }
  for (const [name, all] of Object.entries(exported)) {
    writeFileSync(join(folder, name), entryOf(name, all, joined(name)));
  }
  return exported;
}
