// Responses that end in other ways than those of HTTP/1.1: upgraded
// connections, streams of HTTP/2, and those without a network.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { ServerResponse, createServer } from 'node:http';
import http2 from 'node:http2';
import { describe, it } from 'node:test';

import fastify from 'fastify';
import { Hono } from 'hono';

import { Limiter } from 'limitree';
import limitFastify from 'limitree/fastify';
import { rateLimit as limitHono } from 'limitree/hono';
import { rateLimit as limitHttp } from 'limitree/http';

import { until } from './until.mjs';

const SLOTS = 2;
const LIMITS = { schema: {
  job: { limits: { concurrent: SLOTS, hold: '1h' } } } };
const path = () => ['job'];

function limiterFor(test) {
  const limiter = new Limiter({ limits: LIMITS });
  test.after(() => limiter.close());
  return limiter;
}

const freeOf = async (limiter) =>
  (await limiter.peek(['job'], { cost: 0 })).remaining;

/** An upgraded connection, whose server keeps it open. */
async function upgraded(server) {
  const request = http.get({
    port: server.address().port,
    headers: { connection: 'Upgrade', upgrade: 'websocket' } });
  const [response, socket] = await Promise.race([
    once(request, 'upgrade'), once(request, 'response')]);
  return { status: response.statusCode, socket };
}

function accept(socket) {
  socket.write('HTTP/1.1 101 Switching Protocols\r\n' +
    'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  socket.on('end', () => socket.end()).resume();
}

/** As @fastify/websocket does it. */
function responseOf(request, socket) {
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  return response;
}

const UPGRADES = {
  async http(server, limiter) {
    const limited = limitHttp({ limiter, path, reserve: true });
    server.on('upgrade', async (request, socket) => {
      socket.on('error', () => {});
      if (await limited(request, responseOf(request, socket))) return;
      accept(socket);
    });
  },
  async fastify(server, limiter) {
    const app = fastify();
    await app.register(limitFastify, { limiter, path, reserve: true });
    app.get('/', async (request, reply) => {
      reply.hijack();
      accept(request.raw.socket);
    });
    await app.ready();
    server.on('upgrade', (request, socket) => {
      socket.on('error', () => {});
      app.routing(request, responseOf(request, socket));
    });
  },
  // As @hono/node-server does it.
  async hono(server, limiter) {
    const app = new Hono();
    app.use(limitHono({ limiter, path, reserve: true }));
    app.get('/', (context) => context.body(null));
    server.on('upgrade', async (request, socket) => {
      socket.on('error', () => {});
      const { status } = await app.fetch(
        new Request('http://localhost/'), { incoming: request });
      if (status === 200) accept(socket);
      else socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
    });
  },
};

for (const [name, serve] of Object.entries(UPGRADES)) {
  it(`holds as long as its connection: ${name}`, async (t) => {
    const limiter = limiterFor(t);
    const server = createServer().listen(0, '127.0.0.1');
    server.on('connection', (one) => t.after(() => one.destroy()));
    t.after(() => server.close());
    await once(server, 'listening');
    await serve(server, limiter);
    const all = [];
    for (let i = 0; i < SLOTS; ++i) {
      all.push(await upgraded(server));
      assert.equal(all[i].status, 101);
      assert.equal(await freeOf(limiter), SLOTS - 1 - i);
    }
    assert.equal((await upgraded(server)).status, 429);
    all[0].socket.end();
    await until(async () => await freeOf(limiter) === 1);
    all[1].socket.resetAndDestroy();
    await until(async () => await freeOf(limiter) === SLOTS);
  });
}

it('holds as long as a stream of HTTP/2', async (t) => {
  const limiter = limiterFor(t);
  const limited = limitHttp({ limiter, path, reserve: true });
  const server = http2.createServer(async (request, response) => {
    if (await limited(request, response)) return;
    response.write('so far');
    if (request.url === '/whole') response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const client = http2.connect(url);
  const ask = async (path) => {
    const stream = client.request({ ':path': path });
    stream.on('error', () => {});
    const [headers] = await once(stream, 'response');
    stream.resume();
    return [headers[':status'], stream];
  };
  for (let i = 0; i < 3 * SLOTS; ++i) {
    const [status, stream] = await ask('/whole');
    assert.equal(status, 200);
    if (!stream.closed) await once(stream, 'close');
    await until(async () => await freeOf(limiter) === SLOTS);
  }
  const [, one] = await ask('/endless');
  assert.equal((await ask('/endless'))[0], 200);
  assert.equal((await ask('/endless'))[0], 429);
  one.close(http2.constants.NGHTTP2_CANCEL);
  await until(async () => await freeOf(limiter) === 1);
  client.destroy();
  await until(async () => await freeOf(limiter) === SLOTS);
  server.close();
});

it('holds as long as a body of Hono is read', async (t) => {
  const limiter = limiterFor(t);
  const app = new Hono();
  app.use(limitHono({ limiter, path, reserve: true }));
  app.get('/text', (context) => context.text('hello'));
  app.get('/none', (context) => context.body(null, 204));
  app.get('/breaks', () => new Response(new ReadableStream({
    pull() { throw new Error('on purpose'); } })));
  app.get('/throws', () => { throw null; });
  for (let i = 0; i < SLOTS; ++i) {
    assert.equal((await app.request('/none')).status, 204);
    await until(async () => await freeOf(limiter) === SLOTS);
    await assert.rejects(async () => app.request('/throws'));
    await until(async () => await freeOf(limiter) === SLOTS);
    await assert.rejects((await app.request('/breaks')).text(), /purpose/);
    await until(async () => await freeOf(limiter) === SLOTS);
  }
  const [one, other] = [await app.request('/text'),
                        await app.request('/text')];
  assert.equal((await app.request('/text')).status, 429);
  assert.equal(await one.text(), 'hello');
  await until(async () => await freeOf(limiter) === 1);
  await other.body.cancel();
  await until(async () => await freeOf(limiter) === SLOTS);
});

it('in Fastify, without a network', async (t) => {
  const limiter = limiterFor(t);
  const app = fastify();
  await app.register(limitFastify, { limiter, path, reserve: '1m' });
  app.get('/', async () => 'hello');
  for (let i = 0; i < 3 * SLOTS; ++i) {
    assert.equal((await app.inject('/')).statusCode, 200);
    await until(async () => await freeOf(limiter) === SLOTS);
  }
  await app.close();
});
