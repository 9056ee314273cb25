// The classes of rate-limiter-flexible, which count in limitree's stores.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as test from 'node:test';

import {
  BurstyRateLimiter, RLWrapperBlackAndWhite, RateLimiterMemory,
  RateLimiterQueue, RateLimiterQueueError, RateLimiterRedis, RateLimiterRes,
  RateLimiterUnion,
} from 'limitree/rate-limiter-flexible';

import { PATIENT, serverFor } from './servers.mjs';

const T0 = 1_800_000_000_000;

/** A limiter whose clock a test sets. */
function limiterOf(options, Kind = RateLimiterMemory) {
  const time = { ms: T0 };
  const limiter = new Kind({ points: 2, duration: 10, clock: () => time.ms,
                             ...options });
  return [limiter, time];
}

/** The denial of a call that must be denied. */
async function denialOf(answer) {
  const denial = await answer.then(
    () => assert.fail('was allowed'), (error) => error);
  assert.ok(denial instanceof RateLimiterRes, String(denial));
  return denial;
}

const res = (remainingPoints, msBeforeNext, consumedPoints,
             isFirstInDuration = false) =>
  ({ remainingPoints, msBeforeNext, consumedPoints, isFirstInDuration });

function same(answer, ...fields) {
  assert.ok(answer instanceof RateLimiterRes);
  assert.deepEqual(answer.toJSON(), res(...fields));
}

