// An app of Elysia on Bun, as docs/node-fetch.md says, with the installed
// package.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, it } from 'node:test';

import { OWN, Packed, ROOT } from './packed.mjs';
import { run } from './run.mjs';

const { platform, arch } = process;
const BUN = join(ROOT, 'node_modules', '@oven',
                 `bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`,
                 'bin', 'bun');
const [, SERVES] = /^\| Elysia on Bun \| `(.*)` \|$/m.exec(
  readFileSync(join(ROOT, 'docs', 'node-fetch.md'), 'utf8'));

const packed = await new Packed().pack();
after(() => packed.remove());

it('Elysia', async () => {
  await packed.installNames(packed.app, [
    'elysia@1.4.30', '@sinclair/typebox@0.34', 'openapi-types@12',
    packed.tarball(), packed.tarball(OWN)], ['--prefer-offline']);
  writeFileSync(join(packed.app, 'app.mjs'), `
import { Elysia } from 'elysia';
import { rateLimit } from 'limitree/fetch';
const limited = rateLimit({ limit: 2, windowMs: '1h' });
const app = new Elysia().get('/', ({ request }) =>
  limited.infoOf(request).remaining);
const server = ${SERVES.replace('{ ', "{ port: 0, hostname: '127.0.0.1', ")};
const seen = [];
for (let i = 0; i < 3; ++i) {
  const answer = await fetch('http://127.0.0.1:' + server.port);
  seen.push(answer.status, await answer.text());
}
console.log(JSON.stringify(seen));
process.exit(0);
`);
  const seen = JSON.parse(await run(BUN, [join(packed.app, 'app.mjs')],
                                    { cwd: packed.app, timeout: 120_000 }));
  assert.deepEqual(seen.slice(0, 5), [200, '1', 200, '0', 429]);
  assert.equal(JSON.parse(seen[5]).status, 429);
});
