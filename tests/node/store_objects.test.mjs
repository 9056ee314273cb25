// Limits that have one object as their store: each counts for itself.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { FastifyAdapter } from '@nestjs/platform-fastify';
import { MemoryStore } from 'express-rate-limit';
import fastify from 'fastify';

import { rateLimit } from 'limitree/express';
import limitree from 'limitree/fastify';
import { Limit, LimitModule } from 'limitree/nestjs';

import { controllerOf, moduleOf, serving, statuses } from './nest_apps.mjs';

const HOUR = 3_600_000;
const INVALID = { code: 'LIMITREE_INVALID_CONFIG' };

const refused = (make, message) =>
  assert.throws(make, { ...INVALID, message });

describe('an object as store', () => {
  it('counts routes of Fastify separately', async () => {
    const store = new MemoryStore();
    const app = fastify();
    await app.register(limitree, { limit: 9, windowMs: HOUR, store });
    app.get('/', async () => 'hello');
    const own = { config: { rateLimit: { limit: 2 } } };
    app.post('/login', own, async () => 'in');
    const statusOf = async (method, url) =>
      (await app.inject({ method, url })).statusCode;
    for (let i = 0; i < 3; ++i) await statusOf('GET', '/');
    const found = [];
    for (let i = 0; i < 3; ++i) found.push(await statusOf('POST', '/login'));
    assert.deepEqual(found, [200, 200, 429]);
    assert.equal((await store.get('127.0.0.1')).totalHits, 3);
    assert.equal((await store.get('POST/login:127.0.0.1')).totalHits, 3);
    await app.close();
  });

  it('counts methods of NestJS separately', async () => {
    const store = new MemoryStore();
    const cats = controllerOf(
      'Cats', { one: [], other: [Limit({ limit: 2 })] });
    const main = moduleOf([cats], [
      LimitModule.forRoot({ limit: 1, windowMs: HOUR, store })]);
    await serving(main, new FastifyAdapter(), async (get) => {
      assert.deepEqual(await statuses(get, '/Cats/one', 2), [200, 429]);
      assert.deepEqual(await statuses(get, '/Cats/other', 3), [200, 200, 429]);
    });
  });

  it('has one limit without a name', async () => {
    const store = new MemoryStore();
    const options = { limit: 1, windowMs: HOUR, store };
    const one = rateLimit(options);
    refused(() => rateLimit(options), /two limits without a name have one/);
    const login = rateLimit({ ...options, name: 'login' });
    refused(() => rateLimit({ ...options, name: 'api', windowMs: 5 }),
            /here of 3600000 ms: api needs an object of its own/);
    const ip = '10.0.0.1';
    await store.increment(ip);
    assert.equal((await one.getKey(ip)).totalHits, 1);
    assert.equal(await login.getKey(ip), undefined);
    await login.resetKey(ip);
    assert.equal((await one.getKey(ip)).totalHits, 1);
    await one.close();
    await rateLimit(options).close();
    await login.close();
  });

  it('begins and ends once', async () => {
    const calls = [];
    const store = {
      init: ({ windowMs }) => calls.push(windowMs), increment() {},
      decrement() {}, resetKey() {}, shutdown: () => calls.push('end') };
    const names = ['a', 'b'];
    const limits = names.map((name) => rateLimit({ limit: 1, name, store }));
    await limits[0].close();
    await limits[0].close();
    assert.deepEqual(calls, [60_000]);
    await limits[1].close();
    assert.deepEqual(calls, [60_000, 'end']);
  });
});
