// What express-rate-limit and @fastify/rate-limit have, with their names.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fastify from 'fastify';
import { MemoryStore } from 'express-rate-limit';

import * as express from 'limitree/express';
import {
  ipKeyGenerator, rateLimit as theirExpress,
} from 'limitree/express-rate-limit';
import limitree from 'limitree/fastify';
import theirFastify, { normalizeIP } from 'limitree/fastify-rate-limit';

import { STARTS, headerOf } from './web_apps.mjs';

const HOUR = 3_600_000;

/** A clock that a test sets, in milliseconds. */
function clockAt(ms) {
  const clock = () => clock.ms;
  clock.ms = ms;
  return clock;
}

const T0 = 1_800_000_000_000;

const OWN = { increment() {}, decrement() {}, resetKey() {} };

/** An app that is asked without a network. */
async function appWith(options, routes = {}, plugin = limitree) {
  const app = fastify();
  await app.register(plugin, options);
  const all = { '/': undefined, ...routes };
  for (const [url, rateLimit] of Object.entries(all)) {
    app.get(url, { config: { rateLimit } }, async () => 'hello');
  }
  const get = async (url = '/', headers = {}) => {
    const answer = await app.inject({ url, headers });
    return { status: answer.statusCode, headers: answer.headers,
             text: answer.payload };
  };
  get.statuses = async (count, url, headers) => {
    const found = [];
    for (let i = 0; i < count; ++i) {
      found.push((await get(url, headers)).status);
    }
    return found;
  };
  return { app, get, [Symbol.asyncDispose]: () => app.close() };
}

async function using(made, use) {
  const one = await made;
  try {
    await use(one);
  } finally {
    await one.app.close();
  }
}

