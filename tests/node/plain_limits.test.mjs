// Which plain limits count together, and limits that a function returns.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';

import express from 'express';
import fastify from 'fastify';

import { rateLimit } from 'limitree/express';
import limitree from 'limitree/fastify';
import { rateLimit as limitFetch } from 'limitree/fetch';
import { rateLimit as limitHono } from 'limitree/hono';
import { rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';

import { PATIENT, RedisServer } from './servers.mjs';

const HOUR = 3_600_000;

const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
const redis = new RedisServer();
before(() => redis.start());
after(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true });
});

/** The options of each store; `name` keeps the tests apart. */
const STORES = {
  memory: () => ({ store: 'memory://' }),
  shm: (name) => ({ store: `shm://${join(folder, name)}` }),
  redis: (name) => ({ store: redis.url, timeout: PATIENT,
                      prefix: `${name}:` }),
};

/** Serves one route for each of `limits`; `use(statusOf)` gets its answers. */
async function withRoutes(limits, use) {
  const app = express();
  limits.forEach((limit, i) =>
    app.get(`/${i}`, limit, (_, response) => response.send('hello')));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  try {
    await use(async (i, query = '') =>
      (await fetch(`${url}/${i}${query}`)).status);
  } finally {
    server.closeAllConnections();
    server.close();
    await Promise.all(limits.map((limit) => limit.close()));
  }
}

for (const [store, optionsOf] of Object.entries(STORES)) {
  describe(`in ${store}`, () => {
    it('limits of the same name count together', async () => {
      const options = { limit: 2, windowMs: HOUR, name: 'one',
                        ...optionsOf('same') };
      await withRoutes([rateLimit(options), rateLimit(options)],
        async (status) => {
          assert.deepEqual([await status(0), await status(1)], [200, 200]);
          assert.deepEqual([await status(0), await status(1)], [429, 429]);
        });
    });

    it('limits of other names count apart', async () => {
      const options = { limit: 1, windowMs: HOUR, ...optionsOf('other') };
      await withRoutes([rateLimit({ ...options, name: 'a' }),
                        rateLimit({ ...options, name: 'b' }),
                        rateLimit(options)], async (status) => {
        for (let i = 0; i < 3; ++i) assert.equal(await status(i), 200);
        for (let i = 0; i < 3; ++i) assert.equal(await status(i), 429);
      });
    });

    it('limits without a name count apart, or say that they cannot',
      async () => {
        const options = { limit: 1, windowMs: HOUR, ...optionsOf('none') };
        const first = rateLimit(options);
        if (store === 'memory') {
          await withRoutes([first, rateLimit(options)], async (status) => {
            assert.deepEqual([await status(0), await status(1)], [200, 200]);
          });
          return;
        }
        const message =
          /^two limits are called 1\/1h in (shm|redis).*: give each a name/;
        for (const make of [rateLimit, limitKoa]) {
          assert.throws(() => make(options),
                        { code: 'LIMITREE_INVALID_CONFIG', message });
        }
        await assert.rejects(async () => {
          const app = fastify();
          await app.register(limitree, options);
        }, { message });
        rateLimit({ ...options, limit: 2 }).close();
        rateLimit({ ...options, prefix: 'elsewhere:' }).close();
        await first.close();
        await first.close();
        await rateLimit(options).close();
      });

    it('a mistake takes no name', async () => {
      const register = async (options) => {
        const app = fastify();
        await app.register(limitree, options);
        return app;
      };
      for (const [i, wrong] of [{ delayMs: 5 },
                                { standardHeaders: 'draft-9' }].entries()) {
        for (const name of [undefined, 'named']) {
          const options = { limit: 1, windowMs: HOUR, name,
                            ...optionsOf(`mistake${i}`) };
          for (const make of [rateLimit, limitKoa, limitHono, limitHttp,
                              limitFetch, register]) {
            await assert.rejects(async () => make({ ...options, ...wrong }),
                                 { code: 'LIMITREE_INVALID_CONFIG' });
            // Two limits of that name would have to be the same.
            await (await make({ ...options, windowMs: HOUR / 2 })).close();
            await (await make(options)).close();
          }
        }
      }
    });

    it('a client has one bucket, whatever its limit is', async () => {
      const limit = rateLimit({
        limit: async (request) => Number(request.query.limit), windowMs: HOUR,
        ...optionsOf('function') });
      const ask = async (status, limits) => {
        const found = [];
        for (const one of limits) found.push(await status(0, `?limit=${one}`));
        return found.map((one) => one === 200 ? 1 : 0).join('');
      };
      await withRoutes([limit], async (status) => {
        // All is used, whatever the limit is called.
        assert.equal(await ask(status, [2, 2, 2, 3, 3, 4, 1]), '1100000');
        await limit.resetKey('127.0.0.1');
        // Half of one limit is half of another.
        assert.equal(await ask(status, [4, 4, 2, 2, 4, 100]), '111000');
        await limit.resetKey('127.0.0.1');
        assert.equal(await ask(status, [10, 10, 2, 2, 10, 10, 10, 10]),
                     '11101110');
      });
    });
  });
}

