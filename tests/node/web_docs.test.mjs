// The programs of pages about web servers, and the examples, over real HTTP.

import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { leaveOften } from './clients.mjs';
import { blocksOf, emptyFolder, follow, programOf } from './docs_blocks.mjs';
import { withProgram } from './web_programs.mjs';

const folder = emptyFolder();
after(() => rmSync(folder, { recursive: true }));

/** The pages, with the least number of their programs. */
const PAGES = { 'docs/node-fetch.md': 1, 'docs/node-from.md': 5,
                'docs/node-web.md': 8 };

for (const [page, least] of Object.entries(PAGES)) describe(page, () => {
  const given = new Set();
  let count = 0;
  for (const block of blocksOf(page)) {
    if (!follow(block, folder, given)) continue;
    const name = `${++count}.${block.language === 'cjs' ? 'cjs' : 'mjs'}`;
    it(`has a program that works: ${block.title}`, async () => {
      writeFileSync(join(folder, name), programOf(block, folder));
      await withProgram(name, async (get) => {
        const answer = await get();
        assert.equal(answer.status, 200);
        assert.match(await answer.text(), /hello|\d+ left/);
        // One writes no headers, and one those that are older.
        if (!/flexible|koa-ratelimit/.test(block.text)) {
          assert.match(answer.headers.get('ratelimit-policy'), /; ?w=\d+/);
        }
        // Whatever a client does, the program goes on and logs nothing.
        // Those of others log what they like.
        if (/from '(express-rate-limit|koa)'/.test(block.text)) return;
        await leaveOften(answer.url, 3);
        assert.match(String((await get()).status), /200|429/);
      }, folder);
    });
  }

  it('has programs', () => assert.ok(count >= least));
});

describe('the examples', () => {
  const trade = { method: 'POST', headers: { 'X-Api-Key': 'alex' } };

  it('limit an Express app', () =>
    withProgram('examples/express/app.mjs', async (get) => {
      const prices = await get('/prices');
      assert.equal(prices.headers.get('ratelimit-policy'),
                   '"ip:*";q=20;w=10');
      const first = await get('/trade', trade);
      assert.deepEqual(await first.json(), { left: 1 });
      assert.equal((await get('/trade', trade)).status, 200);
      const denied = await get('/trade', trade);
      assert.equal(denied.status, 429);
      assert.deepEqual((await denied.json())['violated-policies'],
                       ['user:*/trade']);
      const health = await get('/health');
      assert.equal(health.headers.get('ratelimit'), null);
      await leaveOften(health.url);
      assert.equal((await get('/health')).status, 200);
    }));

  it('limit the guesses of a login page', () =>
    withProgram('examples/login/app.mjs', async (get) => {
      const logIn = (password, headers = {}) => get('/', {
        method: 'POST', headers,
        body: new URLSearchParams({ account: ' Alex', password }) });
      const welcome = await logIn('secret');
      assert.equal(welcome.status, 200);
      const cookie = welcome.headers.get('set-cookie');
      assert.match(cookie, /HttpOnly; SameSite=Lax/);
      for (let i = 0; i < 5; ++i) {
        assert.equal((await logIn('wrong')).status, 401);
      }
      const denied = await logIn('secret');
      assert.equal(denied.status, 429);
      assert.ok(Number(denied.headers.get('retry-after')) > 0);
      // The owner, from the same address.
      const owner = await logIn('secret', { Cookie: cookie.split(';')[0] });
      assert.equal(owner.status, 200);
    }));

  it('limit a Fastify app', () =>
    withProgram('examples/fastify/app.mjs', async (get) => {
      const login = (password) => get('/login', {
        method: 'POST', headers: { Authorization: `Basic ${password}` } });
      const right = 'YWxleDpzZWNyZXQ=';
      for (let i = 0; i < 5; ++i) {
        assert.equal((await login(right)).status, 200);
      }
      const found = [];
      for (let i = 0; i < 4; ++i) found.push((await login('x')).status);
      assert.deepEqual(found, [401, 401, 401, 429]);
      const report = await get('/report');
      assert.deepEqual(await report.json(), { left: 14 });
      const health = await get('/health');
      assert.equal(health.headers.get('ratelimit'), null);
      await leaveOften(health.url);
      assert.equal((await get('/health')).status, 200);
    }));

  it('are short', () => {
    for (const name of ['express', 'fastify']) {
      const code = readFileSync(`examples/${name}/app.mjs`, 'utf8');
      assert.ok(code.split('\n').length <= 40, name);
    }
  });
});
