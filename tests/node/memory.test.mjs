// A million decisions leave nothing behind.  Under a sanitizer, which is slow
// and finds leaks itself, some thousands.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { getHeapStatistics } from 'node:v8';

import { Limiter } from 'limitree';

import { PATIENT, RedisServer } from './servers.mjs';

const LIMITS = 'schema: {user: {children: {"*": {limits: [9, 1, 3600]}}}}';
const MOST = 4 * 2 ** 20;
const IS_SANITIZED = Boolean(process.env.LIMITREE_SANITIZED);
const CALLS = IS_SANITIZED ? 2000 : 100_000;

const server = new RedisServer();
before(() => server.start());
after(() => server.stop());

async function used() {
  for (let i = 0; i < 4; ++i) {
    globalThis.gc();
    await new Promise(setImmediate);  // finalizers run in between
  }
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: heapUsed + external, rss };
}

/** Runs `round` repeatedly; memory of the first rounds does not count. */
async function leaks(most, round) {
  const rounds = IS_SANITIZED ? 2 : most;
  for (let i = 0; i < 2; ++i) await round();
  const before = await used();
  for (let i = 0; i < rounds; ++i) await round();
  const after = await used();
  assert.ok(after.heap - before.heap < MOST,
            `the heap grew by ${after.heap - before.heap} bytes`);
  if (IS_SANITIZED) return;  // it keeps freed memory for a while
  assert.ok(after.rss - before.rss < 4 * MOST,
            `the process grew by ${after.rss - before.rss} bytes`);
}

it('in memory, with levels, errors and headers', async () => {
  const limiter = new Limiter({ limits: LIMITS });
  const withLevels = { levels: true };
  await leaks(10, async () => {
    for (let i = 0; i < CALLS; ++i) {
      const user = i % 1000;
      limiter.authorizeSync(['user', user]);
      if (i % 10 !== 0) continue;
      limiter.authorizeSync(['user', user], withLevels).headers();
      await limiter.authorize(['user', `${user}\u20ac`], withLevels);
      await limiter.authorizeAll([['user', user], ['user', 'x'.repeat(600)]]);
      if (i % 100 !== 0) continue;
      await limiter.authorize(['nobody']).catch(() => {});
      await limiter.authorize(['user', null]).catch(() => {});
    }
  });
  await limiter.close();
});

it('for Envoy', async () => {
  const limiter = new Limiter({ descriptors: 'domain: d\ndescriptors: ' +
    '[{key: k, rate_limit: {unit: day, requests_per_unit: 5}}]' });
  const handles = () => getHeapStatistics().used_global_handles_size;
  const all = [{ k: 'v' }];
  let before = 0;
  await leaks(2, async () => {
    before ||= handles();
    for (let i = 0; i < 2000; ++i) {
      await limiter.shouldRateLimit('d', all);
      if (i % 10 !== 0) continue;
      await limiter.peekDescriptors('d', all);
      await limiter.resetDescriptors('d', all);
      await limiter.shouldRateLimit('', all).catch(() => {});
    }
  });
  assert.ok(handles() - before < 20_000, `${handles() - before} bytes`);
  await limiter.close();
});

it('through a store', async () => {
  const limiter = new Limiter({ limits: LIMITS, store: server.url,
                                timeout: PATIENT });
  const signal = new AbortController().signal;
  await leaks(5, async () => {
    for (let i = 0; i < 40; ++i) {
      await Promise.all(Array.from({ length: 250 }, (_, j) =>
        limiter.peek(['user', j], { levels: j % 2 === 0, signal })));
    }
    await limiter.peek(['nobody']).catch(() => {});
    await limiter.ping();
  });
  await limiter.close();
});

it('by limiters that come and go', async () => {
  await leaks(5, async () => {
    for (let i = 0; i < 60; ++i) {
      const local = new Limiter({ limits: LIMITS });
      local.authorizeSync(['user', 'a']);
      const remote = new Limiter({ limits: LIMITS, store: server.url,
                                   timeout: PATIENT });
      await remote.peek(['user', 'a']);
      assert.throws(() => new Limiter({ limits: 'schema: 7' }));
      if (i % 2 === 0) await Promise.all([local.close(), remote.close()]);
    }
  });
});