describe('every middleware', () => {
  for (const [name, start] of Object.entries(STARTS)) {
    const withApp = (options, use) => async () => {
      const app = await start(options);
      try {
        await use(app);
      } finally {
        await app.stop();
      }
    };

    it(`${name}: counts in windows`, async () => {
      const clock = clockAt(T0);
      await withApp({ limit: 2, windowMs: '1 hour', algorithm: 'fixed_window',
                      clock }, async (app) => {
        assert.deepEqual(await app.statuses(3), [200, 200, 429]);
        clock.ms += HOUR - 1;
        const denied = await app.fetch('/hello');
        assert.equal(denied.status, 429);
        assert.equal(denied.headers.get('retry-after'), '1');
        clock.ms += 1;
        const first = await app.fetch('/hello');
        assert.equal(first.headers.get('ratelimit'), '"2/1h:*";r=1;t=3600');
      })();
    });

    it(`${name}: bans, blocks and forgives`, async () => {
      const clock = clockAt(T0);
      const seen = [];
      const note = (what) => (_a, _b, info) => {
        seen.push(what);
        assert.equal(info.key.includes('127.0.0.1'), true);
      };
      await withApp({
        limit: 1, windowMs: 1000, algorithm: 'fixed_window', ban: 1, clock,
        continueExceeding: true, onExceeding: note('passed'),
        onExceeded: note('denied'), onBanReach: note('banned'),
      }, async (app) => {
        assert.deepEqual(await app.statuses(3), [200, 429, 403]);
        assert.deepEqual(
          seen, ['passed', 'denied', 'denied', 'banned']);
        clock.ms += 900;
        assert.equal((await app.fetch('/hello')).status, 403);
        clock.ms += 999;  // its wait began anew
        const denied = await app.fetch('/hello');
        assert.equal(denied.status, 429);
        assert.equal(denied.headers.get('retry-after'), '1');
        assert.equal(denied.json['violated-policies'][0], '1/1s:*');
        clock.ms += 1000;
        assert.equal((await app.fetch('/hello')).status, 200);
        assert.equal((await app.fetch('/hello')).status, 429);
        if (app.limit?.resetKey === undefined) return;
        await app.limit.resetKey('127.0.0.1');
        assert.equal((await app.fetch('/hello')).status, 200);
      })();
    });

    it(`${name}: takes a store of express-rate-limit`, async () => {
      const store = new MemoryStore();
      await withApp({ limit: 2, windowMs: HOUR, store, ban: 1 },
        async (app) => {
          const found = [];
          for (let i = 0; i < 4; ++i) found.push(await app.fetch('/hello'));
          assert.deepEqual(found.map(({ status }) => status),
                           [200, 200, 429, 403]);
          assert.match(found[0].headers.get('ratelimit'),
                       /^"2\/1h:\*";r=1;t=3(600|5\d\d)$/);
          assert.match(found[2].headers.get('retry-after'), /^3(600|5\d\d)$/);
          assert.equal((await store.get('127.0.0.1')).totalHits, 4);
          if (app.limit?.getKey === undefined) return;
          const info = await app.limit.getKey('127.0.0.1');
          assert.deepEqual([info.totalHits, info.limit, info.remaining],
                           [4, 2, 0]);
          await app.limit.resetKey('127.0.0.1');
          assert.equal(await app.limit.getKey('127.0.0.1'), undefined);
        })();
    });

    it(`${name}: counts networks in a store of its own`, async () => {
      const store = new MemoryStore();
      let last = 0;
      await withApp({ limit: 2, store, ipv6Subnet: 56,
                      clientIp: () => `2001:db8:0:${++last}::1` },
        async (app) => {
          assert.deepEqual(await app.statuses(3), [200, 200, 429]);
          assert.equal((await store.get('2001:db8::')).totalHits, 3);
        })();
    });

    it(`${name}: has a store forget what has failed`, async () => {
      const store = new MemoryStore();
      const options = { limit: 1, windowMs: HOUR, store,
                        skipFailedRequests: true };
      const hitsAre = async (count) => {
        const until = Date.now() + 30_000;
        for (let found; found !== count;) {
          found = (await store.get('127.0.0.1'))?.totalHits;
          assert.ok(Date.now() < until, `${found} hits`);
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      };
      await withApp(options, async (app) => {
        assert.deepEqual(await app.statuses(1, '/status/404'), [404]);
        await hitsAre(0);
        assert.deepEqual(await app.statuses(1), [200]);
        // A denied request has been counted as well.
        assert.deepEqual(await app.statuses(1), [429]);
        await hitsAre(1);
      })();
    });

    it(`${name}: takes a store that counts with a callback`, async () => {
      const counts = new Map();
      const begun = [];
      const store = {
        init: async (options) => {
          begun.push([options.windowMs, options.limit]);
          throw new Error('on purpose');  // which must not end the process
        },
        incr(key, done) {
          if (key === undefined) return done(new Error('no key'));
          counts.set(key, (counts.get(key) ?? 0) + 1);
          return done(undefined, counts.get(key), new Date(T0 + HOUR));
        },
        decrement: (key) => { counts.set(key, counts.get(key) - 1); },
        resetKey: (key) => { counts.delete(key); } };
      await withApp({ limit: 1, windowMs: HOUR, store, clock: () => T0,
                      logger: { warn() {} } }, async (app) => {
        assert.deepEqual(await app.statuses(2), [200, 429]);
        assert.deepEqual(begun, [[HOUR, 1]]);
        assert.deepEqual([...counts.values()], [2]);
        if (app.limit?.getKey === undefined) return;
        await assert.rejects(app.limit.getKey('127.0.0.1'), /no get\(\)/);
        await app.limit.resetKey('127.0.0.1');
        assert.deepEqual(await app.statuses(1), [200]);
      })();
    });

    it(`${name}: passes or fails with its store`, async () => {
      const fails = { increment: async () => { throw new Error('on purpose'); },
                      decrement() {}, resetKey() {} };
      const logger = { warn() {} };
      await withApp({ limit: 1, store: fails, passOnStoreError: true, logger },
        async (app) => {
          assert.deepEqual(await app.statuses(2), [200, 200]);
        })();
      await withApp({ limit: 1, store: fails, logger },
        async (app) => assert.deepEqual(await app.statuses(2), [500, 500]))();
      // What is no count is no permission.
      const odd = { ...fails, increment: async () => ({}) };
      await withApp({ limit: 1, store: odd, logger },
        async (app) => assert.deepEqual(await app.statuses(1), [500]))();
    });

    it(`${name}: allows a list, and renames headers`, async () => {
      await withApp({
        limit: 1, allowList: ['::ffff:127.0.0.1', '192.0.2.1'],
      }, async (app) => {
        assert.deepEqual(await app.statuses(3), [200, 200, 200]);
        const { headers } = await app.fetch('/hello');
        assert.equal(headers.get('ratelimit'), null);
      })();
      await withApp({
        limit: 1, allowList: (a) => headerOf(a, 'x-inside') === 'yes',
        standardHeaders: 'draft-6',
        headerNames: { 'ratelimit-limit': 'X-Quota', 'retry-after': false },
      }, async (app) => {
        const headers = { 'X-Inside': 'yes' };
        assert.deepEqual(await app.statuses(3, '/hello', { headers }),
                         [200, 200, 200]);
        const [first, denied] =
          [await app.fetch('/hello'), await app.fetch('/hello')];
        assert.equal(first.headers.get('x-quota'), '1');
        assert.equal(first.headers.get('ratelimit-limit'), null);
        assert.equal(denied.status, 429);
        assert.equal(denied.headers.get('x-quota'), '1');
        assert.equal(denied.headers.get('retry-after'), null);
      })();
    });

    it(`${name}: reads a client, and forgets it`, async () => {
      if (name === 'fastify') return;  // has createRateLimit()
      await withApp({
        limit: (a) => Number(headerOf(a, 'x-limit')), algorithm: 'sliding_log',
        windowMs: (a) => headerOf(a, 'x-window'),
      }, async (app) => {
        assert.equal(await app.limit.getKey('127.0.0.1'), undefined);
        const headers = { 'X-Limit': '2', 'X-Window': '1 hour' };
        assert.deepEqual(await app.statuses(3, '/hello', { headers }),
                         [200, 200, 429]);
        const day = { 'X-Limit': '3', 'X-Window': '1d' };
        assert.deepEqual(await app.statuses(1, '/hello', { headers: day }),
                         [200]);
        const { used, limit } = await app.limit.getKey('127.0.0.1');
        assert.deepEqual([used, limit], [2, 2]);
        await app.limit.resetKey('127.0.0.1');
        assert.equal(await app.limit.getKey('127.0.0.1'), undefined);
        assert.equal(
          (await app.fetch('/hello', { headers })).status, 200);
      })();
    });
  }

  it('says what is wrong', () => {
    for (const [options, message] of [
      [{ algorithm: 'fixed' },
       /algorithm must be one of gcra, .*, is the text "fixed"/],
      [{ windowMs: 'a minute' }, /windowMs/],
      [{ windowMs: '5' }, /windowMs must have a unit/],
      [{ ban: 1.5 }, /ban must be a whole number/],
      [{ ban: 1, windowMs: () => 5 }, /windowMs must not be a function/],
      [{ allowList: ['nobody'] }, /allowList must have addresses/],
      [{ allowList: 'x' }, /allowList must be an array/],
      [{ continueExceeding: 1 }, /continueExceeding must be true or false/],
      [{ onExceeded: 1 }, /onExceeded must be a function/],
      [{ headerNames: { a: 'b c' } }, /headerNames must have a name/],
      [{ store: { increment() {} } }, /the object has no decrement\(\)/],
      [{ store: { ...OWN, init: 'x' } }, /the object has no init\(\)/],
      [{ store: { incr() {}, decrement() {} } }, /has no resetKey\(\)/],
      [{ store: new MemoryStore(), cost: 2 }, /it cannot have cost/],
      [{ store: OWN, continueExceeding: true },
       /continueExceeding is for stores of limitree: an object as store/],
      [{ store: OWN, exponentialBackoff: true }, /exponentialBackoff is for/],
      [{ store: OWN, algorithm: 'gcra' }, /algorithm is for stores of lim/],
      [{ store: OWN, onStoreError: 'allow' }, /onStoreError is for stores/],
      [{ store: OWN, timeout: '1s' }, /timeout is for stores of limitree/],
      [{ store: OWN, ban: 1.5 }, /ban must be a whole number/],
      [{ limit: undefined, limits: 'schema: {a: {limits: 1/s}}',
         path: () => ['a'], ban: 1 }, /ban cannot be given together/],
    ]) {
      assert.throws(() => express.rateLimit({ limit: 5, ...options }),
                    (error) => {
        assert.equal(error.code, 'LIMITREE_INVALID_CONFIG', String(error));
        assert.match(error.message, message);
        return true;
      });
    }
  });
});

describe('exponentialBackoff', () => {
  it('doubles the wait of those who do not wait', async () => {
    const clock = clockAt(T0);
    await using(appWith({ max: 1, timeWindow: 1000, exponentialBackoff: true,
                          algorithm: 'fixed_window', clock }),
      async ({ get }) => {
        const waits = [];
        for (let i = 0; i < 5; ++i) {
          waits.push((await get()).headers['retry-after']);
        }
        assert.deepEqual(waits, [undefined, '1', '2', '4', '8']);
        clock.ms += 7999;
        assert.equal((await get()).status, 429);
        for (let i = 0; i < 40; ++i) await get();
        // No wait is longer than a day.
        assert.equal((await get()).headers['retry-after'], '86400');
        clock.ms += 86_400_000;
        assert.equal((await get()).status, 200);
      });
  });
});

describe('limitree/fastify', () => {
  it('tells a handler what it knows', async () => {
    const clock = clockAt(T0);
    const app = fastify();
    await app.register(limitree, {
      global: false, max: 2, timeWindow: '1s', algorithm: 'fixed_window', clock,
      allowList: (request) => 'x-inside' in request.headers });
    const check = app.createRateLimit();
    const strict = app.createRateLimit({ max: 1, timeWindow: 1000, ban: 0 });
    app.get('/', (request) => check(request));
    app.get('/peek', (request) => check(request, { increment: false }));
    app.get('/strict', (request) => strict(request));
    const ask = async (url, headers = {}) =>
      (await app.inject({ url, headers })).json();
    const one = { isAllowed: false, key: '127.0.0.1', max: 2, timeWindow: 1000,
                  isExceeded: false, isBanned: false };
    assert.deepEqual(await ask('/peek'),
                     { ...one, remaining: 2, ttl: 0, ttlInSeconds: 0 });
    assert.deepEqual(await ask('/'),
                     { ...one, remaining: 1, ttl: 1000, ttlInSeconds: 1 });
    clock.ms += 400;
    const none = { ...one, remaining: 0, ttl: 600, ttlInSeconds: 1 };
    assert.deepEqual(await ask('/'), none);
    assert.deepEqual(await ask('/'), { ...none, isExceeded: true });
    assert.deepEqual(await ask('/peek'), none);
    assert.deepEqual(await ask('/', { 'x-inside': '1' }),
                     { isAllowed: true, key: '127.0.0.1' });
    await ask('/strict');
    const { isBanned, isExceeded } = await ask('/strict');
    assert.deepEqual([isBanned, isExceeded], [true, true]);
    await app.close();
  });

  it('counts groups of routes together', () => using(appWith({ max: 9 }, {
    '/send': { max: 2, groupId: 'otp' }, '/again': { max: 2, groupId: 'otp' },
    '/other': { max: 2, groupId: 'other' },
  }), async ({ get }) => {
    assert.deepEqual([
      ...await get.statuses(1, '/send'), ...await get.statuses(2, '/again'),
      ...await get.statuses(1, '/other')], [200, 200, 429, 200]);
  }));

  it('throws the error that a program makes', () => using(appWith({
    max: 1, timeWindow: '2 minutes', ban: 1, algorithm: 'fixed_window',
    errorResponseBuilder: (_request, context) => ({ ...context }),
    addHeaders: { 'retry-after': false },
    addHeadersOnExceeding: { 'ratelimit-policy': false },
  }), async ({ get }) => {
    const first = await get();
    assert.ok('ratelimit' in first.headers);
    assert.ok(!('ratelimit-policy' in first.headers));
    const denied = await get();
    assert.equal(denied.status, 429);
    assert.ok(!('retry-after' in denied.headers));
    assert.ok('ratelimit-policy' in denied.headers);
    const { ttl, ...context } = JSON.parse(denied.text);
    assert.deepEqual(context, { statusCode: 429, ban: false, max: 1,
                                after: '2 minutes' });
    assert.ok(ttl > 60_000 && ttl <= 120_000);
    const banned = await get();
    assert.equal(banned.status, 403);
    assert.equal(JSON.parse(banned.text).ban, true);
  }));

  it('decides in the hook of the route', async () => {
    const app = fastify();
    await app.register(limitree, { max: 9 });
    const keys = [];
    for (const hook of ['onRequest', 'preHandler']) {
      app.get(`/${hook}`, {
        preValidation: async (request) => { request.who = 'somebody'; },
        config: { rateLimit: { max: 5, hook, keyGenerator: (request) => {
          keys.push(request.who ?? 'nobody');
          return 'key';
        } } } }, async () => 'hello');
    }
    await app.inject('/onRequest');
    await app.inject('/preHandler');
    await app.close();
    assert.deepEqual(keys, ['nobody', 'somebody']);
  });

  it('takes a store of @fastify/rate-limit', async () => {
    const made = [];
    const keys = new Set();
    class Store {
      counts = new Map();

      constructor(options) {
        this.options = options;
        made.push(options);
      }

      incr(key, done, timeWindow, max) {
        assert.ok(max > 0);
        keys.add(key);
        const current = (this.counts.get(key) ?? 0) + 1;
        this.counts.set(key, current);
        if (key === 'broken') return done(new Error('on purpose'), null);
        return done(null, { current, ttl: timeWindow });
      }

      child(options) {
        return new Store({ ...this.options, ...options });
      }
    }
    await using(appWith({
      max: 2, timeWindow: '1 minute', store: Store, ban: 0, skipOnError: true,
      continueExceeding: true, nameSpace: 'mine', algorithm: 'gcra',
      keyGenerator: (request) => request.headers.who ?? 'somebody',
    }, { '/own': { max: 1 } }), async ({ get }) => {
      assert.deepEqual(await get.statuses(3), [200, 200, 403]);
      assert.deepEqual(await get.statuses(2, '/own'), [200, 403]);
      assert.deepEqual(await get.statuses(4, '/', { who: 'broken' }),
                       [200, 200, 200, 200]);
    });
    assert.deepEqual([...keys], ['somebody', 'broken']);
    assert.deepEqual([made[0].continueExceeding, made[0].prefix],
                     [true, 'mine']);
    assert.deepEqual(made.map(({ max, timeWindow, routeInfo }) =>
      [max, timeWindow, routeInfo?.url]),
    // A GET route has one for HEAD.
    [[2, 60_000, undefined], [1, 60_000, '/own'], [1, 60_000, '/own']]);
  });
});

describe('the defaults of others', () => {
  it('are those of @fastify/rate-limit', () => using(
    appWith({ max: 2, timeWindow: '1 second' }, { '/free': false },
            theirFastify), async ({ get }) => {
      const first = await get();
      assert.deepEqual(
        ['limit', 'remaining', 'reset'].map(
          (name) => first.headers[`x-ratelimit-${name}`]), ['2', '1', '1']);
      assert.equal(first.headers.ratelimit, undefined);
      const denied = (await get.statuses(1), await get());
      assert.equal(denied.headers['retry-after'], '1');
      assert.deepEqual(JSON.parse(denied.text), {
        statusCode: 429, error: 'Too Many Requests',
        message: 'Rate limit exceeded, retry in 1 second' });
      assert.deepEqual(await get.statuses(3, '/free'), [200, 200, 200]);
    }));

  it('are those of express-rate-limit', async () => {
    const clock = clockAt(T0);
    const limit = theirExpress({
      clock, windowMs: 60_000,
      validate: { default: false, keyGeneratorIpFallback: true } });
    const answers = [];
    for (let i = 0; i < 6; ++i) {
      const headers = {};
      const response = {
        setHeader(name, value) { headers[name.toLowerCase()] = value; },
        getHeader: (name) => headers[name.toLowerCase()],
        hasHeader: (name) => name.toLowerCase() in headers,
        once() {},
        end(text) { answers.push([this.statusCode, text, headers]); },
        statusCode: 200 };
      limit({ ip: '2001:db8:0:1::7', socket: {}, headers: {} }, response,
            () => response.end('hello'));
      clock.ms += 1000;
    }
    assert.deepEqual(answers.map(([status]) => status),
                     [200, 200, 200, 200, 200, 429]);
    const [, text, headers] = answers.at(-1);
    assert.match(text, /Too many requests/);
    assert.equal(headers['x-ratelimit-limit'], '5');
    assert.equal(headers['retry-after'], '55');
    // By default, a network of 56 bits is one client.
    assert.equal((await limit.getKey('2001:db8:0:ff::1')).used, 5);
    await limit.close();
  });

  it('come with their helpers', () => {
    assert.equal(normalizeIP('2001:db8:0:0:1::7'), '2001:db8::');
    assert.equal(normalizeIP('::ffff:10.0.0.1'), '10.0.0.1');
    assert.equal(normalizeIP('Example.COM'), 'example.com');
    assert.equal(ipKeyGenerator('2001:db8:0:1::7'), '2001:db8::');
    assert.equal(ipKeyGenerator('10.0.0.1'), '10.0.0.1');
  });
});
