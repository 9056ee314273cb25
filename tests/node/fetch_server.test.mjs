// Limits before handlers that take a Request and return a Response.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';

import { serve } from '@hono/node-server';
import { Hono } from 'hono';

import { ConfigError, Limiter, Reservation } from 'limitree';
import { clientIp, rateLimit } from 'limitree/fetch';
import { rateLimit as limitHono } from 'limitree/hono';

import { until } from './until.mjs';

const URL = 'http://here/a';
const everybody = () => 'everybody';
const hello = () => new Response('hello');

/** A limit of `limit` requests an hour for all clients together. */
const hourly = (limit, more) => rateLimit({
  limit, windowMs: '1h', keyGenerator: everybody, validate: false, ...more });

const leftOf = ({ headers }) =>
  [...(headers.get('ratelimit') ?? '').matchAll(/;r=(\d+)/g)]
    .map(([, left]) => Number(left));

describe('a handler', () => {
  it('is limited, with headers', async () => {
    const limited = hourly(2);
    const handler = limited.wrap((request, ...more) => {
      assert.equal(limited.infoOf(request).limit, 2);
      return Response.json(more);
    });
    const first = await handler(new Request(URL), 'info', 5);
    assert.deepEqual(await first.json(), ['info', 5]);
    assert.deepEqual(leftOf(first), [1]);
    assert.equal((await handler(new Request(URL))).status, 200);
    const denied = await handler(new Request(URL));
    assert.equal(denied.status, 429);
    assert.equal(denied.headers.get('content-type'),
                 'application/problem+json');
    assert.equal(denied.headers.get('cache-control'), 'no-store');
    assert.equal(denied.headers.get('retry-after'), '1800');
    assert.equal((await denied.json()).status, 429);
    await limited.close();
  });

  it('can decide by itself', async () => {
    const limited = hourly(1);
    const serveOne = async (request) => await limited(request) ??
      limited.finish(request, new Response(null, { status: 204 }));
    const first = await serveOne(new Request(URL));
    assert.equal(first.status, 204);
    assert.deepEqual(leftOf(first), [0]);
    assert.equal((await serveOne(new Request(URL))).status, 429);
    assert.equal(limited.infoOf(new Request(URL)), undefined);
    const other = new Response('other');
    assert.equal(await limited.finish(new Request(URL), other), other);
    await limited.close();
  });

  it('may have several limits, and a denial costs nothing', async () => {
    const outer = hourly(5, { name: 'outer' });
    const inner = hourly(1, { name: 'inner' });
    const handler = outer.wrap(inner.wrap(hello));
    const first = await handler(new Request(URL));
    assert.equal(first.headers.get('ratelimit-policy'),
                 '"outer:*";q=5;w=3600, "inner:*";q=1;w=3600');
    assert.deepEqual(leftOf(first), [4, 0]);
    const denied = await handler(new Request(URL));
    assert.equal(denied.status, 429);
    assert.deepEqual(leftOf(denied), [4, 0]);
    assert.equal((await outer.getKey('everybody')).remaining, 4);
    await Promise.all([outer.close(), inner.close()]);
  });

  it('may return a response whose headers cannot be changed', async () => {
    const limited = hourly(5);
    const handler = limited.wrap(() => Response.redirect('http://there/', 303));
    const answer = await handler(new Request(URL));
    assert.equal(answer.status, 303);
    assert.equal(answer.headers.get('location'), 'http://there/');
    assert.deepEqual(leftOf(answer), [4]);
    await limited.close();
  });

  it('answers denials itself, or says a message', async () => {
    const own = hourly(1, { handler: (request, info) =>
      new Response(`${request.method} ${info.limit}`, { status: 420 }) });
    const says = hourly(1, { statusCode: 503, message: async () => 'enough' });
    for (const [limited, status, text] of [[own, 420, 'GET 1'],
                                           [says, 503, 'enough']]) {
      const handler = limited.wrap(hello);
      await handler(new Request(URL));
      const denied = await handler(new Request(URL));
      assert.equal(denied.status, status);
      assert.equal(await denied.text(), text);
      assert.equal(denied.headers.get('retry-after'), '3600');
      await limited.close();
    }
  });
});

