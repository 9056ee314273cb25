// The store for express-rate-limit, with express-rate-limit itself.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';

import express from 'express';
import { MemoryStore, rateLimit } from 'express-rate-limit';

import { ConfigError } from 'limitree';
import { LimitreeStore } from 'limitree/express-rate-limit';

import { PATIENT, serverFor } from './servers.mjs';
import { until } from './until.mjs';

const redis = await serverFor(await import('node:test'));
let prefixes = 0;

/** A clock that stands still until it is told to move on. */
function clockAt(ms) {
  const clock = () => clock.now;
  clock.now = ms;
  return clock;
}

/** Waits for the answer of a store, whether it comes at once or later. */
async function hits(store, key) {
  const { totalHits, resetTime } = await store.increment(key);
  assert.ok(Number.isInteger(totalHits) && totalHits >= 1);
  assert.ok(resetTime instanceof Date);
  return totalHits;
}

const KINDS = {
  // The reference for all of them.
  'MemoryStore of express-rate-limit': () => new MemoryStore(),
  'LimitreeStore in memory': () => new LimitreeStore(),
  'LimitreeStore in Redis': (options) => new LimitreeStore({
    store: redis.url, timeout: PATIENT, prefix: `test${++prefixes}:`,
    ...options }),
};

for (const [kind, make] of Object.entries(KINDS)) {
  describe(kind, () => {
    const withStore = (run) => async (t) => {
      const time = clockAt(1.7e12);
      t.mock.method(Date, 'now', time);
      const store = make({ clock: () => Date.now() });
      store.init({ windowMs: 60_000 });
      try {
        await run(store, time);
      } finally {
        await store.shutdown();
      }
    };

    it('counts each key by itself', withStore(async (store) => {
      for (let i = 1; i <= 5; ++i) assert.equal(await hits(store, 'a'), i);
      assert.equal(await hits(store, 'b'), 1);
      for (const key of ['', 'a:b', 'x'.repeat(3000), '\u00e9', '*',
                         '\ud83d']) {
        assert.equal(await hits(store, key), 1, key);
        assert.equal(await hits(store, key), 2, key);
      }
    }));

    it('tells when the window ends', withStore(async (store, time) => {
      const end = time.now + 60_000;
      for (let i = 0; i < 2; ++i) {
        const { resetTime } = await store.increment('a');
        assert.equal(resetTime.getTime(), end);
        time.now += 59_999;  // the window began with the first hit
      }
    }));

    it('begins anew with the first hit after that', withStore(
      async (store, time) => {
        assert.equal(await hits(store, 'a'), 1);
        assert.equal(await hits(store, 'a'), 2);
        time.now += 60_000;
        const { totalHits, resetTime } = await store.increment('a');
        assert.deepEqual([totalHits, resetTime - time.now], [1, 60_000]);
      }));

    it('takes hits back, but not below none', withStore(async (store) => {
      await hits(store, 'a');
      await hits(store, 'a');
      await store.decrement('a');
      assert.equal(await hits(store, 'a'), 2);
      for (let i = 0; i < 5; ++i) await store.decrement('a');
      assert.equal(await hits(store, 'a'), 1);
      await store.decrement('b');
      assert.equal(await hits(store, 'b'), 1);
    }));

    it('takes no hit back of a window that is over', withStore(
      async (store, time) => {
        await hits(store, 'a');
        time.now += 60_000;
        await store.decrement('a');
        assert.equal(await hits(store, 'a'), 1);
        assert.equal(await hits(store, 'a'), 2);
      }));

    it('keeps the end of the window when a hit is taken back', withStore(
      async (store, time) => {
        const end = time.now + 60_000;
        await store.increment('a');
        time.now += 30_000;
        await store.increment('a');
        await store.decrement('a');
        const { totalHits, resetTime } = await store.get('a');
        assert.deepEqual([totalHits, resetTime.getTime()], [1, end]);
      }));

    it('shows what it has', withStore(async (store) => {
      assert.equal(await store.get('a'), undefined);
      await hits(store, 'a');
      await hits(store, 'a');
      const info = await store.get('a');
      assert.equal(info.totalHits, 2);
      assert.ok(info.resetTime > Date.now() + 59_000);
      assert.equal((await store.get('a')).totalHits, 2);
    }));

    it('forgets a key', withStore(async (store) => {
      await hits(store, 'a');
      await hits(store, 'b');
      await store.resetKey('a');
      await store.resetKey('nobody');
      assert.equal(await store.get('a'), undefined);
      assert.equal(await hits(store, 'a'), 1);
      assert.equal(await hits(store, 'b'), 2);
    }));

    it('counts every one of many at once', withStore(async (store) => {
      const all = await Promise.all(
        Array.from({ length: 200 }, async () => hits(store, 'a')));
      const last = kind.startsWith('MemoryStore') ? [200] : all;
      assert.equal(Math.max(...last), 200);
      if (last === all) assert.equal(new Set(all).size, 200);
    }));

    it('limits with express-rate-limit', async () => {
      const logged = [];
      const store = make();
      const limiter = rateLimit({
        store, limit: 2, windowMs: 60_000, standardHeaders: 'draft-8',
        skipFailedRequests: true,
        logger: { error: (error) => logged.push(error),
                  warn: (error) => logged.push(error) } });
      const app = express();
      app.use(limiter);
      app.get('/fail', (_, response) => response.status(500).send('no'));
      app.get('/', (_, response) => response.send('hello'));
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const get = async (path) => {
        const answer = await fetch(
          `http://127.0.0.1:${server.address().port}${path}`);
        await answer.text();
        return answer;
      };
      const takenBackTo = (count) => until(async () =>
        (await limiter.getKey('127.0.0.1')).totalHits === count);
      const first = await get('/');
      assert.equal(first.status, 200);
      assert.match(first.headers.get('ratelimit'), /"2-in-1min"; r=1; t=60/);
      assert.equal(first.headers.get('x-ratelimit-remaining'), '1');
      assert.equal((await get('/fail')).status, 500);
      await takenBackTo(1);
      assert.equal((await get('/')).status, 200);
      const denied = await get('/');
      assert.equal(denied.status, 429);
      assert.ok(Number(denied.headers.get('retry-after')) >= 59);
      await takenBackTo(2);
      await limiter.resetKey('127.0.0.1');
      assert.equal((await get('/')).status, 200);
      // The validations of express-rate-limit found no mistake in the store.
      assert.deepEqual(logged, []);
      server.closeAllConnections();
      server.close();
      await store.shutdown();
    });
  });
}

