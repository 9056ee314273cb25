// limitree as the storage of @nestjs/throttler.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { ExpressAdapter } from '@nestjs/platform-express';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';

import { LimitreeThrottlerStorage } from 'limitree/nestjs';

import { controllerOf, moduleOf, serving, statuses } from './nest_apps.mjs';

/** A storage whose clock the test sets, in milliseconds. */
function timed(more) {
  const at = { ms: 1_800_000_000_000 };
  const storage = new LimitreeThrottlerStorage({ clock: () => at.ms, ...more });
  return { at, storage,
           count: (key, limit, block = 0, ttl = 10_000, name = 'default') =>
             storage.increment(key, ttl, limit, block, name) };
}

const PASSED = { isBlocked: false, timeToBlockExpire: 0 };

describe('the counts', () => {
  it('forget each request after its time', async () => {
    const { at, storage, count } = timed();
    assert.deepEqual(await count('a', 2),
                     { totalHits: 1, timeToExpire: 10, ...PASSED });
    at.ms += 4000;
    assert.deepEqual(await count('a', 2),
                     { totalHits: 2, timeToExpire: 10, ...PASSED });
    for (let i = 0; i < 3; ++i) {
      assert.deepEqual(await count('a', 2), {
        totalHits: 3, timeToExpire: 6, isBlocked: true, timeToBlockExpire: 6 });
    }
    assert.equal((await count('b', 2)).totalHits, 1);
    assert.equal((await count('a', 2, 0, 10_000, 'long')).totalHits, 1);
    at.ms += 6000;
    assert.equal((await count('a', 2)).totalHits, 2);
    assert.equal((await count('a', 2)).timeToBlockExpire, 4);
    await storage.onApplicationShutdown();
  });

  it('block a client for a year at most', async () => {
    const { storage, count } = timed();
    await count('a', 1, Infinity);
    const { timeToBlockExpire } = await count('a', 1, Infinity);
    assert.equal(timeToBlockExpire, 365 * 86_400);
    await storage.onApplicationShutdown();
    assert.throws(() => timed({ store: { client: {} } }),
                  /must be a client of ioredis/);
  });

  it('block a client for as long as is said', async () => {
    const { at, storage, count } = timed();
    assert.equal((await count('a', 1, 60_000)).isBlocked, false);
    const blocked = { totalHits: 2, timeToExpire: 60, isBlocked: true,
                      timeToBlockExpire: 60 };
    assert.deepEqual(await count('a', 1, 60_000), blocked);
    at.ms += 15_500;
    assert.deepEqual(await count('a', 1, 60_000),
      { ...blocked, timeToExpire: 45, timeToBlockExpire: 45 });
    assert.equal((await count('b', 1, 60_000)).isBlocked, false);
    assert.equal((await count('\ud83d', 1, 9_000)).isBlocked, false);
    assert.equal((await count('\ud83d', 1, 9_000)).timeToBlockExpire, 9);
    at.ms += 44_500;
    assert.deepEqual(await count('a', 1, 60_000),
                     { totalHits: 1, timeToExpire: 10, ...PASSED });
    // A block that is shorter than the window ends the window.
    assert.equal((await count('a', 1, 2000)).timeToBlockExpire, 2);
    at.ms += 2000;
    assert.equal((await count('a', 1, 2000)).totalHits, 1);
    await storage.onApplicationShutdown();
  });

  it('are those of limits that change, and of large ones', async () => {
    const { storage, count } = timed();
    for (let i = 1; i <= 3; ++i) {
      assert.equal((await count('a', 2 + i)).totalHits, i);
    }
    assert.equal((await count('a', 3)).isBlocked, true);
    assert.equal((await count('a', 50_000)).totalHits, 1);
    assert.equal((await count('a', 50_000)).totalHits, 2);
    assert.deepEqual(await count('a', 0), {
      totalHits: 1, timeToExpire: 10, isBlocked: true, timeToBlockExpire: 10 });
    await assert.rejects(count('a', NaN), /limit must be a whole number/);
    await assert.rejects(count('a', 1, 0, 1.5), /windowMs must be a whole/);
    await storage.onApplicationShutdown();
  });

  it('go on in the process while the store fails', async () => {
    const logger = { warn() {} };
    const store = 'redis+unix:///nowhere/redis.sock';
    const { storage, count } = timed({ store, logger });
    assert.equal((await count('a', 1)).isBlocked, false);
    assert.equal((await count('a', 1)).isBlocked, true);
    assert.equal((await count('a', 1, 60_000)).timeToBlockExpire, 60);
    assert.equal((await count('a', 1, 60_000)).timeToBlockExpire, 60);
    await storage.onApplicationShutdown();
    const denying = timed({ store, logger, onStoreError: 'deny' });
    assert.equal((await denying.count('a', 9, 60_000)).timeToBlockExpire, 1);
    await denying.storage.onApplicationShutdown();
    const raising = timed({ store, logger, onStoreError: 'raise' });
    await assert.rejects(raising.count('a', 1, 5000),
                         { status: 503, message: 'Service Unavailable' });
    await raising.storage.onApplicationShutdown();
  });
});

it('@nestjs/throttler counts in it', async () => {
  const storage = new LimitreeThrottlerStorage();
  const cats = controllerOf('cats', {
    one: [], two: [Throttle({ default: { limit: 1, ttl: 3_600_000 } })] });
  for (const name of ['one', 'two']) {  // which are part of its keys
    Object.defineProperty(cats.prototype[name], 'name', { value: name });
  }
  const module = ThrottlerModule.forRoot({
    storage, throttlers: [{ limit: 2, ttl: 3_600_000 }] });
  await serving(moduleOf([cats], [module], ThrottlerGuard),
    new ExpressAdapter(), async (get) => {
      const first = await get('/cats/one');
      assert.equal(first.headers.get('x-ratelimit-remaining'), '1');
      assert.equal(first.headers.get('x-ratelimit-reset'), '3600');
      assert.deepEqual(await statuses(get, '/cats/one', 2), [200, 429]);
      assert.deepEqual(await statuses(get, '/cats/two', 2), [200, 429]);
      const denied = await get('/cats/two');
      assert.match(denied.headers.get('retry-after'), /^3(600|5\d\d)$/);
    });
});

it('refuses unknown options', () => {
  assert.throws(() => new LimitreeThrottlerStorage({ stor: 'shm://a' }),
                /did you mean store/);
});
