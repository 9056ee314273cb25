// Programs of other libraries, of which only the import has changed.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import * as test from 'node:test';

import { getRequestListener } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import { createClient } from 'redis';

import { rateLimit as limitExpress } from 'limitree/express';
import expressDefault, * as erl from 'limitree/express-rate-limit';
import fastifyDefault from 'limitree/fastify-rate-limit';
import honoDefault, { rateLimiter } from 'limitree/hono-rate-limiter';
import koaDefault, { ratelimit } from 'limitree/koa-ratelimit';
import {
  RLWrapperTimeouts, RateLimiterCompatibleAbstract, RateLimiterMemory,
  RateLimiterRedis, RateLimiterRes,
} from 'limitree/rate-limiter-flexible';
import { limitMessages } from 'limitree/ws';

import { PATIENT, serverFor } from './servers.mjs';

const require = createRequire(import.meta.url);
const redis = await serverFor(test);
const T0 = 1_800_000_000_000;
const HOUR = 3_600_000;

/** Asks a server for its first page. */
async function asking(listener, use) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const get = async (headers = {}, path = '/') => {
    const answer = await fetch(url + path, { headers });
    return { status: answer.status, headers: answer.headers,
             text: await answer.text() };
  };
  get.statuses = async (count, ...args) => {
    const found = [];
    for (let i = 0; i < count; ++i) found.push((await get(...args)).status);
    return found;
  };
  try {
    await use(get);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('what require() and import return', () => {
  it('is a function where theirs is one', () => {
    for (const [name, imported, named] of [
      ['express-rate-limit', expressDefault, 'rateLimit'],
      ['fastify-rate-limit', fastifyDefault, 'fastifyRateLimit'],
      ['koa-ratelimit', koaDefault, 'ratelimit']]) {
      const required = require(`limitree/${name}`);
      assert.equal(typeof required, 'function', name);
      assert.equal(required, imported);
      assert.equal(required[named], imported);
      assert.equal(required.default, imported);
    }
    assert.equal(require('limitree/hono-rate-limiter').rateLimiter,
                 rateLimiter);
    assert.equal(honoDefault, rateLimiter);
  });

  it('refuses what is no object', () => {
    for (const make of [expressDefault, koaDefault, rateLimiter, limitExpress,
                        limitMessages]) {
      for (const options of [null, 100, '5/minute']) {
        assert.throws(() => make(options), {
          code: 'LIMITREE_INVALID_CONFIG',
          message: /^options must be an object such as .*, is / });
      }
      for (const request of [{ req: {} }, { socket: {} }]) {
        assert.throws(() => make(request, () => undefined),
                      /^ConfigError: options are a request: write app\.use/);
      }
    }
  });

  it('has the other names of express-rate-limit', () => {
    assert.deepEqual([erl.SECOND, erl.MINUTE, erl.HOUR, erl.DAY],
                     [1000, 60_000, HOUR, 24 * HOUR]);
    assert.equal(erl.MemoryStore, erl.LimitreeStore);
    assert.equal(erl.rateLimit, expressDefault);
  });
});

describe('limitree/express-rate-limit', () => {
  it('says what is no client, and not what may be secret', () => {
    const store = { client: new Map() };
    const text = 'redis://:s3cret@here';
    for (const make of [
      () => new erl.LimitreeStore({ store }), () => erl.rateLimit({ store }),
      () => new RateLimiterRedis({ points: 1, duration: 1, store }),
      () => new RateLimiterRedis({ points: 1, duration: 1, storeClient: text }),
      () => new erl.LimitreeStore({ store: { client: text } })]) {
      assert.throws(make, ({ message }) => !message.includes('s3cret') &&
                    /must be a client of ioredis or node-redis/.test(message));
    }
    assert.throws(() => new erl.LimitreeStore({ store: 5 }), /must be a URL/);
  });

  it('asks by the client if a URL cannot say all of it', async () => {
    for (const options of [
      { socket: { host: 'here', tls: true, ca: 'text' } },
      { tls: { ca: 'text' } }, { sentinels: [] },
      { credentialsProvider: {} }]) {
      let asked = 0;
      const sendCommand = async () => { ++asked; throw new Error('no'); };
      const limiter = new RateLimiterRedis({
        points: 1, duration: 1, storeClient: { options, sendCommand } });
      await assert.rejects(limiter.consume('a'));
      assert.equal(asked > 0, true, JSON.stringify(options));
    }
  });

  it('knows names of older versions', async () => {
    const app = express();
    app.use(expressDefault({ max: 1, headers: false }));
    app.get('/', ({ rateLimit }, response) =>
      response.json([rateLimit.current, rateLimit.used]));
    await asking(app, async (get) => {
      const { text, headers } = await get();
      assert.equal(text, '[1,1]');
      assert.equal(headers.get('x-ratelimit-limit'), null);
    });
  });

  it('goes by the clock of the program', (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: T0 });
    const store = new erl.MemoryStore();
    store.init({ windowMs: 1000 });
    const hits = () => {
      const { totalHits, resetTime } = store.increment('a');
      return [totalHits, resetTime - T0];
    };
    assert.deepEqual([hits(), hits()], [[1, 1000], [2, 1000]]);
    t.mock.timers.tick(999);
    assert.deepEqual(hits(), [3, 1000]);
    t.mock.timers.tick(1);
    assert.deepEqual(hits(), [1, 2000]);
  });
});

