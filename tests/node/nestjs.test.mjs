// The module, the guard and the decorators for NestJS, on both platforms.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import {
  Catch, Get, HttpException, Inject, Injectable, Module,
} from '@nestjs/common';
import { APP_FILTER, BaseExceptionFilter, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

import { ConfigError, Limiter } from 'limitree';
import {
  Limit, LimitException, LimitGuard, LimitModule, LimitService, SkipLimit,
} from 'limitree/nestjs';

import {
  addMethod, controllerOf, moduleOf, serving, statuses,
} from './nest_apps.mjs';

const hourly = (limit, more) => ({ limit, windowMs: '1h', ...more });
const quiet = { validate: false, logger: { warn() {} } };

const ADAPTERS = {
  Express: () => new ExpressAdapter(), Fastify: () => new FastifyAdapter() };

for (const [platform, adapterOf] of Object.entries(ADAPTERS)) {
  /** An app with these options, and `Cats` and `Dogs` with routes of theirs. */
  const withApp = (options, classes, use, more) => serving(
    moduleOf(classes, [LimitModule.forRoot(options)], ...more ?? []),
    adapterOf(), use);

  describe(platform, () => {
    it('limits each method for itself', async () => {
      const cats = controllerOf('cats', { one: [], two: [] });
      const dogs = controllerOf('dogs', { one: [] });
      await withApp(hourly(2), [cats, dogs], async (get) => {
        assert.deepEqual(await statuses(get, '/cats/one', 3), [200, 200, 429]);
        assert.deepEqual(await statuses(get, '/cats/two', 1), [200]);
        const answer = await get('/dogs/one');
        assert.deepEqual(answer.json, { left: 1 });
        assert.equal(answer.headers.get('ratelimit-policy'),
                     '"dogs.one:*";q=2;w=3600');
      });
    });

    it('answers a denial', async () => {
      const cats = controllerOf('cats', { one: [] });
      await withApp(hourly(1), [cats], async (get) => {
        await get('/cats/one');
        const denied = await get('/cats/one');
        assert.equal(denied.status, 429);
        assert.match(denied.headers.get('content-type'),
                     /^application\/problem\+json/);
        assert.equal(denied.headers.get('cache-control'), 'no-store');
        assert.equal(denied.headers.get('retry-after'), '3600');
        assert.deepEqual(denied.json['violated-policies'], ['cats.one:*']);
      });
    });

    it('takes limits of a method for those of its class', async () => {
      const cats = controllerOf('cats', {
        one: [], two: [Limit({ limit: 3 })], three: [SkipLimit()],
        four: [Limit({ other: hourly(1) })],
      }, Limit(hourly(2)));
      const dogs = controllerOf('dogs', {
        one: [], two: [SkipLimit({ default: false })] }, SkipLimit());
      await withApp(hourly(1), [cats, dogs], async (get) => {
        assert.deepEqual(await statuses(get, '/cats/one', 3), [200, 200, 429]);
        assert.deepEqual(await statuses(get, '/cats/two', 4),
                         [200, 200, 200, 429]);
        assert.deepEqual(await statuses(get, '/cats/three', 4),
                         [200, 200, 200, 200]);
        const both = await get('/cats/four');
        assert.equal(both.headers.get('ratelimit-policy'),
                     '"cats.four:*";q=2;w=3600, ' +
                     '"cats.four-other:*";q=1;w=3600');
        assert.equal((await get('/cats/four')).status, 429);
        assert.deepEqual(await statuses(get, '/dogs/one', 2), [200, 200]);
        assert.deepEqual(await statuses(get, '/dogs/two', 2), [200, 429]);
      });
    });

    it('has several limits for all, and what they have in common', async () => {
      const cats = controllerOf('cats', {
        one: [], two: [SkipLimit({ app: true })],
        three: [Limit({ short: { limit: 1 } })] });
      await withApp({
        message: 'slow down', statusCode: 503, throttlers: [
          { name: 'app', max: 4, ttl: '1h', perRoute: false },
          { name: 'short', limit: 2, ttl: 3_600_000 }],
      }, [cats], async (get) => {
        const first = await get('/cats/one');
        assert.equal(first.headers.get('ratelimit-policy'),
                     '"app:*";q=4;w=3600, "cats.one-short:*";q=2;w=3600');
        assert.deepEqual(await statuses(get, '/cats/one', 2), [200, 503]);
        assert.deepEqual(await statuses(get, '/cats/three', 2), [200, 503]);
        const denied = await get('/cats/one');
        assert.deepEqual(denied.json,
                         { statusCode: 503, message: 'slow down' });
        // What one denies costs nothing in the other: three were charged.
        assert.match(denied.headers.get('ratelimit'), /"app:\*";r=1;/);
        assert.deepEqual(await statuses(get, '/cats/two', 3), [200, 200, 503]);
      });
    });

    it('follows paths of a tree', async () => {
      const limits = { schema: { user: { children: { '*': {
        limits: '3/hour', children: { trade: { limits: '1/hour' } } } } } } };
      const user = ({ headers }) => headers['x-user'];
      const limiter = new Limiter({ limits });
      for (const options of [{ limits }, { limiter }]) {
        const cats = controllerOf('cats', {
          one: [Limit({ path: (request) => ['user', user(request)] })],
          two: [Limit([
            { path: (request) => ['user', user(request), 'trade'] },
            { name: 'plain', ...hourly(5), keyGenerator: user }])] });
        await withApp(options, [cats], async (get) => {
          const headers = { 'x-user': 'alex' };
          assert.deepEqual(await statuses(get, '/cats/two', 2, { headers }),
                           [200, 429]);
          assert.deepEqual(await statuses(get, '/cats/one', 3, { headers }),
                           [200, 200, 429]);
        });
      }
      assert.equal((await limiter.peek(['user', 'alex'])).remaining, 0);
      await limiter.close();
    });

    it('gives options to functions', async () => {
      const seen = [];
      const cats = controllerOf('cats', { one: [] });
      await withApp({
        ...quiet, cost: 2, windowMs: '1h', algorithm: 'fixed_window',
        limit: async ({ headers }) => headers['x-paying'] ? 8 : 4,
        keyGenerator: ({ headers }) => headers['x-user'] ?? 'none',
        skip: ({ headers }) => headers['x-staff'] !== undefined,
        onExceeded: (request, response, info) => seen.push(info.key),
      }, [cats], async (get) => {
        const as = (headers) => ({ headers: { 'x-user': 'alex', ...headers } });
        assert.deepEqual(await statuses(get, '/cats/one', 3, as({})),
                         [200, 200, 429]);
        assert.deepEqual(await statuses(get, '/cats/one', 2,
                                        as({ 'x-paying': '1' })), [200, 200]);
        assert.deepEqual((await get('/cats/one', as({ 'x-staff': '1' }))).json,
                         { left: null });
        assert.deepEqual(seen, ['alex']);
      });
    });

    it('throws what a program wants', async () => {
      class Filter extends BaseExceptionFilter {
        catch(exception, host) {
          host.switchToHttp().getResponse().header('x-limit',
            String(exception.info?.limit));
          super.catch(exception, host);
        }
      }
      Catch(LimitException)(Filter);
      const cats = controllerOf('cats', {
        one: [Limit(hourly(1))],
        two: [Limit(hourly(1, {
          handler: (request, response, info) =>
            new HttpException({ own: info.limit }, 420) }))],
        three: [Limit(hourly(1, {
          handler() { throw new HttpException('thrown', 421); } }))] });
      await withApp({}, [cats], async (get) => {
        for (const path of ['one', 'two', 'three']) await get(`/cats/${path}`);
        assert.equal((await get('/cats/one')).headers.get('x-limit'), '1');
        const own = await get('/cats/two');
        assert.deepEqual([own.status, own.json], [420, { own: 1 }]);
        assert.equal((await get('/cats/three')).status, 421);
      }, [LimitGuard, [{ provide: APP_FILTER, useClass: Filter }]]);
    });

    it('has guards that differ', async () => {
      class OwnGuard extends LimitGuard {
        async shouldSkip(context) {
          return context.switchToHttp().getRequest().headers['x-skip'] === '1';
        }

        async throwThrottlingException(_context, info, exception) {
          throw new HttpException(
            `${info.limit} ${exception.getStatus()}`, 418);
        }
      }
      const cats = controllerOf('cats', { one: [] });
      await withApp(hourly(1), [cats], async (get) => {
        await get('/cats/one');
        const denied = await get('/cats/one');
        assert.deepEqual([denied.status, denied.json.message], [418, '1 429']);
        assert.equal((await get('/cats/one', {
          headers: { 'x-skip': '1' } })).status, 200);
      }, [OwnGuard]);
    });

    it('gives back what failed', async () => {
      const failing = addMethod(controllerOf('cats', {}), 'one', () => {
        throw new HttpException('no', 400);
      }, [Get('one')]);
      await withApp(hourly(1, { skipFailedRequests: true }), [failing],
        async (get) => {
          assert.deepEqual(await statuses(get, '/cats/one', 3),
                           [400, 400, 400]);
        });
    });

    it('is asked and reset by whoever injects it', async () => {
      const cats = controllerOf('cats', { one: [], two: [SkipLimit()] });
      await withApp(hourly(2), [cats], async (get, app) => {
        const service = app.get(LimitService);
        const keys = service.keysOf(cats, 'one');
        assert.equal(await keys.getKey('127.0.0.1'), undefined);
        await statuses(get, '/cats/one', 2);
        assert.equal((await keys.getKey('127.0.0.1')).used, 2);
        await keys.resetKey('127.0.0.1');
        assert.equal((await get('/cats/one')).status, 200);
        assert.throws(() => service.keysOf(cats, 'three'), /no method three/);
        assert.throws(() => service.keysOf(cats, 'two'),
                      /cats.two has no limit with the name default/);
      });
    });

    it('answers 503 if the store fails and that is an error', async () => {
      const cats = controllerOf('cats', { one: [] });
      await withApp(hourly(1, { ...quiet, onStoreError: 'raise',
        store: 'redis+unix:///nowhere/redis.sock' }), [cats], async (get) => {
        const answer = await get('/cats/one');
        assert.equal(answer.status, 503);
        assert.equal(answer.headers.get('retry-after'), '1');
        assert.doesNotMatch(answer.text, /nowhere/);
      });
    });
  });
}

describe('the options', () => {
  const get = async (module, more) => {
    const cats = controllerOf('cats', { one: [] });
    await serving(moduleOf([cats], [module], LimitGuard, more),
      new ExpressAdapter(), async (ask) => {
        assert.deepEqual(await statuses(ask, '/cats/one', 2), [200, 429]);
      });
  };

  it('may come from other providers', async () => {
    class Config {
      limit = 1;
    }
    Injectable()(Config);
    class ConfigModule {}
    Module({ providers: [Config], exports: [Config] })(ConfigModule);
    class Options {
      constructor(config) { this.config = config; }

      async createLimitOptions() {
        return hourly(this.config.limit);
      }
    }
    Injectable()(Options);
    Inject(Config)(Options, undefined, 0);
    class OptionsModule {}
    Module({ imports: [ConfigModule], providers: [Options],
             exports: [Options] })(OptionsModule);
    await get(LimitModule.forRootAsync({
      imports: [ConfigModule], inject: [Config],
      useFactory: async (config) => hourly(config.limit) }));
    await get(LimitModule.forRootAsync({
      imports: [ConfigModule], useClass: Options }));
    await get(LimitModule.forRootAsync({
      imports: [OptionsModule], useExisting: Options }));
    assert.throws(() => LimitModule.forRootAsync({}),
                  /forRootAsync needs useFactory, useClass or useExisting/);
  });

  it('are checked when an app begins, or before', async () => {
    const begin = (options, routes = {}) => NestFactory.create(
      moduleOf([controllerOf('cats', routes)], [LimitModule.forRoot(options)]),
      { logger: false, abortOnError: false }).then((app) => app.init());
    for (const [options, message] of [
      [{ limt: 1 }, /no option limt, did you mean limit\?/],
      [{ throttlers: 5 }, /throttlers must be an array of limits, is 5/],
      [[hourly(1), hourly(2)], /two limits with the name default/],
      [[{ limit: 1, store: 'shm://a' }], /store cannot be given for a route/],
      [5, /forRoot needs options such as/],
      [hourly(1, { name: 'a*' }), /name must be a text without \*/],
      [hourly(1, { perRoute: 'no' }), /perRoute must be true or false/],
      [hourly('1'), /limit must be a whole number .*, is the text "1"/],
      [[{ limit: 1, ttl: 0.5 }], /windowMs must be a whole number/],
      [{ path: () => ['a'] }, /give the module limiter or limits/],
      [{ limiter: {}, limits: 'schema: {a: {limits: 1/s}}' },
       /limiter has its limits: limits cannot be given as well/],
    ]) await assert.rejects(begin(options), message);
    await assert.rejects(begin({}, { one: [Limit({ limit: 0 })] }),
                         /limit must be a whole number greater than 0/);
    await assert.rejects(begin({}, { one: [Limit({ message: 'no' })] }),
                         /there are no limits: give limit/);
    await assert.rejects(begin({}, { one: [Limit({ path: () => ['a'] })] }),
                         /give the module limiter or limits/);
    assert.throws(() => Limit({ limt: 1 }), ConfigError);
    assert.throws(() => Limit({ limit: 1, timeout: 5 }),
                  /timeout cannot be given for a route: give it to the module/);
    assert.throws(() => Limit(5), /@Limit needs limits such as/);
    assert.throws(() => Limit({ short: { limt: 1 } }), /did you mean limit/);
  });
});

it('skips no limit that has the name of a method of objects', async () => {
  const cats = controllerOf('cats', { one: [SkipLimit({ other: true })] });
  const limits = [hourly(1, { name: 'toString' })];
  await serving(moduleOf([cats], [LimitModule.forRoot(limits)]),
                new ExpressAdapter(), async (get) =>
    assert.deepEqual(await statuses(get, '/cats/one', 2), [200, 429]));
});

it('classes of the same name count for themselves', async () => {
  const [one, two] = ['a', 'b'].map((path) =>
    ({ Cats: controllerOf(path, { one: [] }) }).Cats);
  for (const owner of [one, two]) {
    Object.defineProperty(owner, 'name', { value: 'Cats' });
  }
  await serving(moduleOf([one, two], [LimitModule.forRoot(hourly(1))]),
    new ExpressAdapter(), async (get) => {
      assert.deepEqual(await statuses(get, '/a/one', 2), [200, 429]);
      const other = await get('/b/one');
      assert.equal(other.status, 200);
      assert.match(other.headers.get('ratelimit'), /^"Cats.one~2:\*"/);
    });
});
