// The examples of the pages: all of a page is one program, which runs in a
// folder that holds nothing but the files the page gives.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

import { Decision, Limiter, Reservation } from 'limitree';

import {
  blocksOf, emptyFolder, follow, programOf, ROOT } from './docs_blocks.mjs';
import { run } from './run.mjs';

/** What the program of each page prints. */
const PAGES = {
  'README.md': /^$/,
  'docs/client-ip.md': /^203\.0\.113\.5\n198\.51\.100\.9\n2001:db8::7\n$/,
  'docs/descriptors.md': /^false 19999\n$/,
  'docs/node.md': /^try again in \d/,
  'docs/reservations.md': /^$/,
  'docs/shared-memory.md': /^$/,
};

for (const [page, prints] of Object.entries(PAGES)) {
  it(page, async () => {
    const folder = emptyFolder();
    try {
      let program = '';
      const given = new Set();
      for (const block of blocksOf(page)) {
        if (!follow(block, folder, given)) continue;
        // So that line numbers in errors are those of the page.
        const missing = block.line - program.split('\n').length;
        program += '\n'.repeat(missing) + programOf(block, folder);
      }
      assert.notEqual(program, '');
      writeFileSync(join(folder, 'page.mjs'), program);
      const printed =
        await run(process.execPath, ['page.mjs'], { cwd: folder });
      assert.match(printed, prints);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

it('every call is in the tables', () => {
  const page = readFileSync(join(ROOT, 'docs/node.md'), 'utf8');
  for (const kind of [Limiter, Decision, Reservation]) {
    for (const name of Object.getOwnPropertyNames(kind.prototype)) {
      if (['constructor', 'closed', 'isRemote', 'isShared', 'toJSON']
        .includes(name)) continue;
      assert.match(page, new RegExp(`\`${name}[\`(]`), name);
    }
  }
});
