// How much longer a program of Node.js takes that loads limitree than an empty
// one, in turn, so that a busy machine slows all of them: the median of 40
// rounds, in milliseconds.
//
// Usage: node_start.mjs [rounds], after ./dev build node

import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const rounds = Number(process.argv[2] ?? 40);
const EMPTY = ['-e', '0'];
const PROGRAMS = {
  "require('limitree')": ['-e', "require('limitree')"],
  "import 'limitree'": ['--input-type=module', '-e', "import 'limitree'"],
  'an empty module': ['--input-type=module', '-e', "import 'node:path'"],
};

function start(args) {
  const before = process.hrtime.bigint();
  const done = spawnSync(process.execPath, args, { cwd: ROOT });
  if (done.status !== 0) throw new Error(String(done.stderr));
  return Number(process.hrtime.bigint() - before) / 1e6;
}

const median = (numbers) =>
  numbers.sort((a, b) => a - b)[numbers.length >> 1].toFixed(1);

const empty = [];
const more = Object.fromEntries(Object.keys(PROGRAMS).map((name) =>
  [name, []]));
for (let i = 0; i < rounds; ++i) {
  const bare = start(EMPTY);
  empty.push(bare);
  for (const [name, args] of Object.entries(PROGRAMS)) {
    more[name].push(start(args) - bare);
  }
}
console.log(`an empty program: ${median(empty)} ms`);
for (const [name, times] of Object.entries(more)) {
  console.log(`${name}: ${median(times)} ms more`);
}
