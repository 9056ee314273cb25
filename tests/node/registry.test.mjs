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

// An npm before 9.6.5, such as Debian's, does not look at the C library.
const [major, minor, patch] = (await run('npm', ['--version'])).split('.')
  .map(Number);
const KNOWS_LIBC = major * 1e6 + minor * 1e3 + patch >= 9_006_005;
const OTHER_LIBC = OWN.endsWith('-musl') ? OWN.slice(0, -5) : `${OWN}-musl`;

/** The packages that npm installed in this folder. */
function installed(folder) {
  return readdirSync(join(folder, 'node_modules', '@limitree'))
    .filter((name) => KNOWS_LIBC || name !== OTHER_LIBC).sort();
}

it('installs the package of this platform only', async () => {
  await packed.installNames(packed.app, ['limitree'], OPTIONS);
  assert.deepEqual(installed(packed.app), [OWN]);
  assert.equal(await run(process.execPath, ['-e', PROGRAM],
                         { cwd: packed.app }), '4\n');
});

it('has the sources, if asked, and what is published only', async () => {
  const folder = join(packed.folder, 'source');
  await packed.installNames(folder, ['limitree', '@limitree/source'], OPTIONS);
  assert.deepEqual(installed(folder), [OWN, 'source'].sort());
  await assert.rejects(
    packed.installNames(join(packed.folder, 'other'), ['@limitree/pdp11'],
                        OPTIONS), /E404/);
});