describe('LimitreeStore', () => {
  it('says who else counts with it', async () => {
    assert.deepEqual([new LimitreeStore().localKeys,
                      new LimitreeStore().prefix], [true, 'limitree:']);
    const shared = { store: redis.url, timeout: PATIENT, prefix: 'shared:' };
    const stores = [new LimitreeStore(shared), new LimitreeStore(shared)];
    for (const store of stores) {
      assert.deepEqual([store.localKeys, store.prefix, store.resetAll],
                       [false, 'shared:', undefined]);
      store.init({ windowMs: 60_000 });
    }
    assert.equal(await hits(stores[0], 'a'), 1);
    assert.equal(await hits(stores[1], 'a'), 2);
    for (const store of stores) await store.shutdown();
  });

  it('forgets everybody in memory', async () => {
    const store = new LimitreeStore();
    store.init({ windowMs: 60_000 });
    store.increment('a');
    store.increment('b');
    await store.resetAll();
    assert.deepEqual([store.increment('a').totalHits,
                      store.increment('b').totalHits], [1, 1]);
    await store.shutdown();
  });

  it('answers at once in memory', () => {
    const store = new LimitreeStore();
    store.init({ windowMs: 1 });
    assert.equal(store.increment('a').totalHits, 1);
  });

  it('goes by the clock that it is given', async () => {
    const clock = clockAt(1.7e12);
    const store = new LimitreeStore({ clock });
    store.init({ windowMs: 60_000 });
    const times = [];
    for (const at of [0, 59_999, 60_000, 119_999, 120_000]) {
      clock.now = 1.7e12 + at;
      const { totalHits, resetTime } = store.increment('a');
      times.push([totalHits, resetTime - 1.7e12]);
    }
    assert.deepEqual(times, [[1, 60_000], [2, 60_000], [1, 120_000],
                             [2, 120_000], [1, 180_000]]);
    await store.shutdown();
  });

  it('decides as it is told when its store fails', async () => {
    const gone = { store: 'redis+unix:///nowhere/redis.sock',
                   logger: { warn() {} } };
    const raising = new LimitreeStore({ ...gone, onStoreError: 'raise' });
    raising.init({ windowMs: 1000 });
    await assert.rejects(raising.increment('a'),
                         { code: 'LIMITREE_STORE_UNAVAILABLE' });
    for (const [onStoreError, expected] of [
      ['allow', 1], ['deny', 1_000_000_000], ['local', 1], [undefined, 1]]) {
      const store = new LimitreeStore({ ...gone, onStoreError });
      store.init({ windowMs: 1000 });
      assert.equal(await hits(store, 'a'), expected);
      await store.shutdown();
    }
    await raising.shutdown();
  });

  it('has Express answer 503 if it is told to raise', async (t) => {
    t.mock.method(console, 'error', () => {});
    for (const env of ['development', 'production']) {
      const store = new LimitreeStore({
        store: 'redis+unix:///nowhere/redis.sock', onStoreError: 'raise',
        logger: { warn() {} } });
      const app = express();
      app.set('env', env);
      app.use(rateLimit({ limit: 5, store }));
      app.get('/', (_, response) => response.send('hello'));
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const answer = await fetch(`http://127.0.0.1:${server.address().port}`);
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get('retry-after'), '1');
      assert.match(await answer.text(),
                   /<pre>Service Unavailable<\/pre>/);
      server.closeAllConnections();
      server.close();
      await store.shutdown();
    }
  });

  it('says what is wrong', async () => {
    assert.throws(() => new LimitreeStore({ windowMs: 5 }), ConfigError);
    assert.throws(() => new LimitreeStore({ shadowMode: true }),
                  /express-rate-limit decides, this store only counts/);
    assert.throws(() => new LimitreeStore().init({ windowMs: 0.5 }),
                  { code: 'LIMITREE_INVALID_ARGUMENT' });
    assert.throws(() => new LimitreeStore({ store: 'nosuch://x' })
      .init({ windowMs: 5 }), ConfigError);
    const store = new LimitreeStore();
    assert.throws(() => store.increment('a'), /given to rateLimit/);
    await assert.rejects(store.decrement('a'), /given to rateLimit/);
    await store.shutdown();
    store.init({ windowMs: 5 });
    assert.throws(() => store.increment(undefined), /key must be a string/);
    await store.shutdown();
    assert.throws(() => store.increment('a'), { code: 'LIMITREE_CANCELLED' });
  });
});