describe('what a response says', () => {
  it('gives back failures, also those that throw', async () => {
    const limited = hourly(1, { skipFailedRequests: true });
    const answers = [() => new Response('no', { status: 404 }),
                     () => { throw new Error('on purpose'); }, hello];
    const handler = limited.wrap(() => answers.shift()());
    assert.deepEqual(leftOf(await handler(new Request(URL))), [1]);
    await assert.rejects(handler(new Request(URL)), /on purpose/);
    assert.deepEqual(leftOf(await handler(new Request(URL))), [0]);
    await limited.close();
  });

  it('is asked', async () => {
    const limited = hourly(1, {
      skipFailedRequests: true,
      requestWasSuccessful: (_, response) => response.headers.has('x-ok') });
    const handler = limited.wrap(({ headers }) => new Response('', {
      headers: headers.has('ok') ? { 'x-ok': '1' } : {} }));
    assert.deepEqual(leftOf(await handler(new Request(URL))), [1]);
    assert.deepEqual(leftOf(await handler(new Request(URL, {
      headers: { ok: '1' } }))), [0]);
    await limited.close();
  });

  it('settles a budget when the body has ended', async () => {
    const limiter = new Limiter({ limits: { schema: { key: { limits: {
      count: 100, period: '1h', unit: 'tokens', hold: '10m' } } } } });
    const settle = async (_, response) =>
      ({ tokens: Number(response.headers.get('tokens')) });
    const limited = rateLimit({ limiter, path: () => ['key'], reserve: true,
                                cost: { tokens: 50 }, settle });
    const held = async () =>
      100 - (await limiter.peek(['key'], { cost: { tokens: 0 } })).remaining;
    let send;
    const handler = limited.wrap(() => new Response(new ReadableStream({
      start(controller) { send = controller; },
    }), { headers: { tokens: '7' } }));
    const answer = await handler(new Request(URL));
    assert.deepEqual(leftOf(answer), [50]);
    send.enqueue(new TextEncoder().encode('so far'));
    const reader = answer.body.getReader();
    await reader.read();
    assert.equal(await held(), 50);
    send.close();
    assert.equal((await reader.read()).done, true);
    await until(async () => await held() === 7);
    // Nobody reads on.
    const left = await handler(new Request(URL));
    await left.body.cancel();
    await until(async () => await held() === 14);
    // There is no body.
    const empty = limited.wrap(() => new Response(null, {
      headers: { tokens: '3' } }));
    await empty(new Request(URL));
    await until(async () => await held() === 17);
    // The handler has failed.
    const failing = limited.wrap(() => { throw new Error('on purpose'); });
    await assert.rejects(failing(new Request(URL)), /on purpose/);
    await until(async () => await held() === 17);
    await limiter.close();
  });
});

