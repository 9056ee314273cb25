// The features that only the middlewares for Koa, Hono and node:http have, over
// real HTTP.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';

import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import Koa from 'koa';

import { rateLimit as limitHono } from 'limitree/hono';
import { RateLimitInfo, rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';

import { forgetWarnings, warningsOf } from './web_apps.mjs';

async function withServer(server, use) {
  if (!server.listening) await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  try {
    await use((headers, path = '/') => fetch(url + path, { headers }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('koa', () => {
  const withKoa = (build, use) => {
    const app = new Koa();
    app.silent = true;
    build(app);
    app.use((context) => { context.body = context.ip; });
    return withServer(app.listen(0, '127.0.0.1'), use);
  };

  it('hands denials to a handler', () => withKoa((app) => app.use(limitKoa({
    limit: 1, requestPropertyName: 'quota',
    handler(context, info) {
      assert.equal(info, context.state.quota);
      context.status = 420;
      context.body = { used: info.used };
    },
  })), async (get) => {
    await get();
    const denied = await get();
    assert.equal(denied.status, 420);
    assert.ok(denied.headers.get('retry-after'));
    assert.deepEqual(await denied.json(), { used: 1 });
  }));

  it('keeps the headers that an error has', () => withKoa((app) => {
    app.use(limitKoa({ limit: 9 }));
    app.use((context) => context.throw(
      401, 'who?', { headers: { 'WWW-Authenticate': 'Basic' } }));
  }, async (get) => {
    const { status, headers } = await get();
    assert.equal(status, 401);
    assert.equal(headers.get('www-authenticate'), 'Basic');
    assert.match(headers.get('ratelimit'), /r=8/);
  }));

  it('warns of proxies that are trusted blindly', async () => {
    const codes = (set) => warningsOf(() => withKoa((app) => {
      Object.assign(app, set);
      app.use(limitKoa({ limit: 9 }));
    }, (get) => get({ 'X-Forwarded-For': '1.1.1.1' })));
    assert.deepEqual(await codes({ proxy: true }),
                     ['LIMITREE_PERMISSIVE_TRUST_PROXY']);
    assert.deepEqual(await codes({ proxy: true, maxIpsCount: 1 }), []);
  });

  it('forgets and closes', async () => {
    const middleware = limitKoa({ limit: 1 });
    await withKoa((app) => app.use(middleware), async (get) => {
      await get();
      assert.equal((await get()).status, 429);
      await middleware.resetKey('127.0.0.1');
      assert.equal((await get()).status, 200);
      await middleware.close();
      assert.equal((await get()).status, 500);
    });
  });
});

describe('hono', () => {
  const withHono = (build, use) => {
    const app = new Hono();
    build(app);
    app.get('/', (context) => context.text('hello'));
    return withServer(
      serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }), use);
  };

  it('hands denials to a handler', () => withHono((app) => app.use(limitHono({
    limit: 1, requestPropertyName: 'quota',
    handler(context, info) {
      assert.equal(info, context.get('quota'));
      return context.json({ used: info.used }, 420);
    },
  })), async (get) => {
    await get();
    const denied = await get();
    assert.equal(denied.status, 420);
    assert.ok(denied.headers.get('retry-after'));
    assert.deepEqual(await denied.json(), { used: 1 });
  }));

  it('adds headers to an answer that cannot be changed', () => withHono(
    (app) => {
      app.use(limitHono({ limit: 9 }));
      app.get('/far', () => fetch('data:text/plain,from%20afar'));
    }, async (get) => {
      const answer = await get({}, '/far');
      assert.match(answer.headers.get('ratelimit'), /r=8/);
      assert.equal(await answer.text(), 'from afar');
    }));

  it('counts in parts of an app as well', () => withHono((app) => {
    app.use(limitHono({ limit: 9 }));
    app.use('/part/*', limitHono({ limit: 1, name: 'part' }));
    app.get('/part/a', (context) => context.text('a'));
  }, async (get) => {
    assert.equal((await get({}, '/part/a')).headers.get('ratelimit'),
                 '"9/1m:*";r=8;t=7, "part:*";r=0;t=60');
    assert.equal((await get({}, '/part/a')).status, 429);
    assert.equal((await get()).status, 200);
  }));

  it('needs to know clients where there is no connection', async () => {
    const app = new Hono();
    app.use('/ip', limitHono({ limit: 1 }));
    app.use('/key', limitHono({ limit: 1, keyGenerator: () => 'all' }));
    app.get('/:any', (context) => context.text('hello'));
    let error;
    app.onError((thrown, context) => {
      error = thrown;
      return context.text('failed', 500);
    });
    assert.equal((await app.request('/ip')).status, 500);
    assert.match(error.message, /address of the client is unknown/);
    assert.equal((await app.request('/key')).status, 200);
    assert.equal((await app.request('/key')).status, 429);
  });

  it('lets Hono answer for a store that failed', () => withHono(
    (app) => app.use(limitHono(
      { limit: 1, store: 'redis+unix:///nowhere/redis.sock',
        onStoreError: 'raise' })),
    async (get) => {
      const answer = await get();
      assert.equal(answer.status, 503);
      assert.equal(answer.headers.get('content-type'),
                   'application/problem+json');
      assert.equal((await answer.json()).status, 503);
    }));
});

describe('node:http', () => {
  const withHttp = (limited, use) => withServer(
    createServer(async (request, response) => {
      if (!await limited(request, response)) {
        response.end(String(limited.infoOf(request)?.remaining));
      }
    }).listen(0, '127.0.0.1'), use);

  it('needs no waiting in memory', async () => {
    const limited = limitHttp({ limit: 1 });
    await withServer(createServer((request, response) => {
      const answer = limited(request, response);
      assert.equal(typeof answer, 'boolean');
      if (!answer) response.end('hello');
    }).listen(0, '127.0.0.1'), async (get) => {
      assert.equal((await get()).status, 200);
      assert.equal((await get()).status, 429);
    });
  });

  it('hands denials to a handler', () => withHttp(limitHttp({
    limit: 1, async handler(_request, response, info) {
      assert.ok(info instanceof RateLimitInfo);
      response.writeHead(420).end('enough');
    },
  }), async (get) => {
    assert.equal(await (await get()).text(), '0');
    const denied = await get();
    assert.equal(denied.status, 420);
    assert.ok(denied.headers.get('retry-after'));
    assert.equal(await denied.text(), 'enough');
  }));

  it('knows nothing of requests that were skipped', () => withHttp(
    limitHttp({ limit: 1, skip: () => true }),
    async (get) => assert.equal(await (await get()).text(), 'undefined')));

  it('tells clients behind a Unix socket apart if it may believe it',
    async () => {
      const { clientIp } = await import('limitree');
      const limited = limitHttp(
        { limit: 1, clientIp: clientIp({ trustedProxies: ['unix'] }) });
      const answers = [];
      const request = (address) => ({
        socket: {}, headers: { 'x-forwarded-for': address } });
      const response = { setHeader() {}, getHeader() {}, hasHeader() {},
                         end(text) { answers.push(text); } };
      assert.equal(limited(request('1.1.1.1'), response), false);
      assert.equal(limited(request('1.1.1.1'), response), true);
      assert.equal(limited(request('2.2.2.2'), response), false);
      assert.equal(JSON.parse(answers[0]).status, 429);
    });

  it('answers 500 and tells the program, whatever is wrong', async () => {
    const thrower = () => { throw new Error('on purpose'); };
    const rejecter = async () => thrower();
    for (const options of [
      { keyGenerator: thrower }, { keyGenerator: rejecter }, { skip: thrower },
      { cost: rejecter }, { limit: thrower },
      { keyGenerator: () => ({}) },
      { limit: 1, cost: 2, message: rejecter },
      { limit: 1, cost: 2, handler: thrower },
    ]) {
      forgetWarnings();
      const lines = [];
      await withHttp(
        limitHttp({ limit: 9, logger: { warn: (line) => lines.push(line) },
                    ...options }),
        async (get) => {
          for (let i = 0; i < 3; ++i) {
            const answer = await get();
            assert.equal(answer.status, 500);
            assert.equal(answer.headers.get('content-type'),
                         'application/problem+json');
            assert.doesNotMatch(await answer.text(), /purpose|\.js/);
          }
        });
      assert.equal(lines.length, 1);
      assert.match(lines[0], /on purpose|keyGenerator must .* not an object/);
      assert.match(lines[0], /LIMITREE_REQUEST_FAILED/);
    }
  });

  it('cuts an answer off that has begun', () => withHttp(limitHttp({
    limit: 1, logger: { warn() {} }, handler(_request, response) {
      response.writeHead(429, { 'Content-Length': '9' });
      response.write('so far');
      throw new Error('in the middle');
    },
  }), async (get) => {
    await get();
    await assert.rejects(async () => (await get()).text());
  }));

});

it('http: an error without a text is answered with 500, too', async () => {
  forgetWarnings();
  const limited = limitHttp({
    limit: 5, logger: { warn() { throw new Error('no disk'); } },
    keyGenerator() { throw Object.create(null); } });
  const server = createServer((request, response) =>
    limited(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const answer = await fetch(`http://127.0.0.1:${server.address().port}`);
  assert.equal(answer.status, 500);
  server.closeAllConnections();
  server.close();
});
