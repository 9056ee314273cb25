// docs/nextjs.md with the installed package: its files are an app of Next.js,
// which is built and served.

import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import { blocksOf, follow } from './docs_blocks.mjs';
import { OWN, Packed } from './packed.mjs';
import { run } from './run.mjs';
import { withProgram } from './web_programs.mjs';

const REACT = ['react@19.3.1', 'react-dom@19.3.1'];
const NEXT = join('node_modules', 'next', 'dist', 'bin', 'next');
const QUIET = '--disable-warning=LIMITREE_UNTRUSTED_X_FORWARDED_FOR';
process.env.NEXT_TELEMETRY_DISABLED = '1';

const packed = await new Packed().pack();
after(() => packed.remove());

/** What changes before Next.js 16, as the page says. */
function makeOlder(folder) {
  const file = join(folder, 'proxy.js');
  const text = readFileSync(file, 'utf8')
    .replace('function proxy', 'function middleware')
    .replace('config = {', "config = { runtime: 'nodejs',");
  writeFileSync(file, text);
  renameSync(file, join(folder, 'middleware.js'));
}

/** A function that asks as the client of an address, behind one proxy. */
const from = (get, address) => (path) =>
  get(path, { headers: { 'X-Forwarded-For': `192.0.2.9, ${address}` } });

/** The answers to `count` requests, one after the other. */
async function answers(ask, path, count) {
  const found = [];
  for (let i = 0; i < count; ++i) {
    const answer = await ask(path);
    found.push({ status: answer.status, headers: answer.headers,
                 text: await answer.text() });
  }
  return found;
}

for (const [version, change] of [['16.4.6', () => {}],
                                 ['15.5.29', makeOlder]]) {
  describe(`Next.js ${version}`, () => {
    const folder = join(packed.folder, version);
    before(async () => {
      await packed.installNames(folder, [
        `next@${version}`, ...REACT, packed.tarball(), packed.tarball(OWN)],
        ['--prefer-offline']);
      for (const block of blocksOf('docs/nextjs.md')) {
        follow(block, folder, new Set());
      }
      writeFileSync(join(folder, 'app', 'layout.js'),
        'export default function Layout({ children }) ' +
        '{ return <html><body>{children}</body></html>; }');
      writeFileSync(join(folder, 'app', 'page.js'),
        'export default function Page() { return <p>hello</p>; }');
      change(folder);
      await run(process.execPath, [NEXT, 'build'], { cwd: folder });
    });

    it('limits a route handler', () =>
      withProgram([NEXT, 'start'], async (get) => {
        const all = await answers(from(get, '203.0.113.1'), '/api/trade', 6);
        assert.deepEqual(all.map(({ status }) => status),
                         [200, 200, 200, 200, 200, 429]);
        assert.deepEqual(JSON.parse(all[1].text), { left: 3 });
        // Of two limits, the client sees the header of proxy.js.
        assert.match(all[1].headers.get('ratelimit'), /^"all:\*";r=18/);
        const [denied] = all.slice(-1);
        assert.match(denied.headers.get('content-type'), /problem\+json/);
        assert.ok(Number(denied.headers.get('retry-after')) > 0);
        const [other] = await answers(from(get, '203.0.113.2'),
                                      '/api/trade', 1);
        assert.deepEqual(JSON.parse(other.text), { left: 4 });
      }, folder));

    it('limits all requests', () =>
      withProgram([NEXT, 'start'], async (get) => {
        const all = await answers(from(get, '203.0.113.1'), '/', 21);
        assert.equal(all[19].status, 200);
        assert.match(all[19].text, /<p>hello<\/p>/);
        assert.match(all[19].headers.get('ratelimit'), /r=0/);
        assert.equal(all[20].status, 429);
        assert.equal((await from(get, '203.0.113.2')('/')).status, 200);
      }, folder));

    it('runs behind a server that knows connections', () =>
      withProgram([QUIET, 'server.mjs'], async (get) => {
        // Nobody believes the address that a client names; each of them has
        // its own limit in proxy.js.  Some requests asked before whether the
        // program is there.
        const found = [];
        for (let i = 0; i < 100 && found.at(-1) !== 429; ++i) {
          const [{ status }] =
            await answers(from(get, `203.0.113.${i}`), '/', 1);
          found.push(status);
        }
        assert.equal(found.pop(), 429);
        assert.ok(found.length > 50 && found.every((one) => one === 200),
                  String(found));
      }, folder));
  });
}
