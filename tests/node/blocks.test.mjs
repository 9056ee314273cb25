// Callers that are blocked, and denied callers that come back one by one.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { PATIENT, RedisServer } from './servers.mjs';

const LIMITS = { schema: {
  user: { children: { '*': { limits: ['5/hour', { block: true }] } } },
  plain: { limits: '1/hour' } } };
const ALEX = ['user', 'alex'];
const HOUR_MS = 3_600_000;

describe('block', () => {
  it('denies until it ends or is lifted', async () => {
    let now = 1_750_000_000_000;
    const limiter = new Limiter({ limits: LIMITS, clock: () => now });
    await limiter.block(ALEX, '1d');
    assert.equal((await limiter.authorize(ALEX)).retryAfterMs, 24 * HOUR_MS);
    await limiter.block(ALEX, 5000);
    const denied = await limiter.authorize(ALEX, { levels: true });
    assert.equal(denied.retryAfterMs, 5000);
    assert.match(denied.headers().RateLimit, /, "user:\*#blocked";r=0;t=5$/);
    await limiter.reset(ALEX);
    assert.equal((await limiter.authorize(ALEX)).limited, true);
    now += 5000;
    const allowed = await limiter.authorize(ALEX, { levels: true });
    assert.equal(allowed.remaining, 4);
    assert.doesNotMatch(allowed.headers().RateLimit, /blocked/);
    await limiter.block(ALEX, 5000);
    await limiter.unblock(ALEX);
    assert.equal((await limiter.authorize(ALEX)).allowed, true);
    for (const wrong of [0, 1e300]) {
      await assert.rejects(limiter.block(ALEX, wrong), /a block must last/);
    }
    await assert.rejects(limiter.block(['plain'], 1),
                         { code: 'LIMITREE_INVALID_ARGUMENT' });
    await limiter.close();
  });

  it('is seen by every process', async () => {
    const server = new RedisServer();
    await server.start();
    const [one, other] = [1, 2].map(() => new Limiter({
      limits: LIMITS, store: server.url, timeout: PATIENT }));
    try {
      await one.block(ALEX, '1h');
      assert.equal((await other.authorize(ALEX)).limited, true);
      await one.unblock(ALEX);
      assert.equal((await other.authorize(ALEX)).allowed, true);
    } finally {
      await Promise.all([one.close(), other.close()]);
      await server.stop();
    }
  });
});

describe('retrySpread', () => {
  it('spreads those who are denied together', async () => {
    const limiter = new Limiter({
      limits: LIMITS, retrySpread: '100s', clock: () => 1_750_000_000_000 });
    await limiter.authorize(['plain']);
    const places = new Array(10).fill(0);
    for (let i = 0; i < 1000; ++i) {
      const { retryAfterMs, nextAfterMs } = await limiter.authorize(['plain']);
      assert.equal(nextAfterMs, HOUR_MS);
      ++places[Math.floor((retryAfterMs - HOUR_MS) / 10_000)];
    }
    assert.ok(places.every((count) => Math.abs(count - 100) <= 3),
              String(places));
    await limiter.close();
  });

  it('is milliseconds if it is a number', async () => {
    const limiter = new Limiter({
      limits: LIMITS, retrySpread: 500, clock: () => 1_750_000_000_000 });
    await limiter.authorize(['plain']);
    const later = [];
    for (let i = 0; i < 100; ++i) {
      const { retryAfterMs } = await limiter.authorize(['plain']);
      later.push(retryAfterMs - HOUR_MS);
    }
    assert.ok(Math.max(...later) > 400 && Math.max(...later) <= 500);
    await limiter.close();
    await new Limiter({ limits: LIMITS, retrySpread: 0 }).close();
    assert.throws(() => new Limiter({ limits: LIMITS, retrySpread: '500' }),
                  /retrySpread must have a unit if it is a text: say "500ms"/);
  });
});
