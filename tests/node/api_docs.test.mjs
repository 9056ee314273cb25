// The programs of docs/graphql.md and docs/nestjs.md, with the real packages
// over real HTTP.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import typescript from 'typescript';

import { blocksOf, emptyFolder, follow, programOf } from './docs_blocks.mjs';
import { withProgram } from './web_programs.mjs';

const folder = emptyFolder();
after(() => rmSync(folder, { recursive: true }));

/** Saves the files of a page, and its programs under the names given. */
function save(page, names) {
  const given = new Set();
  for (const block of blocksOf(page)) {
    if (follow(block, folder, given)) {
      writeFileSync(join(folder, names.shift()), programOf(block, folder));
    }
  }
  assert.deepEqual(names, []);
}

describe('docs/graphql.md', () => {
  save('docs/graphql.md', ['graphql.mjs', 'trpc.mjs']);

  it('limits fields by a directive', () =>
    withProgram('graphql.mjs', async (get) => {
      const ask = async (query) =>
        (await get(`/?query=${encodeURIComponent(query)}`)).json();
      assert.deepEqual(await ask('{ report }'),
                       { data: { report: 'a report' } });
      // However often a request has it.
      const { data, errors } =
        await ask('{ one: report, two: report, hello }');
      assert.deepEqual(Object.values(data).filter(Boolean).sort(),
                       ['a report', 'hello']);
      const [{ message, extensions: { code, retryAfterMs } }] = errors;
      assert.deepEqual([errors.length, message, code], [
        1, 'Query.report: too many requests', 'TOO_MANY_REQUESTS']);
      assert.ok(retryAfterMs > 0 && retryAfterMs <= 1_800_000);
      assert.deepEqual(await ask('{ hello }'), { data: { hello: 'hello' } });
    }, folder));

  it('limits procedures of tRPC', () =>
    withProgram('trpc.mjs', async (get) => {
      for (let i = 0; i < 2; ++i) {
        const answer = await get('/report');
        assert.deepEqual(await answer.json(),
                         { result: { data: 'a report' } });
        assert.match(answer.headers.get('ratelimit-policy'), /q=100/);
      }
      const denied = await get('/report');
      assert.equal(denied.status, 429);
      assert.equal((await denied.json()).error.data.code,
                   'TOO_MANY_REQUESTS');
      const seconds = Number(denied.headers.get('retry-after'));
      assert.ok(seconds > 0 && seconds <= 1800, String(seconds));
    }, folder));
});

describe('docs/nestjs.md', () => {
  const [{ text }] = [...blocksOf('docs/nestjs.md')].filter(
    ({ language }) => language === 'ts');
  const { ModuleKind, ScriptTarget } = typescript;
  writeFileSync(join(folder, 'nest.mjs'), typescript.transpile(text, {
    module: ModuleKind.ESNext, target: ScriptTarget.ES2022,
    experimentalDecorators: true, emitDecoratorMetadata: true }));

  it('limits an app', () =>
    withProgram('nest.mjs', async (get) => {
      const hello = await get();
      assert.equal(await hello.text(), 'hello, 99 left');
      assert.match(hello.headers.get('ratelimit-policy'), /q=100;w=60/);
      const found = [];
      for (let i = 0; i < 6; ++i) found.push((await get('/login')).status);
      assert.deepEqual(found, [200, 200, 200, 200, 200, 429]);
      const health = await get('/health');
      assert.equal(health.status, 200);
      assert.equal(health.headers.get('ratelimit'), null);
    }, folder));
});