describe('limitree/fastify-rate-limit', () => {
  it('is a plugin', async () => {
    const app = fastify();
    await app.register(require('limitree/fastify-rate-limit'), { max: 1 });
    app.get('/', async () => 'hello');
    assert.equal((await app.inject('/')).statusCode, 200);
    assert.equal((await app.inject('/')).statusCode, 429);
    await app.close();
  });
});

describe('limitree/hono-rate-limiter', () => {
  const withApp = async (options, use, after = (_, next) => next()) => {
    const app = new Hono();
    const limit = rateLimiter(options);
    app.use(limit, after);
    app.get('/', (context) => context.text('hello'));
    app.get('/bad', (context) => context.text('bad', 400));
    await asking(getRequestListener(app.fetch), use);
    await limit.close?.();
  };

  it('has its defaults', () => withApp({}, async (get) => {
    const first = await get();
    assert.deepEqual(
      ['limit', 'remaining', 'reset', 'policy'].map(
        (name) => first.headers.get(`ratelimit-${name}`)),
      ['5', '4', '60', '5;w=60']);
    assert.deepEqual(await get.statuses(4), [200, 200, 200, 200]);
    const denied = await get();
    assert.deepEqual([denied.status, denied.text],
                     [429, 'Too many requests, please try again later.']);
    assert.ok(Number(denied.headers.get('retry-after')) > 50);
  }));

  it('counts in windows', async () => {
    let now = T0;
    await withApp({ limit: 1, windowMs: 1000, clock: () => now,
                    keyGenerator: (context) => context.req.header('x-user') },
      async (get) => {
        const alex = { 'x-user': 'alex' };
        assert.deepEqual(await get.statuses(2, alex), [200, 429]);
        assert.deepEqual(await get.statuses(1, { 'x-user': 'bo' }), [200]);
        now += 1000;
        assert.deepEqual(await get.statuses(2, alex), [200, 429]);
      });
  });

  it('gives handlers what they had', () => withApp({
    limit: 1, message: 'no', requestStorePropertyName: 'counts',
    handler(context, next, { message, windowMs }) {
      return context.req.header('x-pass') ? next()
        : context.text(`${message} ${windowMs}`, 420);
    },
  }, async (get) => {
    assert.deepEqual(await get.statuses(1), [200]);
    const { status, text } = await get();
    assert.deepEqual([status, text], [420, 'no 60000']);
    const passed = await get({ 'x-pass': '1' });
    assert.deepEqual([passed.status, passed.text], [200, 'hello']);
    // The middleware behind it has forgotten the client.
    assert.deepEqual(await get.statuses(1), [200]);
  }, async (context, next) => {
    const { getKey, resetKey } = context.get('counts');
    if (context.req.header('x-pass')) {
      assert.equal((await getKey('127.0.0.1')).totalHits, 1);
      await resetKey('127.0.0.1');
    }
    await next();
  }));

  it('denies what its handler does not answer', () => withApp({
    limit: 1, handler: () => undefined,
  }, async (get) => {
    assert.deepEqual(await get.statuses(2), [200, 429]);
  }));

  it('gives back what has failed', async () => {
    const counts = [];
    const store = {
      increment: async () => ({ totalHits: counts.push('+'),
                                resetTime: undefined }),
      decrement: async () => { counts.pop(); }, resetKey() {} };
    await withApp({ store, limit: 1, skipFailedRequests: true },
      async (get) => {
        const until = Date.now() + 30_000;
        const isBack = async (count) => {
          while (counts.length !== count) {
            assert.ok(Date.now() < until);
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        };
        assert.deepEqual(await get.statuses(1, {}, '/bad'), [400]);
        await isBack(0);
        assert.deepEqual(await get.statuses(2), [200, 429]);
        await isBack(1);
      });
    // And without a connection of Node.js.
    const app = new Hono();
    app.use(rateLimiter({ store, limit: 1, skipFailedRequests: true,
                          keyGenerator: () => 'somebody' }));
    assert.equal((await app.request('/')).status, 429);
    assert.equal(counts.length, 1);
  });
});

describe('limitree/koa-ratelimit', () => {
  const withApp = async (options, use, before = (_, next) => next()) => {
    const app = new Koa();
    app.silent = true;
    const limit = ratelimit(options);
    app.use(before);
    app.use(limit);
    app.use((context) => { context.body = 'hello'; });
    await asking(app.callback(), use);
    await limit.close();
  };
  const db = new Map();

  it('has its defaults', () => withApp({ driver: 'memory', db, max: 1 },
    async (get) => {
      const first = await get();
      assert.deepEqual(['limit', 'remaining'].map((name) =>
        first.headers.get(`x-ratelimit-${name}`)), ['1', '0']);
      const reset = Number(first.headers.get('x-ratelimit-reset'));
      assert.ok(Math.abs(reset - Date.now() / 1000 - 3600) < 60);
      const denied = await get();
      assert.equal(denied.status, 429);
      assert.match(denied.text,
                   /^Rate limit exceeded, retry in (60 minutes|1 hour)\.$/);
      assert.ok(Number(denied.headers.get('retry-after')) > 3500);
    }));

  it('counts in windows, and shows what it is told', async () => {
    let now = T0;
    const limited = [];
    await withApp({
      driver: 'memory', max: 1, duration: 2000, clock: () => now,
      id: (context) => context.get('x-user') || false,
      headers: { remaining: 'X-Left', total: 'X-All' },
      errorMessage: { error: 'enough' },
      onLimited: ({ ip }) => limited.push(ip),
    }, async (get) => {
      assert.deepEqual(await get.statuses(3), [200, 200, 200]);
      const alex = { 'x-user': 'alex' };
      const first = await get(alex);
      assert.deepEqual([first.status, first.headers.get('x-left'),
                        first.headers.get('x-all'),
                        first.headers.get('x-ratelimit-limit')],
                       [200, '0', '1', null]);
      now += 500;
      const denied = await get(alex);
      assert.deepEqual([denied.status, denied.headers.get('retry-after'),
                        denied.text], [429, '2', '{"error":"enough"}']);
      assert.equal(limited.length, 1);
      now += 1500;
      assert.deepEqual(await get.statuses(1, alex), [200]);
    });
  });

  it('lets nobody retry in 0 seconds', () => withApp({
    driver: 'memory', max: 1, duration: 400, clock: () => T0,
  }, async (get) => {
    await get();
    const { headers, text } = await get();
    assert.deepEqual([headers.get('retry-after'), text],
                     ['1', 'Rate limit exceeded, retry in 1 second.']);
  }));

  it('has lists', () => withApp({
    driver: 'memory', max: 1, disableHeader: true,
    whitelist: async (context) => context.get('x-user') === 'good',
    blacklist: (context) => context.get('x-user') === 'bad',
  }, async (get) => {
    assert.deepEqual(await get.statuses(2, { 'x-user': 'good' }), [200, 200]);
    assert.deepEqual(await get.statuses(1, { 'x-user': 'bad' }), [403]);
    assert.deepEqual(await get.statuses(1), [200]);
    const { status, headers } = await get();
    assert.equal(status, 429);
    assert.equal(headers.get('x-ratelimit-limit'), null);
    assert.ok(headers.get('retry-after') !== null);
  }));

  it('throws', async () => {
    const caught = [];
    await withApp({ driver: 'memory', max: 1, throw: true }, async (get) => {
      assert.deepEqual(await get.statuses(1), [200]);
      const { status, headers, text } = await get();
      assert.deepEqual([status, headers.get('x-ratelimit-remaining')],
                       [429, '0']);
      assert.match(text, /^Rate limit exceeded/);
      assert.equal(caught[0].status, 429);
    }, async (_, next) => {
      try {
        await next();
      } catch (error) {
        caught.push(error);
        throw error;
      }
    });
  });

  it('counts in the server of a client', async () => {
    const options = { db: { options: { path: redis.path } }, max: 1,
                      timeout: PATIENT, namespace: 'swap' };
    await withApp(options, async (get) => {
      assert.deepEqual(await get.statuses(2), [200, 429]);
      await withApp(options, async (other) =>
        assert.deepEqual(await other.statuses(1), [429]));
      // Beside it, with other keys than addresses.
      for (const more of [{ namespace: 'other' }, { id: () => 'alex' }]) {
        await withApp({ ...options, ...more }, async (other) =>
          assert.deepEqual(await other.statuses(1), [200]));
      }
    });
  });

  it('logs in as its client does', async () => {
    await redis.command('ACL', 'SETUSER', 'bea', 'on', '>p@ss', '~*', '+@all');
    const db = createClient({
      url: 'redis://127.0.0.1:1', username: 'bea', password: 'p@ss',
      socket: { path: redis.path } });
    await redis.command('ACL', 'SETUSER', 'default', '-eval', '-evalsha');
    try {
      await withApp({ db, max: 1, timeout: PATIENT, onStoreError: 'raise',
                      namespace: 'bea' }, async (get) =>
        assert.deepEqual(await get.statuses(2), [200, 429]));
    } finally {
      await redis.command('ACL', 'SETUSER', 'default', '+@all');
    }
  });

  it('says what is wrong', () => {
    for (const [options, message] of [
      [{}, /db is not set: give a client/], [{ db: null }, /db is not set/],
      [{ driver: 'disk' }, /driver must be memory or redis/],
      [{ driver: 'memory', max: 0 }, /limit must be a whole number/],
      [{ driver: 'memory', maxx: 5 }, /maxx/],
    ]) {
      assert.throws(() => ratelimit(options), message);
    }
  });
});

describe('limitree/rate-limiter-flexible', () => {
  const used = { points: 2, duration: 60 };
  const denialOf = (answer) => answer.then(
    () => assert.fail('was allowed'), (error) => error);

  it('RLWrapperTimeouts answers in time', async () => {
    const limiter = new RateLimiterMemory(used);
    const late = Object.assign(new RateLimiterMemory(used), {
      consume: () => new Promise(() => {}) });
    const alone = new RLWrapperTimeouts({ limiter, timeoutMs: 30_000 });
    assert.equal((await alone.consume('a')).remainingPoints, 1);
    assert.equal((await alone.penalty('a', 5)).consumedPoints, 6);
    assert.ok(await denialOf(alone.consume('a')) instanceof RateLimiterRes);
    assert.equal((await alone.reward('a', 5)).consumedPoints, 2);
    assert.equal((await alone.get('a')).consumedPoints, 2);
    assert.equal((await alone.set('a', 1, 60)).consumedPoints, 1);
    assert.equal((await alone.block('a', 5)).msBeforeNext, 5000);
    assert.equal(await alone.delete('a'), true);
    const slow = Object.assign(new RateLimiterMemory(used), {
      consume: () => new Promise((done) => setTimeout(done, 50, 'late')) });
    const patient = { limiter: slow, timeoutMs: Infinity };
    assert.equal(await new RLWrapperTimeouts(patient).consume('a'), 'late');
    const timeoutMs = 1;
    await assert.rejects(
      new RLWrapperTimeouts({ limiter: late, timeoutMs }).consume('a'),
      { message: 'Operation timed out' });
    const insured = new RLWrapperTimeouts({
      limiter: late, timeoutMs, insuranceLimiter: limiter });
    assert.equal((await insured.consume('b', 2)).remainingPoints, 0);
    // A denial is an answer.
    assert.ok(await denialOf(insured.consume('b')) instanceof RateLimiterRes);
    for (const [options, message] of [
      [{}, /limiter must be a limiter/],
      [{ limiter, timeoutMs: -1 }, /timeoutMs must be/],
      [{ limiter, insuranceLimiter: {} }, /insuranceLimiter must be/]]) {
      assert.throws(() => new RLWrapperTimeouts(options), message);
    }
  });

  it('takes limiters of a program', async () => {
    class Always extends RateLimiterCompatibleAbstract {
      keyPrefix = 'always';
      blockDuration = 0;
      execEvenly = false;
      async consume() { return new RateLimiterRes(5, 0, 0); }
      penalty() {}
      reward() {}
      get() {}
      set() {}
      block() {}
      delete() {}
    }
    const limiter = new RateLimiterRedis({
      ...used, store: 'redis+unix:///nowhere/redis.sock',
      insuranceLimiter: new Always(), rejectIfRedisNotReady: true });
    assert.equal((await limiter.consume('a')).remainingPoints, 5);
    assert.ok(limiter.insuranceLimiter instanceof Always);
    await limiter.close();
  });

  it('keeps the points that are set', async () => {
    let now = T0;
    const limiter = new RateLimiterMemory({ ...used, clock: () => now });
    await limiter.set('a', 12, 60);
    assert.equal((await limiter.get('a')).consumedPoints, 12);
    await limiter.set('a', 12, 5);
    now += 5000;
    // A shorter time is not made longer by the window.
    assert.equal((await limiter.consume('a')).consumedPoints, 1);
    await limiter.set('b', 9);
    assert.equal((await limiter.get('b')).msBeforeNext, 60_000);
  });
});
