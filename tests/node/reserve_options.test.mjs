// The option `reserve` of middlewares: times, failing stores, limits without a
// tree, mistakes, and the header x-usage.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';

import fastify from 'fastify';

import { Limiter } from 'limitree';
import limitFastify from 'limitree/fastify';

import { FRAMEWORKS, endless, open, served, statusOf } from './held_apps.mjs';
import { RedisServer, serverFor } from './servers.mjs';
import { until } from './until.mjs';
import { STARTS, forgetWarnings } from './web_apps.mjs';

const { readUsage } = createRequire(import.meta.url)(
  '../../node/dist/web.js')('web/usage.js');

const MINUTE = 60_000;
const SLOTS = 2;
const LIMITS = { schema: {
  job: { limits: { concurrent: SLOTS, hold: '1h' } } } };
const path = () => ['job'];
const TREE = { limits: LIMITS, path };

function limiterFor(test, options) {
  const limiter = new Limiter({ limits: LIMITS, ...options });
  test.after(() => limiter.close());
  return limiter;
}

const freeOf = async (limiter) =>
  (await limiter.peek(['job'], { cost: 0 })).remaining;

/** A logger that notes the codes of warnings. */
function noting(codes) {
  forgetWarnings();
  return { warn: (line) => codes.push(/\[(\w+)\]$/.exec(line)[1]) };
}

describe('a time', () => {
  for (const name of FRAMEWORKS) {
    it(`is extended as long as a response lasts: ${name}`, async (t) => {
      let now = 1e12;
      const limiter = limiterFor(t, { clock: () => now });
      const url = await served(
        t, name, { limiter, path, reserve: '10m' }, (_path, info) => {
          calls.push(t.mock.method(info.reservation, 'extend').mock);
          return { body: endless() };
        });
      const calls = [];
      t.mock.timers.enable({ apis: ['setInterval'] });
      const long = await open(url);
      for (let i = 1; i <= 3; ++i) {
        now += 8 * MINUTE;
        t.mock.timers.tick(5 * MINUTE);
        await until(() => calls[0].callCount() === i);
        assert.equal(await freeOf(limiter), SLOTS - 1);
      }
      assert.deepEqual(calls[0].calls[0].arguments, ['10m']);
      // What nobody extends ends by itself.
      now += 11 * MINUTE;
      assert.equal(await freeOf(limiter), SLOTS);
      t.mock.timers.tick(5 * MINUTE);
      t.mock.timers.tick(5 * MINUTE);
      await until(async () => await calls[0].calls[3].result === 0);
      t.mock.timers.tick(50 * MINUTE);
      const count = calls[0].callCount();
      assert.ok(count <= 5);  // the hold is gone

      const short = await open(url);
      t.mock.timers.tick(4 * MINUTE);
      assert.equal(calls[1].callCount(), 0);
      short.destroy();
      await until(async () => await freeOf(limiter) === SLOTS);
      t.mock.timers.tick(50 * MINUTE);
      assert.equal(calls[1].callCount(), 0);
      assert.equal(calls[0].callCount(), count);
      long.destroy();
    });
  }

  it('is not extended if each limit says it', async (t) => {
    const limiter = limiterFor(t);
    let calls;
    const url = await served(
      t, 'http', { limiter, path, reserve: true }, (_path, info) => {
        calls = t.mock.method(info.reservation, 'extend').mock;
        return { body: endless() };
      });
    t.mock.timers.enable({ apis: ['setInterval'] });
    const response = await open(url);
    t.mock.timers.tick(24 * 60 * MINUTE);
    assert.equal(calls.callCount(), 0);
    response.destroy();
  });

  it('is not extended once a handler has settled it', async (t) => {
    const limiter = limiterFor(t);
    let calls;
    const url = await served(
      t, 'http', { limiter, path, reserve: '1h' }, async (_path, info) => {
        calls = t.mock.method(info.reservation, 'extend').mock;
        await info.reservation.settle();
        return { body: endless() };
      });
    t.mock.timers.enable({ apis: ['setInterval'] });
    const response = await open(url);
    t.mock.timers.tick(24 * 60 * MINUTE);
    assert.equal(calls.callCount(), 0);
    response.destroy();
  });

  it('is extended again if the store has failed', async (t) => {
    const redis = await serverFor(t);
    const codes = [];
    const limiter = limiterFor(t, { store: redis.url, timeout: '1s' });
    let calls;
    const url = await served(t, 'http', {
      limiter, path, reserve: '1h', logger: noting(codes) }, (_path, info) => {
      calls = t.mock.method(info.reservation, 'extend').mock;
      return { body: endless() };
    });
    t.mock.timers.enable({ apis: ['setInterval'] });
    const response = await open(url);
    redis.signal('SIGSTOP');
    t.mock.timers.tick(30 * MINUTE);
    await until(() => codes.includes('LIMITREE_SETTLE_FAILED'));
    await assert.rejects(calls.calls[0].result);
    assert.ok(codes.includes('LIMITREE_STORE_AWAY'), String(codes));
    redis.signal('SIGCONT');
    await until(async () => {
      t.mock.timers.tick(30 * MINUTE);
      return await calls.calls.at(-1).result.catch(() => 0) === 1;
    });
    response.destroy();
    await until(async () => await freeOf(limiter) === SLOTS);
  });
});

