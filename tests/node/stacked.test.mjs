// Several middlewares before one route: a request that one of them denies costs
// nothing in the others.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';

import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';

import { rateLimit as limitExpress } from 'limitree/express';
import limitFastify from 'limitree/fastify';
import { rateLimit as limitHono } from 'limitree/hono';
import { rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';

import { PATIENT, RedisServer } from './servers.mjs';
import { headerOf } from './web_apps.mjs';

const HOUR = 3_600_000;

/** Functions that serve `hello` behind the limits, and note them. */
const SERVERS = {
  express(limits, all) {
    const app = express();
    all.push(...limits.map((one) => limitExpress(one)));
    app.use(all);
    app.get('/', (_, response) => response.send('hello'));
    return app.listen(0, '127.0.0.1');
  },
  http(limits, all) {
    all.push(...limits.map((one) => limitHttp(one)));
    return createServer(async (request, response) => {
      for (const one of all) if (await one(request, response)) return;
      response.end('hello');
    }).listen(0, '127.0.0.1');
  },
  koa(limits, all) {
    const app = new Koa();
    all.push(...limits.map((one) => limitKoa(one)));
    for (const one of all) app.use(one);
    app.use((context) => { context.body = 'hello'; });
    return app.listen(0, '127.0.0.1');
  },
  hono(limits, all) {
    const app = new Hono();
    all.push(...limits.map((one) => limitHono(one)));
    app.use(...all);
    app.get('/', (context) => context.text('hello'));
    return serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  },
  async fastify(limits, all) {
    const app = fastify();
    all.push(app);
    await app.register(limitFastify, { global: false, ...limits[0] });
    // The store is an option of the plugin.
    const onRequest = limits.map(({ store, timeout, prefix, ...own }) =>
      app.rateLimit(own));
    app.get('/', { onRequest }, async () => 'hello');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server;
  },
};

/** The limits of all, of each user, and of each user in a day. */
function limitsOf(options) {
  const one = { windowMs: HOUR, ...options };
  const keyGenerator = (a) => headerOf(a, 'x-user');
  return [
    { ...one, limit: 20, name: 'all', keyGenerator: () => 'all' },
    { ...one, limit: 9, name: 'much', keyGenerator },
    { ...one, limit: 2, name: 'few', keyGenerator },
  ];
}

for (const [name, start] of Object.entries(SERVERS)) {
  describe(name, () => {
    const redis = new RedisServer();
    before(() => redis.start());
    after(() => redis.stop());

    for (const [what, options] of Object.entries({
      'in memory': {},
      'what failed is not given back twice': { skipFailedRequests: true },
      'in Redis': { store: 'redis' },
    })) {
      it(`denied requests cost nothing: ${what}`, async () => {
        const given = options.store === undefined ? options
          : { store: redis.url, timeout: PATIENT, prefix: `${name}:` };
        const all = [];
        const server = await start(limitsOf(given), all);
        if (!server.listening) await once(server, 'listening');
        const url = `http://127.0.0.1:${server.address().port}`;
        const ask = async (user) => {
          const answer = await fetch(url, { headers: { 'X-User': user } });
          await answer.text();
          return answer;
        };
        const statuses = [];
        for (let i = 0; i < 30; ++i) {
          statuses.push((await ask('alex')).status);
        }
        const bob = await ask('bob');
        server.closeAllConnections();
        server.close();
        for (const one of all) await one.close();
        assert.deepEqual(statuses.slice(0, 3), [200, 200, 429]);
        assert.deepEqual(new Set(statuses.slice(2)), new Set([429]));
        assert.equal(bob.status, 200);
        const left = bob.headers.get('ratelimit').match(/"[^"]*";r=\d+/g);
        assert.deepEqual(left.sort(), ['"all:*";r=17', '"few:*";r=1',
                                       '"much:*";r=8']);
      });
    }
  });
}

it('Express: what a handler lets pass is charged elsewhere', async () => {
  const app = express();
  const one = { windowMs: HOUR, keyGenerator: () => 'all' };
  const hard = limitExpress({ ...one, limit: 4, name: 'hard' });
  const soft = limitExpress({ ...one, limit: 1, name: 'soft',
    handler(request, response, next) {
      const { how } = request.query;
      if (how === 'end') response.status(418).end();
      else if (how === 'error') next({ status: 420 });
      else if (how === 'route') next('route');
      else next();
    } });
  app.get('/', hard, soft, (_, response) => response.send('hello'));
  app.get('/', (_, response) => response.send('other route'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  const found = [];
  for (const how of ['', 'end', 'error', 'end', 'error', '', 'route', '', '']) {
    const answer = await fetch(`http://127.0.0.1:${port}/?how=${how}`);
    await answer.text();
    found.push(answer.status);
  }
  server.closeAllConnections();
  server.close();
  await hard.close();
  await soft.close();
  assert.deepEqual(found, [200, 418, 420, 418, 420, 200, 200, 200, 429]);
});

it('a request that is asked about often keeps its charges', async () => {
  const one = { windowMs: HOUR, limit: 5, keyGenerator: () => 'me' };
  const all = limitHttp({ ...one, limit: 9, name: 'each message' });
  const few = limitHttp({ ...one, name: 'each few' });
  const server = createServer(async (request, response) => {
    // As for each message of a connection that stays.
    for (let i = 0; i < 7; ++i) {
      for (const limited of [all, few]) {
        if (await limited(request, { headersSent: true })) break;
      }
    }
    response.end('done');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await (await fetch(`http://127.0.0.1:${server.address().port}`)).text();
  server.closeAllConnections();
  server.close();
  const left = async (limit, name) => (await limit.limiter.peek(
    [name, 'me'], { cost: 0 })).remaining;
  assert.equal(await left(few, 'each few'), 0);
  assert.equal(await left(all, 'each message'), 4);
  await all.close();
  await few.close();
});
