// The features of every framework's middleware, over real HTTP.

import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import { MemoryStore } from 'express-rate-limit';
import { Limiter } from 'limitree';

import { PATIENT, serverFor } from './servers.mjs';
import { STARTS, headerOf, warningsOf } from './web_apps.mjs';

const TREE = { schema: {
  user: { children: { '*': {
    limits: { burst: 5, count: 5, period: '1h' },
    children: { trade: { limits: { burst: 2, count: 2, period: '1h' } } } } } },
  site: { limits: { burst: 3, count: 3, period: '1h' } },
} };

const userOf = (a) => ['user', headerOf(a, 'x-user'), 'trade'];
const as = (user) => ({ headers: { 'x-user': user } });

// Where Express logs the errors that a program does not handle.
mock.method(console, 'error', () => {});

for (const [name, start] of Object.entries(STARTS)) {
  /** Runs a test with an app, and stops it after that. */
  const withApp = (options, run) => async () => {
    const app = await start(options);
    try {
      await run(app);
    } finally {
      await app.stop();
    }
  };

  describe(name, () => {
    it('lets through what is within a limit', withApp({ limit: 3 },
      async (app) => {
        const first = await app.fetch('/hello');
        assert.equal(first.status, 200);
        assert.equal(first.text, 'hello');
        assert.equal(first.headers.get('ratelimit-policy'),
                     '"3/1m:*";q=3;w=60');
        assert.equal(first.headers.get('ratelimit'), '"3/1m:*";r=2;t=20');
        assert.equal(first.headers.get('retry-after'), null);
        assert.deepEqual([app.info.limit, app.info.remaining, app.info.used,
                          app.info.path, app.info.cost],
                         [3, 2, 1, ['3/1m', '127.0.0.1'], 1]);
        const inMs = app.info.resetTime - Date.now();
        assert.ok(inMs > 10_000 && inMs <= 20_000);
        assert.equal(app.info.resetTime, app.info.resetTime);
        assert.deepEqual(JSON.parse(JSON.stringify(app.info)), {
          limit: 3, used: 1, remaining: 2,
          resetTime: app.info.resetTime.toJSON() });

        assert.deepEqual(await app.statuses(3), [200, 200, 429]);
        const denied = await app.fetch('/hello');
        assert.equal(app.ran, 3);
        assert.equal(denied.status, 429);
        assert.equal(denied.type, 'application/problem+json');
        assert.equal(denied.headers.get('cache-control'), 'no-store');
        const seconds = Number(denied.headers.get('retry-after'));
        assert.ok(seconds >= 15 && seconds <= 20);
        assert.equal(denied.headers.get('ratelimit'),
                     `"3/1m:*";r=0;t=${seconds}`);
        assert.deepEqual(denied.json, {
          type: 'https://iana.org/assignments/http-problem-types#quota-' +
            'exceeded',
          title: 'Too Many Requests', status: 429,
          detail: `Try again in ${seconds} s.`,
          'violated-policies': ['3/1m:*'] });
      }));

    it('adds headers to every kind of answer', withApp({ limit: 10 },
      async (app) => {
        for (const [path, status] of [
          ['/hello', 200], ['/stream', 200], ['/status/204', 204],
          ['/status/404', 404], ['/nowhere', 404], ['/fail', 500]]) {
          const answer = await app.fetch(path);
          assert.equal(answer.status, status, path);
          assert.match(answer.headers.get('ratelimit'), /^"10\/1m:\*";r=\d/);
          assert.equal(answer.headers.get('ratelimit-policy'),
                       '"10/1m:*";q=10;w=60');
        }
      }));

    it('answers without a body where there is none', withApp({ limit: 1 },
      async (app) => {
        await app.fetch('/hello');
        const denied = await app.fetch('/hello', { method: 'HEAD' });
        assert.equal(denied.status, 429);
        assert.equal(denied.text, '');
      }));

    it('has the headers that are asked for', async () => {
      for (const [options, found, missing] of [
        [{ standardHeaders: 'draft-7' },
         { ratelimit: 'limit=2, remaining=1, reset=30',
           'ratelimit-policy': '2;w=60' }, ['x-ratelimit-limit']],
        [{ standardHeaders: true },
         { 'ratelimit-limit': '2', 'ratelimit-remaining': '1',
           'ratelimit-reset': '30', 'ratelimit-policy': '2;w=60' },
         ['ratelimit']],
        [{ standardHeaders: false, legacyHeaders: true },
         { 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' },
         ['ratelimit', 'ratelimit-policy']],
        [{ legacyHeaders: true },
         { 'x-ratelimit-limit': '2', ratelimit: '"2/1m:*";r=1;t=30' }, []],
        [{ standardHeaders: false }, {}, ['ratelimit', 'x-ratelimit-limit']],
      ]) {
        await withApp({ limit: 2, ...options }, async (app) => {
          const { headers } = await app.fetch('/hello');
          for (const [header, value] of Object.entries(found)) {
            assert.equal(headers.get(header), value);
          }
          for (const header of missing) {
            assert.equal(headers.get(header), null);
          }
          const reset = headers.get('x-ratelimit-reset');
          if (options.legacyHeaders) {
            const seconds = name === 'fastify' ? Number(reset)
              : Number(reset) - Date.now() / 1000;
            assert.ok(seconds > 20 && seconds <= 31, reset);
          }
        })();
      }
    });

    it('denies nothing in shadow', withApp(
      { limit: 1, shadowMode: true }, async (app) => {
        assert.deepEqual(await app.statuses(3), [200, 200, 200]);
        assert.equal(app.ran, 3);
      }));

    it('walks a tree, all or nothing', async () => {
      const limiter = new Limiter({ limits: TREE });
      await withApp({ limiter, path: userOf }, async (app) => {
        const first = await app.fetch('/hello', as('alex'));
        assert.equal(first.headers.get('ratelimit-policy'),
                     '"user:*";q=5;w=3600, "user:*/trade";q=2;w=3600');
        assert.deepEqual(await app.statuses(3, '/hello', as('alex')),
                         [200, 429, 429]);
        assert.deepEqual(await app.statuses(1, '/hello', as('bob')), [200]);
        const denied = await app.fetch('/hello', as('alex'));
        assert.deepEqual(denied.json['violated-policies'], ['user:*/trade']);
      })();
      assert.equal((await limiter.peek(['user', 'alex'])).remaining, 2);
      assert.equal(limiter.closed, false);
      await limiter.close();
    });

    it('walks several paths as one', withApp(
      { limits: TREE, path: async (a) => [['site'], userOf(a)], cost: () => 2 },
      async (app) => {
        const first = await app.fetch('/hello', as('alex'));
        assert.equal(first.headers.get('ratelimit').split(', ').length, 3);
        assert.deepEqual([app.info.cost, app.info.path],
                         [2, [['site'], ['user', 'alex', 'trade']]]);
        assert.deepEqual(await app.statuses(2, '/hello', as('bob')),
                         [429, 429]);
      }));

    it('tells clients apart as it is told', withApp(
      { limit: 1, keyGenerator: async (a) => headerOf(a, 'x-user') },
      async (app) => {
        assert.deepEqual(await app.statuses(2, '/hello', as('alex')),
                         [200, 429]);
        assert.deepEqual(await app.statuses(1, '/hello', as('bob')), [200]);
        assert.deepEqual(await app.statuses(1), [500]);
        assert.match(app.error.message, /keyGenerator must return/);
      }));

    it('takes half of a character, as JSON may have it', withApp(
      { limit: 1, keyGenerator: (a) =>
        JSON.parse(headerOf(a, 'x-user')) },
      async (app) => {
        assert.deepEqual(await app.statuses(2, '/hello', as('"\\ud83d"')),
                         [200, 429]);
        assert.deepEqual(
          await app.statuses(2, '/hello', as('"\\ud83d\\ude00"')), [200, 429]);
      }));

    for (const [what, more] of Object.entries({
      ban: { ban: 2 }, blocks: { continueExceeding: true },
      backoff: { exponentialBackoff: true },
    })) {
      it(`takes it with ${what}, and forgives`, withApp(
        { limit: 1, windowMs: 3_600_000, keyGenerator: () => 'a\ud83d',
          ...more },
        async (app) => {
          assert.deepEqual(await app.statuses(4), more.ban
            ? [200, 429, 429, 403] : [200, 429, 429, 429]);
          if (app.limit?.resetKey === undefined) return;
          assert.equal((await app.limit.getKey('a\ud83d')).remaining, 0);
          await app.limit.resetKey('a\ud83d');
          assert.deepEqual(await app.statuses(2), [200, 429]);
        }));
    }

    it('takes it in paths of a tree', async () => {
      for (const path of [['user', '\ud83d'],
                          [['site'], { path: ['user', '\ud83d'], cost: 3 }]]) {
        await withApp({ limits: TREE, path: () => path }, async (app) => {
          const found = await app.statuses(6);
          assert.deepEqual(found.map((one) => one === 429 ? 1 : 0).join(''),
                           path.length === 2 && path[0] === 'user'
                             ? '000001' : '011111', String(found));
        })();
      }
    });

    it('may have another limit for everyone', withApp(
      { limit: async (a) => Number(headerOf(a, 'x-user')),
        keyGenerator: (a) => headerOf(a, 'x-user'), windowMs: 3_600_000 },
      async (app) => {
        const answers = await Promise.all(['1', '2', '1', '2', '2'].map(
          (user) => app.fetch('/hello', as(user))));
        assert.deepEqual(answers.map(({ status }) => status).sort(),
                         [200, 200, 200, 429, 429]);
        assert.match(answers[0].headers.get('ratelimit-policy'),
                     /^"limits\/1h:\*\/1";q=1;w=3600$/);
        assert.deepEqual(await app.statuses(1, '/hello', as('0')), [500]);
        assert.match(app.error.message, /greater than 0, is 0/);
      }));

    it('skips what is to be skipped', async () => {
      for (const skip of [(a) => headerOf(a, 'x-user') === 'ops',
                          async (a) => headerOf(a, 'x-user') === 'ops']) {
        await withApp({ limit: 1, skip }, async (app) => {
          assert.deepEqual(await app.statuses(3, '/hello', as('ops')),
                           [200, 200, 200]);
          const { headers } = await app.fetch('/hello', as('ops'));
          assert.equal(headers.get('ratelimit'), null);
          assert.deepEqual(await app.statuses(2), [200, 429]);
        })();
      }
    });

    it('says what it is told to say', async () => {
      for (const [message, type, text] of [
        ['enough', 'text/plain; charset=utf-8', 'enough'],
        [{ error: 'enough' }, 'application/json; charset=utf-8',
         '{"error":"enough"}'],
        [() => 'of it', 'text/plain; charset=utf-8', 'of it'],
        [async (a) => ({ to: headerOf(a, 'x-user') }),
         'application/json; charset=utf-8', '{"to":"alex"}'],
      ]) {
        await withApp({ limit: 1, message, statusCode: 503 }, async (app) => {
          await app.fetch('/hello');
          const denied = await app.fetch('/hello', as('alex'));
          assert.equal(denied.status, 503);
          assert.equal(denied.type, type);
          assert.equal(denied.text, text);
        })();
      }
    });

    it('gives back what is not to be counted', async () => {
      const codes = ['/status/200', '/status/404', '/fail', '/status/200'];
      for (const [options, left] of [
        [{ skipFailedRequests: true }, 8],
        [{ skipSuccessfulRequests: true }, 8],
        [{ skipFailedRequests: true, skipSuccessfulRequests: true }, 10],
        [{ skipSuccessfulRequests: true, requestWasSuccessful: async () =>
          true }, 10],
      ]) {
        await withApp({ limit: 10, windowMs: 3_600_000, ...options },
          async (app) => {
            for (const path of codes) await app.fetch(path);
            await sleep(20);
            const { headers } = await app.fetch('/hello');
            assert.match(headers.get('ratelimit'), new RegExp(`r=${left - 1}`));
          })();
      }
    });

    it('gives back what a request has cost in units', async () => {
      const limiter = new Limiter({ limits: { schema: { key: { limits: [
        { name: 'rpm', count: 5, period: '1h' },
        { name: 'tpm', count: 50, period: '1h', unit: 'tokens' }] } } } });
      const tokens = 30;
      for (const cost of [{ tokens }, () => ({ tokens }),
                          async () => ({ request: 1, tokens })]) {
        await withApp(
          { limiter, path: () => ['key'], cost, skipFailedRequests: true },
          async (app) => {
            for (let i = 0; i < 2; ++i) {
              const { headers, status } = await app.fetch('/status/400');
              assert.equal(status, 400);
              assert.equal(headers.get('ratelimit').match(/r=\d+/g).join(),
                           'r=4,r=20');
              assert.equal(app.info.cost.tokens, tokens);
              const isFull = async () => (await limiter.peek(
                ['key'], { cost: 0 })).resetAfterMs === 0;
              for (let tries = 0; !await isFull(); ++tries) {
                assert.ok(tries < 1000);
                await sleep(5);
              }
            }
            assert.deepEqual(await app.statuses(2), [200, 429]);
            await limiter.reset(['key']);
          })();
      }
      await limiter.close();
    });

    it('gives back what several paths have cost', withApp(
      { limits: TREE, path: (a) => [['site'], userOf(a), userOf(a)],
        skipSuccessfulRequests: true, requestWasSuccessful: () => true },
      async (app) => {
        for (let i = 0; i < 6; ++i) {
          const { status } = await app.fetch('/hello', as('alex'));
          assert.equal(status, 200);
          await sleep(5);
        }
      }));

    it('passes mistakes on, and lets nobody through', async () => {
      for (const [options, message] of [
        [{ limits: TREE, path: () => ['usr', 'alex'] }, /usr/],
        [{ limits: TREE, path: () => ['user', undefined] }, /undefined/],
        [{ limits: TREE, path: () => undefined }, /path/],
        [{ limits: TREE, path: () => [] }, /empty|segment|path/],
        [{ limits: TREE, path: () => { throw new Error('oh'); } }, /oh/],
        [{ limit: 1, cost: () => -1 }, /cost/],
        [{ limit: 1, cost: async () => NaN }, /cost/],
        [{ limit: 1, cost: () => ({ tokens: 1 }) }, /no limit counts "tokens"/],
      ]) {
        await withApp(options, async (app) => {
          assert.equal((await app.fetch('/hello')).status, 500);
          assert.equal(app.ran, 0);
          assert.match(app.error.message, message);
        })();
      }
    });

    it('warns of a header that nobody believes, once', async () => {
      const codes = await warningsOf(withApp({ limit: 100 }, async (app) => {
        for (const address of ['1.1.1.1', '2.2.2.2']) {
          const { headers } = await app.fetch('/hello', {
            headers: { 'X-Forwarded-For': address } });
          assert.ok(headers.get('ratelimit'));
        }
        assert.equal(app.info.path[1], '127.0.0.1');
      }));
      assert.deepEqual(codes, ['LIMITREE_UNTRUSTED_X_FORWARDED_FOR']);
      assert.deepEqual(await warningsOf(withApp(
        { limit: 100, validate: { xForwardedForHeader: false } },
        (app) => app.fetch('/hello', {
          headers: { 'X-Forwarded-For': '1.1.1.1' } }))), []);
    });

    it('sees through proxies that it is told of', async () => {
      const { clientIp } = await import(`limitree/${name}`);
      const client = clientIp({ trustedProxies: ['127.0.0.1'] });
      const codes = await warningsOf(withApp(
        { limit: 1, clientIp: client }, async (app) => {
          const from = (address) => app.statuses(2, '/hello', {
            headers: { 'X-Forwarded-For': `9.9.9.9, ${address}` } });
          assert.deepEqual(await from('1.1.1.1:443'), [200, 429]);
          assert.deepEqual(await from('2001:db8::1'), [200, 429]);
          assert.deepEqual(await from('2001:db8::2'), [429, 429]);
        }));
      assert.deepEqual(codes, []);
    });

    it('says what is wrong with its options', async () => {
      for (const [options, message] of [
        [{}, /no limits: give limit/],
        [{ limit: 0 }, /limit must be .* greater than 0, is 0/],
        [{ limit: 1.5 }, /limit must be/],
        [{ limit: 5, windowMs: -1 }, /windowMs must be/],
        [{ limit: 5, windowms: 1 },
         /there is no option windowms, did you mean windowMs\?$/],
        [{ limit: 5, keyGenrator: () => 'a' }, /did you mean keyGenerator\?$/],
        [{ limit: 5, storeError: 'x' }, /did you mean onStoreError\?$/],
        [{ limit: 5, logger: {} }, /logger must have warn/],
        [{ limit: 5, validate: { ipv6key: false } },
         /did you mean validate\.ipv6Key\?$/],
        [{ limit: 5, passOnStoreError: 'no' }, /passOnStoreError must be true/],
        [{ limit: 5, store: {} }, /store must be a URL/],
        [{ limit: 5, store: 'redis:' }, /redis/],
        [{ limit: 5, shadowMode: true, store: new MemoryStore() },
         /decides by its counts: it cannot have shadowMode/],
        [{ limit: 5, path: () => ['a'] }, /path leads through a tree/],
        [{ limit: 5, cost: 1.5 }, /cost must be a whole number or a func/],
        [{ limit: 5, cost: -1 }, /cost must be a whole number or a func/],
        [{ limit: 5, cost: { tokens: -1 } }, /cost in tokens must not be neg/],
        [{ limit: 5, cost: null }, /cost must be a whole number or name un/],
        [{ limit: 5, skip: true }, /skip must be a function/],
        [{ limit: 5, legacyHeaders: 'on' }, /legacyHeaders must be/],
        [{ limit: 5, statusCode: 200 }, /statusCode must be/],
        [{ limit: 5, standardHeaders: 'draft-9' }, /standardHeaders must be/],
        [{ limit: 5, ipv6Subnet: 'all' }, /ipv6Subnet must be/],
        [{ limit: 5, ipv6Subnet: 129 }, /ipv6Subnet must be .*, is 129$/],
        [{ limit: 5, ipv6Subnet: 64, keyGenerator: () => '' }, /canonicalIp/],
        [{ limit: 5, name: 'a*' }, /name must be/],
        [{ limit: 2 ** 50, windowMs: 1 }, /count/],
        [{ limits: TREE }, /limits needs path/],
        [{ limits: TREE, path: userOf, limit: 5 }, /cannot be given together/],
        [{ limits: 'schema: {a: 1}', path: userOf }, /limits:1/],
        [{ limiter: {}, path: userOf }, /limiter must be a Limiter/],
        [{ limiter: { authorizeSync() {} }, path: userOf,
           passOnStoreError: true },
         /passOnStoreError cannot be given together with limiter/],
      ]) {
        await assert.rejects(async () => {
          const app = await start(options);
          await app.stop();
        }, (error) => {
          assert.equal(error.code, 'LIMITREE_INVALID_CONFIG', String(error));
          assert.match(error.message, message);
          return true;
        });
      }
    });
  });

  describe(`${name} with Redis`, async () => {
    const redis = await serverFor(await import('node:test'));
    const store = { store: redis.url, timeout: PATIENT };

    it('counts there', withApp({ limit: 2, name, ...store }, async (app) => {
      const first = await app.fetch('/hello');
      assert.equal(first.headers.get('ratelimit'), `"${name}:*";r=1;t=30`);
      await withApp({ limit: 2, name, ...store }, async (other) => {
        assert.deepEqual(await other.statuses(2), [200, 429]);
      })();
      assert.equal((await app.fetch('/hello')).status, 429);
    }));

    it('gives back there', withApp(
      { limit: 1, name: `${name} back`, skipFailedRequests: true, ...store },
      async (app) => {
        for (let i = 0; i < 3; ++i) {
          assert.equal((await app.fetch('/status/404')).status, 404);
          await sleep(30);
        }
      }));
  });

  describe(`${name} without its store`, () => {
    const gone = { store: 'redis+unix:///nowhere/redis.sock' };
    const logger = { warn() {} };

    it('decides in the process', withApp({ limit: 2, logger, ...gone },
      async (app) => {
        assert.deepEqual(await app.statuses(3), [200, 200, 429]);
        assert.equal(app.info.decision.source, 'local');
      }));

    it('answers 503 if it is told to', withApp(
      { limit: 1, onStoreError: 'raise', logger, ...gone }, async (app) => {
        const answer = await app.fetch('/hello');
        assert.equal(answer.status, 503);
        assert.equal(answer.headers.get('retry-after'), '1');
        assert.equal(answer.headers.get('ratelimit'), null);
        assert.equal(app.ran, 0);
        assert.doesNotMatch(answer.text, /nowhere|redis|limitree\b|\.js/);
      }));

    it('may let through or deny', async () => {
      await withApp({ limit: 1, onStoreError: 'allow', logger, ...gone },
        async (app) => assert.deepEqual(await app.statuses(2), [200, 200]))();
      await withApp({ limit: 1, onStoreError: 'deny', logger, ...gone },
        async (app) => assert.deepEqual(await app.statuses(2), [429, 429]))();
    });
  });
}