describe('a store that fails when a response has ended', () => {
  for (const name of FRAMEWORKS) {
    it(`is logged, and the client has its answer: ${name}`, async (t) => {
      const redis = await new RedisServer().start();
      t.after(() => redis.stop());
      const codes = [];
      const bodies = [];
      const limiter = limiterFor(t, { store: redis.url, timeout: '30s' });
      const url = await served(t, name, {
        limiter, path, reserve: '1h', logger: noting(codes) }, () => {
        bodies.push(endless());
        return { body: bodies.at(-1) };
      });
      const response = await open(url);
      await redis.kill();
      let text = '';
      response.on('data', (part) => { text += part; });
      bodies[0].push(', and more');
      bodies[0].end();
      await once(response, 'end');
      assert.equal(text, 'so far, and more');
      await until(() => codes.includes('LIMITREE_SETTLE_FAILED'));
      assert.equal(response.complete, true);
      await redis.start();
    });
  }

  it('holds here meanwhile', async (t) => {
    const bodies = [];
    const codes = [];
    const url = await served(t, 'http', {
      ...TREE, reserve: true, store: 'redis+unix:///nowhere/redis.sock',
      logger: noting(codes) }, (_path, info) => {
      assert.equal(info.decision.source, 'local');
      bodies.push(endless());
      return { body: bodies.at(-1) };
    });
    for (let i = 0; i < SLOTS; ++i) await open(url);
    assert.equal(await statusOf(url), 429);
    bodies[0].end();
    await until(async () => (await open(url)).statusCode === 200);
    assert.equal(await statusOf(url), 429);
    assert.deepEqual(codes, ['LIMITREE_STORE_AWAY']);
  });

  it('holds nothing if requests are let through', async (t) => {
    const options = { ...TREE, reserve: '1s', logger: noting([]),
                      store: 'redis+unix:///nowhere/redis.sock' };
    for (const [onStoreError, status] of [['allow', 200], ['deny', 429],
                                          ['raise', 503]]) {
      const url = await served(
        t, 'http', { ...options, onStoreError }, () => ({ body: 'hello' }));
      for (let i = 0; i < 2 * SLOTS; ++i) {
        assert.equal(await statusOf(url), status);
      }
    }
  });
});

it('close() waits until all is settled', async (t) => {
  const redis = await serverFor(t);
  const store = { store: redis.url, timeout: '30s' };
  const limiter = limiterFor(t, store);
  for (const name of Object.keys(STARTS)) {
    const waiting = [];
    const app = await STARTS[name]({
      ...TREE, ...store, reserve: true,
      settle: () => new Promise((resolve) => waiting.push(resolve)) });
    for (let i = 0; i < SLOTS; ++i) {
      assert.equal((await app.fetch('/hello')).status, 200);
    }
    await until(() => waiting.length === SLOTS);
    assert.equal(await freeOf(limiter), 0);
    const stopped = app.stop();
    setTimeout(() => waiting.forEach((resolve) => resolve()), 50);
    await stopped;
    assert.equal(await freeOf(limiter), SLOTS, name);
  }
});

describe('a plain limit', () => {
  const options = { limit: SLOTS, windowMs: 3_600_000, reserve: '1h',
                    skipFailedRequests: true };
  for (const name of FRAMEWORKS) {
    it(`counts what did not fail: ${name}`, async (t) => {
      for (const [kind, own] of Object.entries({
        fixed: {}, 'of a function': { limit: () => SLOTS } })) {
        const bodies = [];
        const url = await served(
          t, name, { ...options, name: `${name} ${kind}`, ...own },
          (path) => {
            if (path !== '/hold') return { status: 404, body: 'none' };
            bodies.push(endless());
            return { body: bodies.at(-1) };
          });
        for (let i = 0; i < 2 * SLOTS; ++i) {
          await until(async () => await statusOf(url) === 404);
        }
        const all = [];
        for (let i = 0; i < SLOTS; ++i) {
          await until(async () => {
            const one = await open(`${url}/hold`);
            all.push(one);
            return one.statusCode === 200;
          });
        }
        assert.equal(await statusOf(url), 429);
        for (const body of bodies) body.end();
        for (const one of all) {
          if (!one.complete) await once(one.resume(), 'end');
        }
        assert.equal(await statusOf(url), 429);
      }
    });
  }

  it('has headers of its kind', async (t) => {
    const url = await served(t, 'http', { ...options, reserve: 5 * MINUTE },
                             () => ({ body: endless() }));
    const { headers } = await open(url);
    assert.equal(headers['ratelimit-policy'], '"2/1h:*";q=2;w=3600');
    assert.match(headers.ratelimit, /^"2\/1h:\*";r=1;t=\d+$/);
  });
});

