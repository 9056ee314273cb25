// A fetch that waits for its turn, with a real server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';

import { ConfigError, Limiter } from 'limitree';
import limitFetch from 'limitree/fetch';

/** A server that answers with `statuses` one after the other, then 200. */
async function serve(statuses, headers, use) {
  const seen = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const status = statuses.shift() ?? 200;
    response.writeHead(status, status === 200 ? {} : headers).end('hello');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${server.address().port}`, seen);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('limitFetch', () => {
  it('waits for its turn', () => serve([], {}, async (url, seen) => {
    const limiter = new Limiter({ limits: { schema: { out: {
      limits: { count: 100, period: '1s', burst: 1 } } } } });
    const fetch = limitFetch({ limiter, path: () => ['out'] });
    const begin = performance.now();
    const answers = await Promise.all(Array.from({ length: 11 }, (_, i) =>
      fetch(`${url}/${i}`, { method: 'POST', body: 'x' })));
    assert.ok(performance.now() - begin >= 99);
    assert.deepEqual(answers.map(({ status }) => status), Array(11).fill(200));
    assert.equal(seen.length, 11);
    assert.match(seen[0], /^POST \/\d+$/);
    await limiter.close();
  }));

  it('answers by itself what cannot wait', () => serve([], {},
    async (url, seen) => {
      const fetch = limitFetch({ limit: 1, windowMs: '1h', maxWait: '1s' });
      assert.equal(await (await fetch(url)).text(), 'hello');
      const denied = await fetch(new Request(url));
      assert.equal(denied.status, 429);
      assert.equal((await denied.json())['status'], 429);
      assert.match(denied.headers.get('retry-after'), /^3(600|5\d\d)$/);
      assert.equal(seen.length, 1);
    }));

  it('leaves a server alone that asks for it', async () => {
    await serve([429], { 'Retry-After': '3600' }, async (url, seen) => {
      const fetch = limitFetch({ limit: 100 });
      assert.equal((await fetch(url)).status, 429);
      const denied = await fetch(url);
      assert.equal(denied.status, 429);
      assert.match(denied.headers.get('retry-after'), /^3(600|5\d\d)$/);
      assert.equal(seen.length, 1);
      // With more patience it waits, until somebody stops it.
      const patient = limitFetch({ limit: 100, maxWait: '2h' });
      assert.equal((await patient(url)).status, 200);
    });
    await serve([503, 503, 503], { 'Retry-After': '1' }, async (url, seen) => {
      const fetch = limitFetch({ limit: 100 });
      assert.equal((await fetch(url)).status, 503);
      const begin = performance.now();
      assert.equal((await fetch(url)).status, 503);
      assert.ok(performance.now() - begin >= 999);
      const going = new AbortController();
      const waits = fetch(url, { signal: going.signal });
      going.abort(new Error('enough'));
      await assert.rejects(waits, /enough/);
      assert.equal(seen.length, 2);
    });
    await serve([429], { 'Retry-After': '9'.repeat(400) },
      async (url, seen) => {
        const fetch = limitFetch({ limit: 100 });
        await fetch(url);
        assert.equal((await fetch(url)).status, 429);
        assert.equal(seen.length, 1);
      });
    const date = new Date(Date.now() + 3_600_000).toUTCString();
    await serve([503], { 'Retry-After': date }, async (url, seen) => {
      const fetch = limitFetch({ limit: 100 });
      await fetch(url);
      assert.equal((await fetch(url)).status, 429);
      assert.equal(seen.length, 1);
    });
  });

  it('may send by another fetch', async () => {
    const calls = [];
    const body = new ReadableStream({ start(controller) {
      controller.enqueue(new TextEncoder().encode('hello'));
      controller.close();
    } });
    // As that of undici, which has a class Request of its own.
    const other = async (input, init) => {
      calls.push([String(input), init?.method]);
      assert.ok(!(input instanceof Request));
      return new Response(init?.body);
    };
    const fetch = limitFetch({ limit: 1, windowMs: '1h', maxWait: 0,
                               path: ({ url }) => ['host', url],
                               fetch: other });
    const url = 'http://here/';
    const answer = await fetch(url, { method: 'POST', body, duplex: 'half' });
    assert.equal(await answer.text(), 'hello');
    await fetch(new URL('/a', url));
    assert.equal((await fetch(url)).status, 429);
    assert.deepEqual(calls, [[url, 'POST'], [`${url}a`, undefined]]);
    const request = new Request(`${url}b`);
    const seen = limitFetch({ limit: 1, fetch: async (one) =>
      new Response(one.url) });
    assert.equal(await (await seen(request)).text(), request.url);
  });

  it('does not let many wait for a server that asks for it', async () => {
    const going = new AbortController();
    const { signal } = going;
    const calls = [];
    const fetch = limitFetch({
      limit: 100, maxQueue: 2, maxWait: '1h', fetch: async (url) => {
        calls.push(url);
        return new Response('', { status: 429,
                                  headers: { 'Retry-After': '600' } });
      } });
    await fetch('http://here/');
    const waits = [1, 2].map(() => fetch('http://here/', { signal }));
    const denied = await fetch('http://here/');
    assert.equal(denied.headers.get('retry-after'), '600');
    assert.equal(calls.length, 1);
    await fetch('http://there/');
    going.abort(new Error('enough'));
    for (const one of waits) await assert.rejects(one, /enough/);
    // There is room again.
    const next = new AbortController();
    const last = fetch('http://here/', { signal: next.signal });
    next.abort(new Error('enough'));
    await assert.rejects(last, /enough/);
  });

  it('says what is wrong', () => {
    for (const [options, message] of [
      [{}, /limit must be a whole number greater than 0, is undefined/],
      [{ limit: 1.5 }, /limit must be/], [{ limit: 1, wait: 5 }, /maxWait/],
      [{ limit: 1, maxWait: 'x' }, /maxWait/],
      [{ limit: 1, windowMs: '5' }, /windowMs must have a unit/],
      [{ limiter: { limit: 1 } }, /limiter must be a Limiter, is an object/],
      [{ limit: 1, path: ['host'] }, /path must be a function/],
      [{ limit: 1, fetch: 'fetch' }, /fetch must be a function/],
    ]) {
      assert.throws(() => limitFetch(options), message);
    }
    assert.throws(() => limitFetch({ limit: 0 }), ConfigError);
  });
});