describe('a hold of some time', () => {
  const apps = {
    fetch: (options, serve) => rateLimit(options).wrap(serve),
    hono(options, serve) {
      const app = new Hono();
      app.use(limitHono(options));
      app.get('*', serve);
      return (request) => app.fetch(request);
    },
  };
  for (const [name, of] of Object.entries(apps)) {
    it(`ends with a response that cannot be sent, by ${name}`, async () => {
      const limiter = new Limiter({ limits: { schema: {
        job: { limits: { concurrent: 1, hold: '10m' } } } } });
      const taken = () => {
        const response = new Response('hello');
        response.body.getReader();
        return response;
      };
      const answers = name === 'hono' ? [taken, hello]
        : [taken, () => undefined, hello];
      const serve = of({ limiter, path: () => ['job'], reserve: true },
                       () => answers.shift()());
      const statusOf = () => serve(new Request(URL)).then(
        ({ status }) => status, () => 500);
      while (answers.length > 1) assert.equal(await statusOf(), 500);
      assert.equal(await statusOf(), 200);
      await limiter.close();
    });

    it(`lasts as long as the response, by ${name}`, async (t) => {
      let now = 1.7e12;
      const limiter = new Limiter({ clock: () => now, limits: { schema: {
        job: { limits: { concurrent: 1, hold: '10m' } } } } });
      const isFree = async () =>
        (await limiter.peek(['job'], { cost: 0 })).remaining === 1;
      const extend = t.mock.method(Reservation.prototype, 'extend').mock;
      const going = new AbortController();
      const serve = of(
        { limiter, path: () => ['job'], reserve: '40ms' },
        () => new Response(new ReadableStream()));
      const ask = (init) => serve(new Request(URL, init));
      const extended = async () => {
        const count = extend.callCount();
        await until(() => extend.callCount() > count);
        await extend.calls.at(-1).result;
      };
      const first = await ask();
      for (let i = 0; i < 3; ++i) {
        now += 30;
        await extended();
        assert.equal((await ask()).status, 429);
      }
      await first.body.cancel();
      await until(isFree);
      // Nobody reads the body, and the client has gone.
      await ask({ signal: going.signal });
      await extended();
      going.abort();
      now += 40;
      assert.equal(await isFree(), true);
      const count = extend.callCount();
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(extend.callCount(), count);
      await limiter.close();
    });

    it(`ends by itself when the request is lost, by ${name}`, async (t) => {
      let now = 1.7e12;
      const limiter = new Limiter({ clock: () => now, limits: { schema: {
        job: { limits: { concurrent: 1, hold: '10m' } } } } });
      const extend = t.mock.method(Reservation.prototype, 'extend').mock;
      const serve = of({ limiter, path: () => ['job'], reserve: '40ms' },
                       () => new Response(new ReadableStream()));
      await serve(new Request(URL));
      await until(() => extend.callCount() > 0);
      await until(async () => {
        global.gc();
        const count = extend.callCount();
        await new Promise((resolve) => setTimeout(resolve, 200));
        return extend.callCount() === count;
      });
      assert.equal((await limiter.peek(['job'], { cost: 0 })).remaining, 0);
      now += 40;
      assert.equal((await limiter.peek(['job'], { cost: 0 })).remaining, 1);
      await limiter.close();
    });
  }
});

describe('the client', () => {
  const BESIDE = {
    Bun: { requestIP: () => ({ address: '10.0.0.7', family: 'IPv4' }) },
    Deno: { remoteAddr: { transport: 'tcp', hostname: '10.0.0.7' } },
    'a framework on Bun': { server: {
      requestIP: () => ({ address: '::ffff:10.0.0.7' }) } },
    'node-server': { incoming: { headers: {}, socket: {
      remoteAddress: '10.0.0.7' } } },
  };
  for (const [name, where] of Object.entries(BESIDE)) {
    it(`has an address by ${name}`, async () => {
      const limited = rateLimit({ limit: 5 });
      assert.equal(await limited(new Request(URL), where), undefined);
      assert.equal((await limited.getKey('10.0.0.7')).used, 1);
      const app = new Hono();
      const own = limitHono({ limit: 5 });
      app.use(own).get('/a', (context) => context.text('hello'));
      await app.fetch(new Request(URL), where);
      assert.equal((await own.getKey('10.0.0.7')).used, 1);
      await Promise.all([limited.close(), own.close()]);
    });
  }

  it('is a network of as many bits as is said', async () => {
    const statuses = async (options) => {
      const limited = rateLimit({ limit: 1, validate: false, ...options });
      const found = [];
      for (const end of ['0::1', '0::1', '0::2', '1::1']) {
        const where = { remoteAddr: { hostname: `2001:db8:0:${end}` } };
        found.push((await limited(new Request(URL), where))?.status ?? 200);
      }
      await limited.close();
      return found;
    };
    assert.deepEqual(await statuses({}), [200, 429, 429, 200]);
    for (const ipv6Subnet of [128, false]) {
      assert.deepEqual(await statuses({ ipv6Subnet }), [200, 429, 200, 200]);
    }
    assert.deepEqual(await statuses({ ipv6Subnet: 48 }), [200, 429, 429, 429]);
    assert.deepEqual(await statuses({ allowList: ['2001:db8:0:0::1'] }),
                     [200, 200, 200, 200]);
    assert.deepEqual(await statuses({ allowList: ['2001:db8::2'] }),
                     [200, 429, 200, 200]);
  });

  it('may be told by a proxy', async () => {
    const limited = rateLimit({
      limit: 5, clientIp: clientIp({ trustedHops: 1 }) });
    const request = new Request(URL, {
      headers: { 'X-Forwarded-For': '1.2.3.4, 10.0.0.9' } });
    assert.equal(await limited(request), undefined);
    assert.equal((await limited.getKey('10.0.0.9')).used, 1);
    await limited.close();
  });

  it('is unknown without any of them', async () => {
    const limited = rateLimit({ limit: 5 });
    for (const where of [undefined, null, 'info', {}, { requestIP: () => null },
                         { params: Promise.resolve({}) }]) {
      await assert.rejects(limited(new Request(URL), where),
                           /a Request does not tell it: pass the server of/);
    }
    await limited.close();
  });

  it('gets nothing once it has gone', async () => {
    const going = new AbortController();
    const limited = rateLimit({ limit: 5 });
    going.abort();
    const answer =
      await limited(new Request(URL, { signal: going.signal }));
    assert.equal(answer.status, 499);
    await limited.close();
  });
});