it('a route of Fastify reserves by itself', async (t) => {
  const limiter = limiterFor(t);
  const app = fastify();
  t.after(() => app.close());
  await app.register(limitFastify, { limiter, path, global: false });
  let held;
  app.get('/', { config: { rateLimit: { reserve: true } } },
          async (request) => {
    held = request.rateLimit.reservation.held;
    return 'hello';
  });
  assert.equal((await app.inject('/')).statusCode, 200);
  assert.equal(held, 1);
});

it('a logger that throws ends nothing', async (t) => {
  const limiter = limiterFor(t);
  forgetWarnings();
  let asked = 0;
  const logger = { warn() {
    ++asked;
    throw new Error('on purpose');
  } };
  const url = await served(t, 'http', {
    limiter, path, reserve: true, logger }, () =>
    ({ body: 'hello', headers: { 'x-usage': 'garbage' } }));
  assert.equal(await statusOf(url), 200);
  await until(async () => await freeOf(limiter) === SLOTS);
  assert.equal(asked, 1);
});

describe('options that are wrong', () => {
  for (const [name, start] of Object.entries(STARTS)) {
    it(name, async () => {
      for (const [options, message] of [
        [{ ...TREE, reserve: 'soon' }, /^reserve .*soon/],
        [{ ...TREE, reserve: '30' }, /^reserve must have a unit .* "30ms"/],
        [{ ...TREE, reserve: 0 }, /^reserve must be more than 0 and at most 2/],
        [{ ...TREE, reserve: '25h' }, /^reserve must be more than 0 and at /],
        [{ ...TREE, reserve: -1 }, /^reserve must be milliseconds or a text/],
        [{ ...TREE, reserve: NaN }, /^reserve must be milliseconds or a text/],
        [{ ...TREE, reserve: null }, /^reserve must be true, false or a time/],
        [{ ...TREE, reserve: {} }, /^reserve must be true, false or a time/],
        [{ ...TREE, reserves: true }, /reserves, did you mean reserve\?$/],
        [{ ...TREE, settle: () => 1 }, /^settle is for requests that reserve/],
        [{ ...TREE, reserve: true, settle: 1 }, /^settle must be a function/],
        [{ limit: 1, reserve: true }, /^a plain limit holds nothing by itself/],
      ]) {
        await assert.rejects(async () => {
          const app = await start(options);
          await app.stop();
        }, (error) => {
          assert.equal(error.code, 'LIMITREE_INVALID_CONFIG', String(error));
          assert.match(error.message, message);
          return true;
        });
      }
    });
  }
});

it('x-usage is a dictionary of RFC 9651', () => {
  for (const [header, units] of [
    ['tokens=812', { tokens: 812 }],
    ['tokens=812, request=1', { tokens: 812, request: 1 }],
    [' tokens=1 ,\trequest=2 ', { tokens: 1, request: 2 }],
    [['tokens=1', 'request=2'], { tokens: 1, request: 2 }],
    ['a=1,a=2', { a: 2 }],
    ['a=0', { a: 0 }],
    ['a=007', { a: 7 }],
    ['a=9007199254740991', { a: 2 ** 53 - 1 }],
    ['in_tokens=1;x;y=2;z="a,\\"b";t=tok/en:1;b=:YQ==:;f=?1;d=@1;q=%"%c3"',
     { in_tokens: 1 }],
    ['a=1; b=-1.5, c=2', { a: 1, c: 2 }],
    ['*x=1', { '*x': 1 }],
    ['', undefined], ['  ', undefined], [undefined, undefined], [[], undefined],
    [7, null], ['a', null], ['a=', null], ['a=-1', null], ['a=1.5', null],
    ['a=?1', null], ['a="1"', null], ['a=1,', null], [',a=1', null],
    ['a=1 b=2', null], ['A=1', null], ['a=9007199254740992', null],
    ['a=12345678901234567', null], ['a=1;', null], ['a=1;B', null],
    ['a=(1 2)', null], ['a=1;x="', null], ['a=1\n', null], ['a = 1', null],
    [`a=1${';a'.repeat(5000)}!`, null], [`a=1${', '.repeat(5000)}`, null],
  ]) {
    if (units === null) {
      assert.throws(() => readUsage(header), TypeError, String(header));
    } else {
      assert.deepEqual(readUsage(header), units, String(header));
    }
  }
});
