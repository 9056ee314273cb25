// The features that only the plugin for Fastify has, over real HTTP.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import fastify from 'fastify';

import { ConfigError, Limiter } from 'limitree';
import limitree, { limitree as named } from 'limitree/fastify';

import { warningsOf } from './web_apps.mjs';

const HOUR = 3_600_000;

/** Runs `use(get)` while an app that `build` has set up serves requests. */
async function withApp(build, use, options = {}) {
  const app = fastify(options);
  try {
    await build(app);
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    await use(async (path, init) => {
      const answer = await fetch(url + path, init);
      return { status: answer.status, headers: answer.headers,
               text: await answer.text() };
    }, app);
  } finally {
    app.server.closeAllConnections();
    await app.close();
  }
}

const hello = async () => 'hello';
const policyOf = ({ headers }) => headers.get('ratelimit-policy');

async function statuses(get, path, count) {
  const found = [];
  for (let i = 0; i < count; ++i) found.push((await get(path)).status);
  return found;
}

describe('the plugin', () => {
  it('has two names', () => assert.equal(named, limitree));

  it('limits routes by themselves', () => withApp(async (app) => {
    await app.register(limitree, { limit: 10, timeWindow: HOUR });
    app.get('/', hello);
    app.get('/few', { config: { rateLimit: { max: 1 } } }, hello);
    app.post('/few', { config: { rateLimit: { limit: 2, timeWindow: 60_000,
                                              name: 'posts' } } }, hello);
    app.get('/free', { config: { rateLimit: false } }, hello);
    app.get('/dear', { config: { rateLimit: { cost: 4 } } }, hello);
    app.get('/x/:id/*', { config: { rateLimit: { limit: 1 } } }, hello);
  }, async (get) => {
    assert.equal(policyOf(await get('/')), '"10/1h:*";q=10;w=3600');
    const few = await get('/few');
    assert.equal(policyOf(few), '"GET/few:*";q=1;w=3600');
    assert.equal((await get('/few')).status, 429);
    const post = await get('/few', { method: 'POST' });
    assert.equal(policyOf(post), '"posts:*";q=2;w=60');
    assert.equal(policyOf(await get('/free')), null);
    // The cost counts in the limit that all routes share.
    assert.equal((await get('/dear')).headers.get('ratelimit'),
                 '"10/1h:*";r=5;t=360');
    assert.deepEqual(await statuses(get, '/dear', 2), [200, 429]);
    assert.deepEqual(
      [(await get('/x/1/a')).status, (await get('/x/2/b')).status],
      [200, 429]);
  }));

  it('counts HEAD with GET', () => withApp(async (app) => {
    await app.register(limitree, { limit: 10 });
    app.get('/few', { config: { rateLimit: { max: 3 } } }, hello);
    app.route({ method: ['GET', 'HEAD', 'PUT'], url: '/both',
                config: { rateLimit: { max: 3 } }, handler: hello });
  }, async (get) => {
    for (const path of ['/few', '/both']) {
      const found = [];
      for (const method of ['GET', 'HEAD', 'HEAD', 'GET', 'HEAD']) {
        found.push((await get(path, { method })).status);
      }
      assert.deepEqual(found, [200, 200, 200, 429, 429]);
    }
    assert.equal(policyOf(await get('/both')), '"GET,PUT/both:*";q=3;w=60');
  }));

  it('lets a route tell clients apart in its own way',
    () => withApp(async (app) => {
      await app.register(limitree, { limit: 9, ipv6Subnet: 48 });
      app.get('/:who', { config: { rateLimit: {
        limit: 1, keyGenerator: (request) => request.params.who } } }, hello);
    }, async (get) => {
      assert.deepEqual(await statuses(get, '/a', 2), [200, 429]);
      assert.deepEqual(await statuses(get, '/b', 2), [200, 429]);
    }));

  it('limits what is no route, and what was there before',
    () => withApp(async (app) => {
      app.get('/early', hello);
      await app.register(limitree, { limit: 3 });
    }, async (get) => {
      assert.equal((await get('/nowhere')).status, 404);
      assert.equal((await get('/early')).headers.get('ratelimit'),
                   '"3/1m:*";r=1;t=20');
      await get('/nowhere');
      assert.equal((await get('/nowhere')).status, 429);
    }));

  it('limits only where it is asked to if it is not global',
    () => withApp(async (app) => {
      await app.register(limitree, { global: false });
      app.get('/', hello);
      app.get('/few', { config: { rateLimit: { limit: 1 } } }, hello);
      app.get('/hook', { onRequest: app.rateLimit({ limit: 1, name: 'h' }) },
              hello);
      app.setNotFoundHandler(
        { preHandler: app.rateLimit({ limit: 1, name: '404' }) },
        (_request, reply) => reply.code(404).send('none'));
    }, async (get) => {
      assert.equal(policyOf(await get('/')), null);
      assert.deepEqual(await statuses(get, '/few', 2), [200, 429]);
      assert.deepEqual(await statuses(get, '/hook', 2), [200, 429]);
      assert.deepEqual(await statuses(get, '/nowhere', 2), [404, 429]);
    }));

  it('keeps to the part of the app that registers it',
    () => withApp(async (app) => {
      await app.register(async (part) => {
        await part.register(limitree, { limit: 1 });
        part.get('/in', hello);
      });
      await app.register(async (part) => {
        await part.register(limitree, { limit: 2, name: 'other' });
        part.get('/other', hello);
      });
      app.get('/out', hello);
    }, async (get) => {
      assert.deepEqual(await statuses(get, '/in', 2), [200, 429]);
      assert.deepEqual(await statuses(get, '/other', 3), [200, 200, 429]);
      assert.deepEqual(await statuses(get, '/out', 3), [200, 200, 200]);
    }));

  it('walks a tree, by the path of a route', async () => {
    const limiter = new Limiter({ limits: { schema: {
      user: { children: { '*': {
        limits: { burst: 9, count: 9, period: '1h' },
        children: { trade: { limits: { burst: 1, count: 1, period: '1h' } } },
      } } } } } });
    await withApp(async (app) => {
      await app.register(limitree, {
        limiter, path: (request) => ['user', request.query.user] });
      app.get('/', hello);
      app.get('/trade', { config: { rateLimit: {
        path: (request) => ['user', request.query.user, 'trade'] } } }, hello);
    }, async (get) => {
      assert.deepEqual(await statuses(get, '/trade?user=a', 2), [200, 429]);
      assert.equal((await get('/?user=a')).headers.get('ratelimit'),
                   '"user:*";r=7;t=400');
      const { status, text } = await get('/');
      assert.equal(status, 500);
      assert.match(text, /path\[1\] must be a string, is undefined/);
    });
    assert.equal(limiter.closed, false);
    await limiter.close();
  });

  it('decides in the hook that it is told', async () => {
    for (const hook of ['onRequest', 'preParsing', 'preValidation',
                        'preHandler']) {
      await withApp(async (app) => {
        await app.register(limitree, {
          hook, limit: 1,
          keyGenerator: (request) => `${request.user} ${request.body?.to}` });
        const login = (user) => async (request) => { request.user = user; };
        app.addHook('onRequest', login('early'));
        app.addHook('preHandler', login('late'));
        app.post('/', async (request) => request.rateLimit.path);
        app.post('/own', { config: { rateLimit: { limit: 1 } },
                           preHandler: async () => {} }, hello);
      }, async (get) => {
        const init = { method: 'POST', body: '{"to": "bob"}',
                       headers: { 'Content-Type': 'application/json' } };
        // It runs after all other hooks of its kind, whenever they were added.
        const expected = { onRequest: 'early undefined',
                           preParsing: 'early undefined',
                           preValidation: 'early bob',
                           preHandler: 'late bob' }[hook];
        assert.equal(JSON.parse((await get('/', init)).text)[1], expected);
        assert.equal((await get('/', init)).status, 429);
        assert.equal((await get('/own', init)).status, 200);
        assert.equal((await get('/own', init)).status, 429);
      });
    }
  });

  it('knows what the hooks of a route have found out',
    () => withApp(async (app) => {
      await app.register(limitree, {
        hook: 'preHandler', limit: 5,
        keyGenerator: (request) => request.who ?? 'nobody' });
      const who = (name) => async (request) => { request.who = name; };
      const path = async (request) => request.rateLimit.path[1];
      app.get('/one', { preHandler: who('one') }, path);
      app.get('/own', { preHandler: [who('no'), who('own')],
                        config: { rateLimit: { limit: 1 } } }, path);
    }, async (get) => {
      assert.equal((await get('/one')).text, 'one');
      assert.equal((await get('/own')).text, 'own');
      assert.equal((await get('/own')).status, 429);
    }));

  it('hands the key to a function for the limit', async () => {
    const limit = (request, key) => {
      assert.equal(request.url, '/');
      return key === 'pro' ? 2 : 1;
    };
    const keyGenerator = ({ headers }) => headers.key;
    for (const [options, rateLimit] of [
      [{ max: limit, keyGenerator }],
      [{ limit: async (...both) => limit(...both),
         keyGenerator: async ({ headers }) => headers.key }],
      [{ global: false }, { max: limit, keyGenerator }],
    ]) {
      await withApp(async (app) => {
        await app.register(limitree, options);
        app.get('/', { config: { rateLimit } }, hello);
      }, async (get) => {
        const as = async (key) =>
          (await get('/', { headers: { key } })).status;
        assert.deepEqual([await as('pro'), await as('pro'), await as('pro')],
                         [200, 200, 429]);
        assert.deepEqual([await as('poor'), await as('poor')], [200, 429]);
      });
    }
  });

  it('counts a request once, whatever hooks it meets',
    () => withApp(async (app) => {
      await app.register(limitree, { max: 9, timeWindow: HOUR });
      app.setNotFoundHandler({ preHandler: app.rateLimit() }, (_, reply) =>
        reply.code(404).send('none'));
      app.get('/', hello);
      app.get('/twice', { onRequest: [app.rateLimit(), app.rateLimit()] },
              hello);
      app.get('/gone', (_, reply) => reply.callNotFound());
      app.get('/same', { onRequest: app.rateLimit({ max: 9 }) }, hello);
      app.get('/other', { onRequest: [app.rateLimit({ max: 5 }),
                                      app.rateLimit()] }, hello);
    }, async (get) => {
      const left = async (path) =>
        (await get(path)).headers.get('ratelimit').match(/r=\d+/g).join();
      assert.equal(await left('/'), 'r=8');
      assert.equal(await left('/nowhere'), 'r=7');
      assert.equal(await left('/twice'), 'r=6');
      assert.equal(await left('/gone'), 'r=5');
      assert.equal(await left('/same'), 'r=4');
      assert.equal(await left('/other'), 'r=4,r=3');
    }));

  it('warns of a route from before, and limits it as all', async () => {
    const codes = await warningsOf(() => withApp(async (app) => {
      app.get('/early', { config: { rateLimit: { max: 1 } } }, hello);
      app.get('/free', { config: { rateLimit: false } }, hello);
      await app.register(limitree, { max: 2 });
    }, async (get) => {
      assert.deepEqual(await statuses(get, '/free', 3), [200, 200, 200]);
      assert.deepEqual(await statuses(get, '/early', 3), [200, 200, 429]);
    }));
    assert.deepEqual(codes, ['LIMITREE_ROUTE_BEFORE_PLUGIN']);
  });

  it('adds headers where a handler writes for itself',
    () => withApp(async (app) => {
      await app.register(limitree, { limit: 5 });
      app.get('/', (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'Content-Type': 'text/event-stream' });
        reply.raw.end('data: 1\n\n');
      });
    }, async (get) => {
      const answer = await get('/');
      assert.equal(answer.text, 'data: 1\n\n');
      assert.equal(policyOf(answer), '"5/1m:*";q=5;w=60');
    }));

  it('can be tried without a network', async () => {
    const app = fastify();
    await app.register(limitree, { limit: 2, skipFailedRequests: true });
    app.get('/', hello);
    app.get('/fail', async () => { throw new Error('no'); });
    const first = await app.inject('/');
    assert.equal(first.headers.ratelimit, '"2/1m:*";r=1;t=30');
    assert.equal((await app.inject('/fail')).statusCode, 500);
    await sleep(10);
    assert.equal((await app.inject('/')).statusCode, 200);
    assert.equal((await app.inject('/')).statusCode, 429);
    await app.close();
  });

  it('hands denials to a handler, and what it throws on', async () => {
    await withApp(async (app) => {
      await app.register(limitree, {
        limit: 1, handler(request, reply, info) {
          reply.code(420).send({ wait: info.decision.retryAfterMs > 0,
                                 same: info === request.rateLimit });
        } });
      app.get('/', hello);
      app.get('/throws', { config: { rateLimit: {
        limit: 1, handler: async () => { throw new Error('in it'); } } } },
              hello);
    }, async (get) => {
      await get('/');
      const denied = await get('/');
      assert.equal(denied.status, 420);
      assert.deepEqual(JSON.parse(denied.text), { wait: true, same: true });
      assert.deepEqual(await statuses(get, '/throws', 2), [200, 500]);
    });
  });

  it('has its error of the store handled by the app', () => withApp(
    async (app) => {
      await app.register(limitree, {
        limit: 1, store: 'redis+unix:///nowhere/redis.sock',
        onStoreError: 'raise' });
      app.get('/', hello);
      app.setErrorHandler((error, _request, reply) => reply
        .code(error.statusCode).send([error.code, error.cause.code]));
    }, async (get) => {
      const answer = await get('/');
      assert.equal(answer.status, 503);
      assert.deepEqual(JSON.parse(answer.text), [
        'LIMITREE_STORE_UNAVAILABLE', 'LIMITREE_STORE_UNAVAILABLE']);
    }));

  it('closes its limiter with the app', async () => {
    const app = fastify();
    await app.register(limitree, { limits: 'schema: {a: {limits: [0, 1, 9]}}',
                                   path: () => ['a'] });
    const hook = app.rateLimit();
    await app.ready();
    await app.close();
    const error = await new Promise((done) => hook({}, {}, done));
    assert.equal(error.code, 'LIMITREE_CANCELLED');
  });

  it('says at the start what is wrong', async () => {
    const limits = 'schema: {a: {limits: [0, 1, 9]}}';
    const path = () => ['a'];
    for (const [options, route, message] of [
      [{ limit: 1, hook: 'onSend' }, undefined, /hook must be one of/],
      [{}, undefined, /there are no limits/],
      [{ global: false, store: 'nosuch://x' }, { limit: 1 }, /store: must be/],
      [{ global: false }, { cost: 2 }, /there are no limits/],
      [{ limit: 1, redis: {} }, undefined, /no option redis: .*store/],
      [{ limit: 1 }, true, /config.rateLimit of GET\/ must be/],
      [{ limit: 1 }, { max: 0 }, /greater than 0/],
      [{ limit: 1 }, { maximum: 5 }, /no option maximum/],
      [{ limit: 1 }, { store: 'memory://' }, /store cannot be given for a/],
      [{ limit: 1 }, { path }, /path leads through a tree/],
      [{ limits, path }, { limit: 1 }, /give path/],
      [{ limit: 1, name: 'x' }, { limit: 2, name: 'x' }, /two different/],
    ]) {
      const app = fastify();
      await assert.rejects(async () => {
        await app.register(limitree, options);
        app.get('/', { config: { rateLimit: route } }, hello);
        await app.ready();
      }, (error) => {
        assert.ok(error instanceof ConfigError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
  });

  it('takes no limit while it serves', () => withApp(async (app) => {
    await app.register(limitree, { limit: 5 });
    app.get('/', hello);
  }, async (_get, app) => {
    assert.throws(() => app.rateLimit({ limit: 1 }), /comes too late/);
  }));
});