describe('RateLimiterMemory', () => {
  it('counts in windows that begin with a first point', async () => {
    const [limiter, time] = limiterOf();
    assert.equal(await limiter.get('a'), null);
    same(await limiter.consume('a'), 1, 10_000, 1, true);
    time.ms += 4000;
    same(await limiter.consume('a'), 0, 6000, 2);
    // What is denied counts, too.
    same(await denialOf(limiter.consume('a')), 0, 6000, 3);
    same(await limiter.get('a'), 0, 6000, 3);
    same(await limiter.consume(7, 2), 0, 10_000, 2, true);
    same(await limiter.consume('\ud83d', 2), 0, 10_000, 2, true);
    same(await denialOf(limiter.consume('\ud83d')), 0, 10_000, 3);
    time.ms += 6000;
    assert.equal(await limiter.get('a'), null);
    same(await limiter.consume('a', 2), 0, 10_000, 2, true);
    assert.equal(String(await limiter.get('a')),
                 JSON.stringify(res(0, 10_000, 2)));
  });

  it('punishes, rewards and forgets', async () => {
    const [limiter] = limiterOf();
    same(await limiter.penalty('a'), 1, 10_000, 1, true);
    same(await limiter.penalty('a', 4), 0, 10_000, 5);
    same(await limiter.reward('a', 4), 1, 10_000, 1);
    assert.equal((await limiter.reward('a', 4)).consumedPoints, 0);
    await limiter.consume('b');
    assert.equal(await limiter.delete('b'), true);
    assert.equal(await limiter.delete('b'), false);
    assert.equal(await limiter.get('b'), null);
  });

  it('blocks', async () => {
    const [limiter, time] = limiterOf();
    // Not awaited, as programs do.
    const blocked = limiter.block('a', 30);
    same(await denialOf(limiter.consume('a')), 0, 30_000, 3);
    same(await blocked, 0, 30_000, 3);
    same(await limiter.block('a', 5), 0, 5000, 3);
    time.ms += 4999;
    same(await denialOf(limiter.consume('a')), 0, 1, 3);
    same(await limiter.get('a'), 0, 1, 3);
    time.ms += 1;
    same(await limiter.consume('a'), 1, 10_000, 1, true);
    await limiter.block('b', 0);
    time.ms += 86_400_000 * 1000;
    same(await denialOf(limiter.consume('b')), 0, -1, 3);
    await limiter.delete('b');
    same(await limiter.consume('b'), 1, 10_000, 1, true);
  });

  it('blocks those who use too much', async () => {
    const [limiter, time] = limiterOf({ blockDuration: 60 });
    await limiter.consume('a', 2);
    same(await denialOf(limiter.consume('a')), 0, 60_000, 3);
    time.ms += 50_000;
    same(await denialOf(limiter.consume('a')), 0, 10_000, 3);
    time.ms += 10_000;
    same(await limiter.consume('a'), 1, 10_000, 1, true);
  });

  it('sets points', async () => {
    const [limiter, time] = limiterOf({ points: 5 });
    await limiter.consume('a', 5);
    same(await limiter.set('a', 3, 10), 0, 10_000, 3);
    same(await limiter.consume('a'), 1, 10_000, 4);
    same(await limiter.set('a', 9, 20), 0, 20_000, 9);
    time.ms += 19_000;
    assert.equal((await denialOf(limiter.consume('a'))).msBeforeNext, 1000);
    time.ms += 1000;
    same(await limiter.consume('a'), 4, 10_000, 1, true);
  });

  it('may never give back', async () => {
    const [limiter, time] = limiterOf({ duration: 0 });
    same(await limiter.consume('a', 2), 0, -1, 2, true);
    time.ms += 86_400_000 * 365 * 50;
    same(await denialOf(limiter.consume('a')), 0, -1, 3);
  });

  it('takes a duration for a call', async () => {
    const [limiter] = limiterOf();
    same(await limiter.consume('a', 1, { customDuration: 1 }),
         1, 1000, 1, true);
    same(await limiter.penalty('b', 1, { customDuration: 0.5 }),
         1, 500, 1, true);
    for (let i = 3; i < 100; ++i) {
      await limiter.consume('a', 1, { customDuration: 100 + i });
    }
    await assert.rejects(limiter.consume('a', 1, { customDuration: 99 }),
                         /there are 100 different ones already/);
  });

  it('denies more points than it can count', async () => {
    const huge = 5_000_000_000;
    const [limiter, time] = limiterOf({ points: 5 });
    same(await denialOf(limiter.consume('a', huge)), 0, 10_000, huge, true);
    time.ms += 9000;
    assert.equal((await denialOf(limiter.consume('a'))).msBeforeNext, 1000);
    const [bytes] = limiterOf({ points: 4e9, blockDuration: 60 });
    await bytes.consume('a', 1e9);
    await bytes.consume('a', 3e9);
    same(await denialOf(bytes.consume('a')), 0, 60_000, 4e9 + 1);
    assert.throws(() => limiterOf({ points: huge }),
                  /points must be at most 4000000000 in 10 s, is 5000000000/);
    assert.throws(() => limiterOf({ points: 1_000_001, duration: 0.001 }),
                  /points must be at most 1000000 in 0.001 s/);
    bytes.points = huge;
    await assert.rejects(bytes.consume('a'), /points must be at most/);
  });

  it('spreads actions', async () => {
    const limiter = new RateLimiterMemory({
      points: 10, duration: 1, execEvenly: true, execEvenlyMinDelayMs: 20 });
    await limiter.consume('a');
    const begin = performance.now();
    await limiter.consume('a');
    assert.ok(performance.now() - begin >= 19);
    assert.equal(limiter.execEvenlyMinDelayMs, 20);
  });

  it('names keys', () => {
    const [limiter] = limiterOf({ keyPrefix: 'login' });
    assert.equal(limiter.getKey('a'), 'login:a');
    assert.equal(limiter.parseKey('login:a'), 'a');
    assert.equal(limiterOf({ keyPrefix: '' })[0].getKey(5), '5');
  });

  it('says what is wrong', async () => {
    for (const [options, message] of [
      [{ points: 'x' }, /points must be a finite number, is the text "x"/],
      [{ duration: -1 }, /duration must be a finite number, 0 or greater/],
      [{ duration: 1e-4 }, /at least a millisecond/],
      [{ keyPrefix: 5 }, /keyPrefix must be string/],
      [{ keyPrefix: 'a*' }, /keyPrefix must not contain/],
      [{ blockDuration: NaN }, /blockDuration must be/],
      [{ insuranceLimiter: {} }, /insuranceLimiter must be a limiter/],
      [{ inMemoryBlockOnConsumed: 1 }, /must be greater or equal points/],
      [{ inMemoryBlockDuration: 1 }, /needs inMemoryBlockOnConsumed/],
      [{ tableName: 'x' }, /tableName/],
    ]) {
      assert.throws(() => limiterOf(options), message);
    }
    const [limiter] = limiterOf();
    await assert.rejects(limiter.consume('a', 0.5), /points must be a whole/);
    await assert.rejects(limiter.consume('a', -1), /points must be a whole/);
    await assert.rejects(limiter.block('a', 'x'), /secDuration must be/);
    assert.throws(() => { limiter.points = Infinity; }, /points must be/);
  });
});