it('functions of two middlewares know the limits of each other', async () => {
  const limit = (request) => Number(request.query.limit);
  const options = { limit, windowMs: HOUR, name: 'both' };
  await withRoutes([rateLimit(options), rateLimit(options)],
    async (status) => {
      for (const one of [5, 6, 7]) {
        assert.equal(await status(one % 2, `?limit=${one}`), 200);
      }
      assert.equal(await status(0, '?limit=5'), 200);
      assert.equal(await status(1, '?limit=1'), 429);
    });
});

it('memory is one store, whether it is named or not', async () => {
  const options = { limit: 1, windowMs: HOUR, name: 'default' };
  await withRoutes([rateLimit(options), rateLimit({ ...options,
                                                    store: 'memory://' })],
    async (status) =>
      assert.deepEqual([await status(0), await status(1)], [200, 429]));
});

it('a name is free once its limits are closed', async () => {
  const options = { limit: 1, windowMs: HOUR, name: 'again' };
  const others = [rateLimit(options), rateLimit(options)];
  assert.equal(others[0].limiter, others[1].limiter);
  assert.throws(() => rateLimit({ ...options, limit: 2 }),
                /two different limits with the name again/);
  await others[0].close();
  await others[0].close();
  assert.equal(others[1].limiter.closed, false);
  await others[1].close();
  assert.equal(others[1].limiter.closed, true);
  await withRoutes([rateLimit({ ...options, limit: 2 })], async (status) =>
    assert.deepEqual([await status(0), await status(0), await status(0)],
                     [200, 200, 429]));
});

it('a name is free if its limiter cannot be made', async () => {
  const options = { limit: 7, windowMs: HOUR, store: 'redis://127.0.0.1:1' };
  for (const name of [undefined, 'certified']) {
    const make = (more) => rateLimit({ ...options, name, ...more });
    for (let i = 0; i < 2; ++i) {
      assert.throws(() => make({ tlsCaFile: 'none.pem' }), /tlsCaFile/);
    }
    await make({}).close();
  }
});

it('a route of Fastify with a name counts with others of that name',
  async () => {
    const route = { config: { rateLimit: { limit: 2, name: 'login' } } };
    const apps = [];
    for (let i = 0; i < 2; ++i) {
      const app = fastify();
      await app.register(limitree, { global: false });
      app.get('/', route, async () => 'hello');
      apps.push(app);
    }
    const found = [];
    for (const app of [...apps, ...apps]) {
      found.push((await app.inject('/')).statusCode);
    }
    for (const app of apps) await app.close();
    assert.deepEqual(found, [200, 200, 429, 429]);
  });
