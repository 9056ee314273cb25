// The features that only the middleware for Express has, over real HTTP.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import express5 from 'express';
import express4 from 'express4';

import { Limiter } from 'limitree';
import defaultExport, { RateLimitInfo, rateLimit } from 'limitree/express';

import { warningsOf } from './web_apps.mjs';

/** Runs `use(get)` while an app that `build` has set up serves requests. */
async function withServer(build, use, express = express5) {
  const app = express();
  app.set('env', 'test');
  await build(app);
  app.get('/', (request, response) => response.send(request.ip));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  try {
    await use((headers, path = '/') => fetch(url + path, { headers }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('the middleware', () => {
  it('is the default export', () => assert.equal(defaultExport, rateLimit));

  it('hands denials to a handler', () => withServer((app) => {
    app.use(rateLimit({
      limit: 1, windowMs: 3_600_000, statusCode: 420, message: { stop: true },
      requestPropertyName: 'quota',
      handler(request, response, next, options) {
        assert.ok(request.quota instanceof RateLimitInfo);
        assert.equal(typeof next, 'function');
        response.status(options.statusCode)
          .send({ ...options.message, used: request.quota.used });
      } }));
  }, async (get) => {
    await get();
    const denied = await get();
    assert.equal(denied.status, 420);
    assert.ok(denied.headers.get('retry-after'));
    assert.deepEqual(await denied.json(), { stop: true, used: 1 });
  }));

  it('tells the handler the problem if there is no message',
    () => withServer((app) => {
      app.use(rateLimit({ limit: 1, handler: (request, response, _, options) =>
        response.status(options.statusCode).json(options.message) }));
    }, async (get) => {
      await get();
      const denied = await get();
      assert.equal(denied.status, 429);
      assert.equal((await denied.json()).title, 'Too Many Requests');
    }));

  it('passes on what a handler or a message throws', async () => {
    const thrower = async () => { throw new Error('in the handler'); };
    for (const options of [{ handler: thrower }, { message: thrower },
                           { handler() { throw new Error('at once'); } }]) {
      const errors = [];
      await withServer((app) => {
        app.use(rateLimit({ limit: 1, ...options }));
        app.use((error, _request, response, _next) => {
          errors.push(error.message);
          response.status(500).end();
        });
      }, async (get) => {
        await get();
        assert.equal((await get()).status, 500);
      });
      assert.equal(errors.length, 1);
    }
  });

  it('may stand before one route, several times', () => withServer((app) => {
    app.use(rateLimit({ limit: 100 }));
    app.get('/login', rateLimit({ limit: 1, name: 'login' }),
            (_, response) => response.send('in'));
  }, async (get) => {
    const first = await get({}, '/login');
    assert.equal(first.headers.get('ratelimit'),
                 '"100/1m:*";r=99;t=1, "login:*";r=0;t=60');
    assert.equal(first.headers.get('ratelimit-policy'),
                 '"100/1m:*";q=100;w=60, "login:*";q=1;w=60');
    assert.equal((await get({}, '/login')).status, 429);
    assert.equal((await get()).status, 200);
  }));

  it('forgets a client when it is told to', async () => {
    for (const limit of [1, () => 1]) {
      const middleware = rateLimit({ limit });
      await withServer((app) => app.use(middleware), async (get) => {
        await get();
        assert.equal((await get()).status, 429);
        await middleware.resetKey('::ffff:127.0.0.1');
        assert.equal((await get()).status, 200);
      });
    }
    const limits = 'schema: {a: {limits: 1/second}}';
    await assert.rejects(
      rateLimit({ limits, path: () => ['a'] }).resetKey('x'),
      { code: 'LIMITREE_INVALID_CONFIG' });
  });

  it('closes what it has made', async () => {
    const limiter = new Limiter({ limits: 'schema: {a: {limits: 1/second}}' });
    const given = rateLimit({ limiter, path: () => ['a'] });
    await given.close();
    assert.equal(given.limiter, limiter);
    assert.equal(limiter.closed, false);
    const made = rateLimit({ limit: 1 });
    await made.close();
    assert.equal(made.limiter.closed, true);
    await withServer((app) => app.use(made), async (get) => {
      assert.equal((await get()).status, 500);
    });
  });

  it('says nothing where another has answered', () => withServer((app) => {
    app.use((_request, response, next) => {
      response.send('already');
      next();
    });
    app.use(rateLimit({ limit: 1, keyGenerator: async () => 'all' }));
  }, async (get) => {
    for (let i = 0; i < 3; ++i) {
      assert.equal(await (await get()).text(), 'already');
    }
  }));

  it('works with Express 4', () => withServer(
    (app) => app.use(rateLimit({ limit: 1, keyGenerator: async () => 'all' })),
    async (get) => {
      assert.equal((await get()).status, 200);
      const denied = await get();
      assert.equal(denied.status, 429);
      assert.equal((await denied.json()).status, 429);
    }, express4));

  it('passes errors on with Express 4', () => withServer((app) => {
    app.use(rateLimit({ limit: 1, keyGenerator: async () => undefined }));
    app.use((error, _request, response, _next) =>
      response.status(error.status ?? 500).send(error.code));
  }, async (get) => {
    const answer = await get();
    assert.equal(answer.status, 500);
    assert.equal(await answer.text(), 'LIMITREE_INVALID_ARGUMENT');
  }, express4));
});

describe('the address of a client', () => {
  const FORWARDED = { 'X-Forwarded-For': '1.1.1.1, 2001:db8:1:2:3::7' };

  it('is what Express says', () => withServer((app) => {
    app.set('trust proxy', 1);
    app.use(rateLimit({ limit: 1 }));
  }, async (get) => {
    assert.equal(await (await get(FORWARDED)).text(), '2001:db8:1:2:3::7');
    const near = { 'X-Forwarded-For': '[2001:db8:1:2:4::8]:99' };
    assert.equal((await get(near)).status, 429);
    assert.equal((await get({ 'X-Forwarded-For': '2001:db8:1:3::' })).status,
                 200);
    assert.equal((await get({ 'X-Forwarded-For': 'unknown' })).status, 500);
  }));

  it('counts as many bits as it is told', () => withServer((app) => {
    app.set('trust proxy', 1);
    app.use('/net', rateLimit({ limit: 1, ipv6Subnet: 32 }));
    app.use('/one', rateLimit({ limit: 1, ipv6Subnet: false }));
    app.get(['/net', '/one'], (_, response) => response.send('ok'));
  }, async (get) => {
    const from = async (path, address) =>
      (await get({ 'X-Forwarded-For': address }, path)).status;
    assert.equal(await from('/net', '2001:db8::1'), 200);
    assert.equal(await from('/net', '2001:db8:ffff::1'), 429);
    assert.equal(await from('/one', '2001:db8::1'), 200);
    assert.equal(await from('/one', '2001:db8::2'), 200);
    assert.equal(await from('/one', '2001:0db8::0002'), 429);
  }));

  it('is refused where there is none', async () => {
    const errors = [];
    await withServer((app) => {
      app.use((request, _response, next) => {
        Object.defineProperty(request, 'ip', { value: undefined });
        next();
      });
      app.use(rateLimit({ limit: 1 }));
      app.use((error, _request, response, _next) => {
        errors.push(error);
        response.status(500).end();
      });
    }, async (get) => assert.equal((await get()).status, 500));
    assert.equal(errors[0].code, 'LIMITREE_INVALID_ARGUMENT');
    assert.match(errors[0].message, /the address of the client is unknown/);
  });
});

describe('warnings', () => {
  const warnings = (build, headers = {}, count = 2, path = '/') =>
    warningsOf(() => withServer(build, async (get) => {
      for (let i = 0; i < count; ++i) await (await get(headers, path)).text();
    }));
  const FORWARDED = { 'X-Forwarded-For': '1.1.1.1' };

  it('tell of a proxy that is trusted blindly', async () => {
    const build = (options) => (app) => {
      app.set('trust proxy', true);
      app.use(rateLimit({ limit: 100, ...options }));
    };
    const code = ['LIMITREE_PERMISSIVE_TRUST_PROXY'];
    assert.deepEqual(await warnings(build()), code);
    assert.deepEqual(await warnings(build({ validate: false })), []);
    assert.deepEqual(
      await warnings(build({ validate: { trustProxy: false } })), []);
    // If the key is not the address, a made-up address does not help.
    assert.deepEqual(
      await warnings(build({ keyGenerator: () => 'all' })), []);
    assert.deepEqual(
      await warnings(build({ keyGenerator: (request) => request.ip })), code);
  });

  it('come once, however many middlewares there are', async () => {
    assert.deepEqual(await warnings((app) => {
      app.set('trust proxy', true);
      for (let i = 0; i < 5; ++i) app.use(rateLimit({ limit: 100 }));
    }), ['LIMITREE_PERMISSIVE_TRUST_PROXY']);
  });

  it('tell of one that is not trusted', async () => {
    const build = (app) => app.use(rateLimit({ limit: 100 }));
    assert.deepEqual(await warnings(build, FORWARDED),
                     ['LIMITREE_UNTRUSTED_X_FORWARDED_FOR']);
    assert.deepEqual(await warnings(build, { Forwarded: 'for=1.1.1.1' }),
                     ['LIMITREE_UNTRUSTED_FORWARDED']);
    assert.deepEqual(await warnings((app) => {
      app.set('trust proxy', 'loopback');
      build(app);
    }, FORWARDED), []);
    const limits = readFileSync('examples/web/limits.yaml', 'utf8');
    const path = (request) => ['ip', request.ip];
    assert.deepEqual(
      await warnings((app) => app.use(rateLimit({ limits, path })), FORWARDED),
      ['LIMITREE_UNTRUSTED_X_FORWARDED_FOR']);
  });

  it('tell of whole IPv6 addresses as keys', async () => {
    const build = (app) => {
      app.set('trust proxy', 1);
      app.use(rateLimit({ limit: 9, keyGenerator: (request) => request.ip }));
    };
    assert.deepEqual(await warnings(build, { 'X-Forwarded-For': '2001:db8::' }),
                     ['LIMITREE_IPV6_KEY']);
    assert.deepEqual(await warnings(build, FORWARDED), []);
  });

  it('tell of a middleware that is used twice', async () => {
    const middleware = rateLimit({ limit: 100 });
    assert.deepEqual(await warnings((app) => {
      app.use(middleware);
      app.use(middleware);
    }), ['LIMITREE_COUNTED_TWICE']);
  });

  it('tell of one that is made for each request', async () => {
    const build = (options) => (app) => {
      app.get('/new', (request, response, next) => {
        rateLimit({ limit: 1, ...options })(request, response, next);
      }, (_, response) => response.send('ok'));
    };
    assert.deepEqual(await warnings(build(), {}, 5, '/new'),
                     ['LIMITREE_CREATED_PER_REQUEST']);
    assert.deepEqual(
      await warnings(build({ validate: { creationStack: false } }), {}, 1,
                     '/new'), []);
    assert.deepEqual(await warnings((app) => app.use(rateLimit({ limit: 1 }))),
                     []);
  });

  it('are for the first requests only', async () => {
    const build = (app) => app.use(rateLimit({ limit: 1000 }));
    assert.deepEqual(await warningsOf(() => withServer(build, async (get) => {
      for (let i = 0; i < 100; ++i) await (await get()).text();
      await (await get(FORWARDED)).text();
    })), []);
  });
});
