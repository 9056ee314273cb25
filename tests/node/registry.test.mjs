// `npm install limitree` from a registry with packages for all platforms: npm
// takes that of this one.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';

import { serve } from '../../scripts/release/registry.mjs';
import { OWN, Packed, load } from './packed.mjs';
import { fakeModule, packPlatform } from './platform_modules.mjs';
import { run } from './run.mjs';

const packed = await new Packed().pack();
for (const name of load('platform.js').PLATFORMS) {
  if (name === OWN) continue;
  await packPlatform(packed.out, name, fakeModule(name));
}
const registry = await serve(packed.out);
after(() => {
  registry.close();
  packed.remove();
});
const OPTIONS = ['--registry', registry.url, '--cache',
                 join(packed.folder, 'cache')];
const PROGRAM = `
const { Limiter } = require('limitree');
const limiter = new Limiter({ limits: 'schema: {job: {limits: [4, 1, 60]}}' });
console.log(limiter.authorizeSync(['job']).remaining);`;

it('installs the package of this platform only', async () => {
  await packed.installNames(packed.app, ['limitree'], OPTIONS);
  assert.deepEqual(readdirSync(join(packed.app, 'node_modules', '@limitree')),
                   [OWN]);
  assert.equal(await run(process.execPath, ['-e', PROGRAM],
                         { cwd: packed.app }), '4\n');
});

it('has the sources, if asked, and what is published only', async () => {
  await packed.installNames(join(packed.folder, 'source'),
                            ['limitree', '@limitree/source'], OPTIONS);
  assert.deepEqual(readdirSync(
    join(packed.folder, 'source', 'node_modules', '@limitree')).sort(),
    [OWN, 'source'].sort());
  await assert.rejects(
    packed.installNames(join(packed.folder, 'other'), ['@limitree/pdp11'],
                        OPTIONS), /E404/);
});