describe('a client that is slowed down', () => {
  const options = { limit: 1000, delayAfter: 1, maxDelayed: 1,
                    delayMs: 3_600_000, maxDelayMs: 86_400_000 };
  const apps = {
    fetch: (more) => hourly(1000, { ...options, ...more }).wrap(hello),
    hono(more) {
      const app = new Hono();
      app.onError((_, context) => context.text('an error', 500));
      app.use(limitHono({ windowMs: '1h', keyGenerator: () => 'key', ...options,
                        ...more }));
      app.get('*', hello);
      return (request) => app.fetch(request);
    },
  };
  for (const [name, of] of Object.entries(apps)) {
    it(`does not wait any more when it goes, by ${name}`, async () => {
      const serve = of({});
      assert.equal((await serve(new Request(URL))).status, 200);
      for (let i = 0; i < 3; ++i) {
        const going = new AbortController();
        const waiting = serve(new Request(URL, { signal: going.signal }));
        // There is room for one: another one is denied while it waits.
        assert.equal((await serve(new Request(URL))).status, 429);
        going.abort();
        assert.equal((await waiting).status, 499);
      }
    });

    it(`does not begin to if it has gone, by ${name}`, async () => {
      const going = new AbortController();
      const serve = of({ delayAfter: 0, async keyGenerator() {
        going.abort();
        return 'key';
      } });
      const answer =
        await serve(new Request(URL, { signal: going.signal }));
      assert.equal(answer.status, 499);
    });
  }
});

describe('a failing store', () => {
  const store = 'redis+unix:///nowhere/redis.sock';
  const logger = { warn() {} };

  it('is not seen by default', async () => {
    const limited = hourly(1, { store, logger, name: 'local' });
    const handler = limited.wrap(hello);
    assert.equal((await handler(new Request(URL))).status, 200);
    assert.equal((await handler(new Request(URL))).status, 429);
    await limited.close();
  });

  it('is answered with 503', async () => {
    const limited =
      hourly(1, { store, logger, name: 'raise', onStoreError: 'raise' });
    const answer = await limited.wrap(hello)(new Request(URL));
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '1');
    assert.doesNotMatch(await answer.text(), /nowhere/);
    await limited.close();
  });
});

it('refuses wrong options', () => {
  assert.throws(() => rateLimit({ limit: 1, windowms: 5 }), /windowMs/);
  assert.throws(() => rateLimit({}), ConfigError);
});

it('serves HTTP', async () => {
  const limited = rateLimit({ limit: 2 });
  const server = serve({
    fetch: limited.wrap(hello), port: 0, hostname: '127.0.0.1' });
  if (!server.listening) await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const statuses = [];
  for (let i = 0; i < 3; ++i) statuses.push((await fetch(url)).status);
  assert.deepEqual(statuses, [200, 200, 429]);
  server.closeAllConnections();
  server.close();
  await limited.close();
});