describe('RateLimiterUnion', () => {
  it('charges nothing if one denies', async () => {
    const [a] = limiterOf({ keyPrefix: 'a', points: 9 });
    const [b] = limiterOf({ keyPrefix: 'b', points: 1 });
    const union = new RateLimiterUnion(a, b);
    assert.deepEqual(Object.keys(await union.consume('x')), ['a', 'b']);
    const denied = await union.consume('x').then(
      () => assert.fail('was allowed'), (error) => error);
    assert.deepEqual(Object.keys(denied), ['b']);
    assert.equal((await a.get('x')).consumedPoints, 1);
    assert.throws(() => new RateLimiterUnion(), /at least one/);
    assert.throws(() => new RateLimiterUnion({}), /have to be limiters/);
  });
});

describe('BurstyRateLimiter', () => {
  it('lets bursts through', async () => {
    const [first, time] = limiterOf({ points: 1, duration: 1 });
    const [burst] = limiterOf({ points: 2, duration: 10 });
    const bursty = new BurstyRateLimiter(first, burst);
    for (let i = 0; i < 3; ++i) await bursty.consume('a');
    assert.equal((await denialOf(bursty.consume('a'))).msBeforeNext, 1000);
    time.ms += 1000;
    await bursty.consume('a');
    assert.equal(bursty.points, 1);
    assert.equal((await bursty.get('a')).consumedPoints, 1);
    assert.equal(await bursty.get('b'), null);
  });
});

describe('RLWrapperBlackAndWhite', () => {
  it('knows who always passes, and who never', async () => {
    const [limiter] = limiterOf({ points: 1 });
    const wrapped = new RLWrapperBlackAndWhite({
      limiter, whiteList: ['good'], isBlackListed: (key) => key === 'bad',
      runActionAnyway: true });
    for (let i = 0; i < 3; ++i) await wrapped.consume('good');
    assert.equal((await denialOf(wrapped.consume('bad'))).msBeforeNext,
                 Number.MAX_SAFE_INTEGER);
    assert.equal((await wrapped.get('good')).consumedPoints, 3);
    await wrapped.consume('other');
    await denialOf(wrapped.consume('other'));
    // A wrapper is a limiter itself.
    await new RateLimiterUnion(wrapped).consume('good');
    assert.throws(() => new RLWrapperBlackAndWhite({}), /limiter is not set/);
  });
});

describe('RateLimiterQueue', () => {
  it('serves callers in their order', async () => {
    const limiter = new RateLimiterMemory({ points: 2, duration: 0.05 });
    const queue = new RateLimiterQueue(limiter);
    const order = [];
    const begin = Date.now();
    await Promise.all(Array.from({ length: 6 }, async (_, i) => {
      assert.ok(await queue.removeTokens(1) <= 1);
      order.push(i);
    }));
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5]);
    assert.ok(Date.now() - begin >= 100);
    assert.equal(await queue.getTokensRemaining('other'), 2);
  });

  it('is bounded', async () => {
    const limiter = new RateLimiterMemory({ points: 1, duration: 0.05 });
    const queue = new RateLimiterQueue(limiter, { maxQueueSize: 1 });
    const first = queue.removeTokens(1, 'a');
    const second = queue.removeTokens(1, 'a');
    await assert.rejects(queue.removeTokens(1, 'a'), RateLimiterQueueError);
    await assert.rejects(queue.removeTokens(2, 'a'), /exceeds maximum 1/);
    assert.deepEqual(await Promise.all([first, second]), [0, 0]);
    const none = new RateLimiterQueue(
      new RateLimiterMemory({ points: 1, duration: 60 }), { maxQueueSize: 0 });
    await none.removeTokens(1, 'b');
    await assert.rejects(none.removeTokens(1, 'b'), RateLimiterQueueError);
  });

  it('drops those who came too late', async () => {
    const limiter = new RateLimiterMemory({ points: 1, duration: 0.5 });
    const queue = new RateLimiterQueue(limiter);
    await queue.removeTokens(1);
    const all = await Promise.allSettled([
      queue.removeTokens(1), queue.removeTokens(1, 'limiter', 1),
      queue.removeTokens(1)]);
    assert.deepEqual(all.map(({ status }) => status),
                     ['fulfilled', 'rejected', 'fulfilled']);
  });

  it('passes errors on', async () => {
    const broken = new RateLimiterQueue({
      points: 1, get: () => Promise.reject(new Error('no')),
      consume: () => Promise.reject(new Error('on purpose')) });
    await assert.rejects(broken.removeTokens(1), /on purpose/);
    await assert.rejects(broken.removeTokens(1), /on purpose/);
    assert.equal(await broken.getTokensRemaining(), 1);
  });
});

