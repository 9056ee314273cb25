// Requests that are slowed down, and Retry-After as a date, over real HTTP.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';

import { serve } from '@hono/node-server';
import express from 'express';
import Fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';

import { rateLimit as forExpress } from 'limitree/express';
import { limitree as forFastify } from 'limitree/fastify';
import { rateLimit as forHono } from 'limitree/hono';
import { rateLimit as forHttp } from 'limitree/http';
import { rateLimit as forKoa } from 'limitree/koa';

import { until } from './until.mjs';

/** Starts each framework with the options; returns its server. */
const SERVERS = {
  express(options) {
    const app = express();
    app.use(forExpress(options));
    app.get('/', (_, response) => response.send('x'));
    return app.listen(0, '127.0.0.1');
  },
  koa(options) {
    const app = new Koa();
    app.silent = true;
    app.use(forKoa(options));
    app.use((context) => { context.body = 'x'; });
    return app.listen(0, '127.0.0.1');
  },
  async fastify(options) {
    const app = Fastify();
    await app.register(forFastify, options);
    app.get('/', () => 'x');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  },
  hono(options) {
    const app = new Hono();
    app.use(forHono(options));
    app.get('/', (context) => context.text('x'));
    return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  },
  http(options) {
    const limited = forHttp(options);
    return createServer(async (request, response) => {
      if (!await limited(request, response)) response.end('x');
    }).listen(0, '127.0.0.1');
  },
};

async function withServer(name, options, use) {
  const server = await SERVERS[name](options);
  if (!server.listening) await once(server, 'listening');
  try {
    await use(`http://127.0.0.1:${server.address().port}/`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const LIMIT = { limit: 10, windowMs: 3_600_000 };

for (const name of Object.keys(SERVERS)) {
  describe(name, () => {
    it('keeps requests above delayAfter, and bounds them', async () => {
      const asked = [];
      const options = {
        ...LIMIT, delayAfter: 2, maxDelayed: 1, maxDelayMs: 300,
        delayMs: (used) => { asked.push(used); return used * 100; } };
      await withServer(name, options, async (url) => {
        for (let i = 0; i < 2; ++i) await fetch(url);
        assert.deepEqual(asked, []);
        const begin = performance.now();
        assert.equal((await fetch(url)).status, 200);
        assert.ok(performance.now() - begin >= 299);
        const statuses = await Promise.all([1, 2, 3].map(async () =>
          (await fetch(url)).status));
        // As many wait as may wait; how many come later is up to the machine.
        assert.ok(statuses.includes(200));
        assert.ok(statuses.every((one) => one === 200 || one === 429));
      });
    });

    it('ends the wait of a client that goes away', async () => {
      const options = { ...LIMIT, limit: 1000, delayAfter: 0,
                        delayMs: 3_600_000, maxDelayMs: 86_400_000,
                        maxDelayed: 1 };
      await withServer(name, options, async (url) => {
        const gone = new AbortController();
        const waits = fetch(url, { signal: gone.signal });
        waits.catch(() => undefined);
        // There is room for one: all others are denied while it waits.
        await until(async () => await statusOf(url, 1000) === 429);
        gone.abort();
        await assert.rejects(waits);
        // Then another one waits in its place, and has no answer.
        await until(async () => await statusOf(url, 1000) === undefined);
      });
    });
  });
}

/** The status of an answer; undefined if there is none in that time. */
async function statusOf(url, ms) {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(ms) })).status;
  } catch {
    return undefined;
  }
}

describe('retryAfter', () => {
  it('is a date if that is asked for', async () => {
    const options = { limit: 1, windowMs: 3_600_000, retryAfter: 'date' };
    await withServer('express', options, async (url) => {
      await fetch(url);
      const begin = Date.now();
      const date = (await fetch(url)).headers.get('retry-after');
      assert.match(date, / GMT$/);
      const ms = Date.parse(date) - begin;
      assert.ok(ms > 3_500_000 && ms <= 3_700_000, date);
    });
    assert.throws(() => forHttp({ limit: 1, retryAfter: 'soon' }),
                  /retryAfter must be seconds or date, is the text "soon"/);
  });

  it('refuses delays that mean nothing', () => {
    assert.throws(() => forHttp({ limit: 1, delayMs: 5 }), /need delayAfter/);
    assert.throws(() => forHttp({ limit: 1, delayAfter: -1 }),
                  /delayAfter must be a whole number/);
  });
});
