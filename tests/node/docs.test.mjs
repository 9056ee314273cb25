// The examples of docs/node.md, one after the other, and that of the README.

import assert from 'node:assert/strict';
import {
  cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Decision, Limiter } from 'limitree';

import { run } from './run.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
// In the package, or its own name would mean nothing.
mkdirSync(join(ROOT, 'build'), { recursive: true });
const folder = mkdtempSync(join(ROOT, 'build', 'docs-'));
after(() => rmSync(folder, { recursive: true }));
cpSync(join(ROOT, 'examples'), folder, { recursive: true });

/** The blocks of a page, each on its lines. */
function programOf(page, wanted = () => true) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  let program = '';
  for (const match of text.matchAll(/^```js\n(.*?)^```$/gms)) {
    if (!wanted(match[1])) continue;
    const line = text.slice(0, match.index).split('\n').length + 1;
    program += '\n'.repeat(line - program.split('\n').length) + match[1];
  }
  return program;
}

async function check(name, program, prints) {
  writeFileSync(join(folder, name), program);
  const printed = await run(process.execPath, [name], { cwd: folder });
  assert.match(printed, prints);
}

it('docs/node.md', () =>
  check('page.mjs', programOf('docs/node.md'), /^try again in \d/));

it('README.md', () => check('readme.mjs', programOf('README.md', (block) =>
  block.includes("from 'limitree';")), /^$/));

it('every call is in the tables', () => {
  const page = readFileSync(join(ROOT, 'docs/node.md'), 'utf8');
  for (const kind of [Limiter, Decision]) {
    for (const name of Object.getOwnPropertyNames(kind.prototype)) {
      if (['constructor', 'closed', 'isRemote', 'toJSON'].includes(name)) {
        continue;
      }
      assert.match(page, new RegExp(`\`${name}[\`(]`), name);
    }
  }
});