describe('RateLimiterRedis', async () => {
  const redis = await serverFor(test);
  const shared = { points: 2, duration: 60, timeout: PATIENT };

  it('counts in the server of a client', async () => {
    const storeClient = { options: { path: redis.path, db: 0 } };
    const one = new RateLimiterRedis({ ...shared, storeClient });
    const other = new RateLimiterRedis({ ...shared, store: redis.url,
                                         blockDuration: 600 });
    await one.consume('a');
    await other.consume('a');
    assert.equal((await denialOf(other.consume('a'))).msBeforeNext, 600_000);
    const { msBeforeNext } = await denialOf(one.consume('a'));
    assert.ok(msBeforeNext > 500_000 && msBeforeNext <= 600_000);
    assert.equal((await one.get('a')).consumedPoints, 3);
    assert.equal(await other.delete('a'), true);
    assert.equal(await one.get('a'), null);
    await other.set('a', 2, 60);
    await denialOf(one.consume('a'));
    assert.equal((await one.reward('a', 3)).consumedPoints, 0);
    await one.block('b', 30);
    await denialOf(other.consume('b'));
    await Promise.all([one.close(), other.close()]);
  });

  it('asks its insurance', async () => {
    const insuranceLimiter = new RateLimiterMemory({ points: 1, duration: 60 });
    const limiter = new RateLimiterRedis({
      points: 2, duration: 60, store: 'redis+unix:///nowhere/redis.sock',
      insuranceLimiter, blockDuration: 600 });
    assert.equal(insuranceLimiter.blockDuration, 600);
    await limiter.consume('a');
    await denialOf(limiter.consume('a'));
    assert.ok((await insuranceLimiter.get('a')).msBeforeNext > 60_000);
    assert.equal(await limiter.delete('a'), true);
    const without = new RateLimiterRedis({
      points: 2, duration: 60, store: 'redis+unix:///nowhere/redis.sock' });
    await assert.rejects(without.consume('a'),
                         { code: 'LIMITREE_STORE_UNAVAILABLE' });
    // A mistake of the caller is no failure of the store.
    await assert.rejects(limiter.consume('a', -1), /points must be/);
    await limiter.close();
    await without.close();
  });

  it('refuses keys in this process', async () => {
    const [limiter] = limiterOf({ inMemoryBlockOnConsumed: 2,
                                  inMemoryBlockDuration: 60,
                                  store: 'memory://' }, RateLimiterRedis);
    await limiter.consume('a');
    await limiter.consume('a');
    const { msBeforeNext, consumedPoints } =
      await denialOf(limiter.consume('a'));
    assert.ok(msBeforeNext > 50_000 && msBeforeNext <= 60_000);
    assert.equal(consumedPoints, 0);  // nobody was asked
    limiter.deleteInMemoryBlockedAll();
    assert.equal((await denialOf(limiter.consume('a'))).consumedPoints, 3);
  });

  it('reads the server of a client', () => {
    const urlOf = (options) => {
      try {
        return new RateLimiterRedis({ ...shared, storeClient: options &&
          { options } });
      } catch (error) {
        return error.message;
      }
    };
    assert.match(urlOf(undefined), /storeClient is not set: give a client/);
    for (const options of [{ sentinels: [] }, { tls: { ca: 'x' } },
                           { credentialsProvider: {} }]) {
      assert.match(urlOf(options), /^storeClient must be a client of ioredis/);
    }
    for (const options of [
      { host: '10.0.0.1', port: 6380, password: 'p:a@b', db: 3 },
      { host: '::1', tls: {} }, { url: 'redis://10.0.0.1' },
      { socket: { host: '10.0.0.1', tls: true }, username: 'u', database: 1 },
    ]) {
      const limiter = urlOf(options);
      assert.ok(limiter instanceof RateLimiterRedis, String(limiter));
    }
  });
});
