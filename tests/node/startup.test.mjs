// What `import 'limitree'` loads: files cost more time than what is in them.

import assert from 'node:assert/strict';
import { join, relative } from 'node:path';
import { it } from 'node:test';

import { ROOT } from './packed.mjs';
import { run } from './run.mjs';

/** Runs `first`; resolves to what that loads, builtins and files. */
async function loadedBy(first) {
  const text = await run(process.execPath, ['-e', `
    const before = new Set(process.moduleLoadList);
    const { writeSync } = require('node:fs');
    ${first}
    writeSync(1, JSON.stringify({
      builtins: process.moduleLoadList.filter((name) => !before.has(name)),
      files: Object.keys(require.cache) }));`], { cwd: ROOT });
  const { builtins, files } = JSON.parse(text);
  return {
    // Its own modules for finding and opening files are not ours.
    builtins: builtins.filter((name) =>
      !name.startsWith('NativeModule internal/modules/')),
    files: files.map((file) => relative(ROOT, file)).sort(),
  };
}

const CORE = join('node', 'dist', 'core.js');

it('limitree loads two files, and nothing of Node.js', async () => {
  const { builtins, files } = await loadedBy("require('limitree');");
  assert.deepEqual(builtins, []);
  assert.deepEqual(files, [CORE, join('node', 'dist', 'index.js')]);
});

it('a decision in memory loads no more', async () => {
  const { builtins, files } = await loadedBy(`
    const { Limiter } = require('limitree');
    new Limiter({ limits: 'schema: {a: {limits: [1, 1, 1]}}' })
      .authorizeSync(['a']);`);
  assert.deepEqual(builtins, []);
  assert.equal(files.length, 2);
});

for (const name of ['express', 'express-rate-limit', 'fastify', 'fetch', 'hono',
                    'hono-rate-limiter', 'http', 'koa', 'koa-ratelimit',
                    'ws']) {
  it(`limitree/${name} does not load the framework`, async () => {
    const { builtins, files } = await loadedBy(`require('limitree/${name}');`);
    assert.deepEqual(builtins, []);
    assert.deepEqual(files, [CORE, ...['web.js', `${name}.js`].map((file) =>
      join('node', 'dist', file))].sort());
  });
}

it('of limitree only what is needed runs', async () => {
  const text = await run(process.execPath, ['-e', `
    const load = require('./node/dist/core.js');
    require('limitree');
    require('node:fs').writeSync(1, JSON.stringify(load.loaded()));`],
    { cwd: ROOT });
  const names = JSON.parse(text);
  assert.ok(names.includes('limiter.js'));
  assert.deepEqual(names.filter((name) => name.startsWith('web/')), []);
});
