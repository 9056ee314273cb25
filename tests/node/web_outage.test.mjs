// The log messages of a server when its store fails and is back.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import express from 'express';
import { rateLimit as theirs } from 'express-rate-limit';
import fastify from 'fastify';

import { Limiter } from 'limitree';
import { rateLimit } from 'limitree/express';
import { LimitreeStore } from 'limitree/express-rate-limit';
import limitree from 'limitree/fastify';
import { rateLimit as limitFetch } from 'limitree/fetch';

import { PATIENT, RedisServer } from './servers.mjs';

/** Waits for a line that is logged some seconds later. */
async function lineOf(lines, count) {
  for (let i = 0; i < 3000 && lines.length < count; ++i) await sleep(10);
  assert.equal(lines.length, count, lines.join('\n'));
  return lines[count - 1];
}

/** Functions that start the servers: each resolves to [statusOf, stop]. */
const SERVERS = {
  async express(options) {
    const app = express();
    const limit = rateLimit({ limit: 100, ...options });
    app.use(limit);
    // A second middleware with the same limiter, and so the same outage.
    app.use(rateLimit({ limiter: limit.limiter, logger: options.logger,
                        path: () => ['100/1m', '127.0.0.1'] }));
    return served(app, () => limit.close());
  },

  async 'express-rate-limit'(options) {
    const app = express();
    const store = new LimitreeStore(options);
    app.use(theirs({ limit: 100, store }));
    return served(app, () => store.shutdown());
  },

  async fastify({ logger, ...options }) {
    // Messages go to the log of Fastify by default.
    const stream = { write: (line) => {
      const { level, msg } = JSON.parse(line);
      if (level === 40) logger.warn(msg);
    } };
    const app = fastify({ logger: { stream } });
    await app.register(limitree, { limit: 100, ...options });
    app.get('/', async () => 'hello');
    return [async () => (await app.inject('/')).statusCode, () => app.close()];
  },
};

async function served(app, close) {
  app.get('/', (_, response) => response.send('hello'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  return [async () => (await fetch(url)).status, async () => {
    server.closeAllConnections();
    server.close();
    await close();
  }];
}

for (const [name, start] of Object.entries(SERVERS)) {
  it(`${name}: one line when the store fails, one when it is back`,
    async (t) => {
      const redis = await new RedisServer().start();
      t.after(() => redis.stop());
      const lines = [];
      const [status, stop] = await start({
        store: redis.url, timeout: PATIENT,
        logger: { warn: (line) => lines.push(line) } });
      t.after(stop);
      for (let i = 0; i < 3; ++i) assert.equal(await status(), 200);
      assert.deepEqual(lines, []);

      await redis.kill();
      for (let i = 0; i < 20; ++i) assert.equal(await status(), 200);
      const url = redis.url.replace('+', '\\+');
      const where = `${url} %s in process ${process.pid}`;
      assert.match(await lineOf(lines, 1), new RegExp(
        `^limitree: the store ${where.replace('%s', 'fails')} \\(.*\\), ` +
        'on_store_error=local: limits are decided in this process until it ' +
        'is back \\[LIMITREE_STORE_AWAY\\]$'));

      await redis.start();
      // The limiter asks it again after some time, and it must keep answering.
      const until = Date.now() + 60_000;
      while (lines.length === 1 && Date.now() < until) {
        assert.equal(await status(), 200);
        await sleep(700);
      }
      const [, count] = new RegExp(
        `^limitree: the store ${where.replace('%s', 'is back')} after ` +
        '\\d+\\.\\d s, on_store_error=local: (\\d+) requests were decided in ' +
        'this process \\(.*\\) \\[LIMITREE_STORE_BACK\\]$')
        .exec(await lineOf(lines, 2));
      assert.ok(Number(count) >= 20);
    });
}

/** The one warning of the process after ten requests, by its options. */
async function warningOf(start, options) {
  const [status, stop] = await start(options);
  const warnings = [];
  const note = (warning) => warnings.push(warning);
  process.on('warning', note);
  for (let i = 0; i < 10; ++i) {
    assert.equal(await status(), options.onStoreError === 'raise' ? 503
      : options.onStoreError === 'deny' ? 429 : 200);
  }
  await stop();
  process.off('warning', note);
  assert.deepEqual(warnings.map(({ code }) => code), ['LIMITREE_STORE_AWAY']);
  return warnings[0].message;
}

describe('without a logger, the warnings of the process have it, once', () => {
  const store = 'redis://alex:secret@127.0.0.1:1/7';
  const begin = 'the store redis://127.0.0.1:1/7 fails in process ' +
    `${process.pid} (refused), on_store_error=`;

  for (const [onStoreError, what] of [
    ['local', 'limits are decided in this process'],
    ['allow', 'requests are let through unchecked'],
    ['deny', 'requests are denied unchecked'], ['raise', 'requests fail']]) {
    it(`in Express: ${onStoreError}`, async () => {
      assert.equal(
        await warningOf(SERVERS.express, { store, onStoreError }),
        `${begin}${onStoreError}: ${what} until it is back`);
    });
  }

  it('in Fastify', async () => {
    const start = async (options) => {
      const app = fastify();
      await app.register(limitree, { limit: 100, ...options });
      app.get('/', async () => 'hello');
      return [async () => (await app.inject('/')).statusCode,
              () => app.close()];
    };
    assert.match(await warningOf(start, { store }), /127\.0\.0\.1:1.* fails/);
  });
});

describe('a client that goes on while the store is away', () => {
  const GONE = { windowMs: '1h', keyGenerator: () => 'somebody',
                 validate: false, logger: { warn() {} },
                 store: 'redis+unix:///nowhere/redis.sock' };

  /** The statuses of requests, and how many clients were banned. */
  async function answers(count, options) {
    let banned = 0;
    const limited = limitFetch({ ...GONE, ...options,
                                 onBanReach: () => { ++banned; } });
    const serve = limited.wrap(() => new Response('hello'));
    const found = [];
    for (let i = 0; i < count; ++i) {
      found.push((await serve(new Request('http://here/'))).status);
    }
    await limited.close();
    return [found, banned];
  }

  it('is not banned because of the outage', async () => {
    for (const more of [{ ban: 0 }, { ban: 1 },
                        { ban: 1, continueExceeding: true }]) {
      assert.deepEqual(
        await answers(4, { limit: 9, onStoreError: 'deny', ...more }),
        [[429, 429, 429, 429], 0]);
    }
  });

  it('is limited, and banned, by this process', async () => {
    for (const more of [{ continueExceeding: true },
                        { exponentialBackoff: true }]) {
      assert.deepEqual(await answers(3, { limit: 1, ...more }),
                       [[200, 429, 429], 0]);
    }
    assert.deepEqual(
      await answers(3, { limit: 1, ban: 1, continueExceeding: true }),
      [[200, 429, 403], 1]);
    assert.deepEqual(await answers(
      2, { limit: 1, continueExceeding: true, passOnStoreError: false }),
      [[503, 503], 0]);
  });

  it('is denied if only its block fails', async (t) => {
    const limiter = new Limiter({ limits: 'schema: {job: {limits: 1/h}}',
                                  store: GONE.store });
    const error = await limiter.ping().catch((one) => one);
    await limiter.close();
    t.mock.method(Limiter.prototype, 'block', async () => { throw error; });
    const options = { limit: 1, store: 'memory://', continueExceeding: true };
    assert.deepEqual(await answers(3, options), [[200, 429, 429], 0]);
    assert.deepEqual(await answers(2, { ...options, onStoreError: 'raise' }),
                     [[200, 503], 0]);
  });
});
