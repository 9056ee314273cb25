// Limits for WebSockets: connections and messages, with the package ws.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { WebSocket, WebSocketServer } from 'ws';

import { ConfigError, Limiter } from 'limitree';
import { isRefused, limitMessages, rateLimit } from 'limitree/ws';

import { until } from './until.mjs';

const key = { keyGenerator: () => 'everybody', windowMs: '1h',
              validate: false };

/**
 * A server whose connections `connected` gets; `open()` is a client, and
 * notes what it receives and why it was closed.
 */
async function serve(connected, use, connections) {
  const sockets = new WebSocketServer({ noServer: true });
  const server = createServer().listen(0, '127.0.0.1');
  server.on('upgrade', async (request, socket, head) => {
    if (connections && await isRefused(connections, request, socket)) return;
    sockets.handleUpgrade(request, socket, head,
                          (ws) => connected(ws, request));
  });
  await once(server, 'listening');
  const open = async () => {
    const ws = new WebSocket(`ws://127.0.0.1:${server.address().port}`);
    const client = { ws, got: [], closed: undefined };
    ws.on('message', (data) => client.got.push(String(data)));
    ws.on('close', (code, reason) => {
      client.closed = [code, String(reason)];
    });
    const [refused] = await Promise.race([
      once(ws, 'open').then(() => []), once(ws, 'unexpected-response')
        .then(([, response]) => [response.statusCode])]);
    if (refused) client.refused = refused;
    return client;
  };
  try {
    await use(open);
  } finally {
    for (const one of sockets.clients) one.terminate();
    server.closeAllConnections();
    server.close();
  }
}

describe('messages', () => {
  it('close the connection that sends too many', async () => {
    const limit = limitMessages({ limit: 3, ...key });
    const echo = (ws, request) =>
      limit(ws, request, (data, isBinary) => ws.send(data, { isBinary }));
    await serve(echo, async (open) => {
      const one = await open();
      for (const text of 'abcde') one.ws.send(text);
      await until(() => one.closed);
      assert.deepEqual(one.got, ['a', 'b', 'c']);
      assert.deepEqual(one.closed,
                       [1008, 'too many messages, try again in 1200 s']);
      assert.equal((await limit.getKey('everybody')).used, 3);
    });
    await limit.close();
  });

  it('are those of a client, whatever its connections', async () => {
    const limit = limitMessages({ limit: 2, windowMs: '1h' });
    const echo = (ws, request) => limit(ws, request, (data) => ws.send(data));
    await serve(echo, async (open) => {
      const [one, two] = [await open(), await open()];
      one.ws.send('a');
      two.ws.send('b');
      await until(() => one.got.length + two.got.length === 2);
      one.ws.send('c');
      await until(() => one.closed?.[0] === 1008);
      assert.equal((await limit.getKey('127.0.0.1')).used, 2);
    });
    await limit.close();
  });

  it('may be answered instead', async () => {
    const limit = limitMessages({ limit: 2, ...key,
      cost: (request, ws) => ws.protocol === '' ? 1 : 2,
      handler: (request, ws, info) => ws.send(`no: ${info.limit}`) });
    const echo = (ws, request) => limit(ws, request, (data) => ws.send(data));
    await serve(echo, async (open) => {
      const one = await open();
      for (const text of 'abc') one.ws.send(text);
      await until(() => one.got.length === 3);
      assert.deepEqual(one.got, ['a', 'b', 'no: 2']);
      await limit.resetKey('everybody');
      one.ws.send('d');
      await until(() => one.got.length === 4);
      assert.equal(one.got[3], 'd');
    });
    await limit.close();
  });

  it('stay in order while one is decided, and are not read', async () => {
    let ready;
    const gate = new Promise((resolve) => { ready = resolve; });
    const limit = limitMessages({ limit: 900, windowMs: '1h', validate: false,
      async keyGenerator() {
        await gate;
        await turn();
        return 'everybody';
      } });
    let server;
    const echo = (ws, request) => {
      server = ws;
      limit(ws, request, (data) => ws.send(data));
    };
    await serve(echo, async (open) => {
      const one = await open();
      const sent = Array.from({ length: 1000 }, (_, i) => String(i));
      for (const text of sent) one.ws.send(text);
      await until(() => server.isPaused);
      assert.deepEqual(one.got, []);
      ready();
      await until(() => one.closed);
      assert.deepEqual(one.got, sent.slice(0, 900));
      assert.equal(one.closed[0], 1008);
    });
    await limit.close();
  });

  it('hold what they cost while they are handled', async () => {
    const limiter = new Limiter({ limits: {
      schema: { all: { limits: { concurrent: 1, hold: '1h' } } } } });
    const limit = limitMessages({
      limiter, path: () => ['all'], reserve: true, validate: false,
      handler: (request, ws) => ws.send('busy') });
    const ends = [];
    const slow = (ws, request) => limit(ws, request, async (data) => {
      await new Promise((resolve) => ends.push(resolve));
      ws.send(data);
    });
    await serve(slow, async (open) => {
      const one = await open();
      one.ws.send('a');
      one.ws.send('b');
      await until(() => one.got.length === 1);
      assert.deepEqual(one.got, ['busy']);
      ends[0]();
      await until(async () => (await limiter.peek(['all'])).allowed);
      one.ws.send('c');
      await until(() => ends.length === 2);
      ends[1]();
      await until(() => one.got.length === 3);
      assert.deepEqual(one.got, ['busy', 'a', 'c']);
    });
    await limiter.close();
  });
});

describe('errors end a connection, and not the process', () => {
  const failing = {
    'of a function among the options': [
      { limit: 5, keyGenerator() { throw new Error('on purpose'); } }],
    'of an asynchronous one': [
      { limit: 5, async keyGenerator() { throw new Error('on purpose'); } }],
    'of a handler of messages': [
      { limit: 5, ...key }, () => { throw new Error('on purpose'); }],
    'of an asynchronous handler': [
      { limit: 5, ...key }, async () => { throw new Error('on purpose'); }],
    'of a handler of denials': [
      { limit: 1, ...key, cost: 2,
        handler() { throw new Error('on purpose'); } }],
    'also of the logger': [
      { limit: 5, keyGenerator() { throw new Error('on purpose'); },
        logger: { warn() { throw new Error('no disk'); } } }],
  };
  for (const [name, [options, onMessage = () => {}]] of
    Object.entries(failing)) {
    it(name, async () => {
      const limit = limitMessages({ logger: { warn() {} }, ...options,
                                    validate: false });
      const start = (ws, request) => limit(ws, request, onMessage);
      await serve(start, async (open) => {
        const one = await open();
        one.ws.send('a');
        await until(() => one.closed);
        assert.deepEqual(one.closed, [1011, 'internal error']);
      });
      await limit.close();
    });
  }

  it('of the store', async () => {
    const limit = limitMessages({
      limit: 1, ...key, store: 'redis+unix:///nowhere/redis.sock',
      onStoreError: 'raise', logger: { warn() {} } });
    await serve((ws, request) => limit(ws, request, () => {}), async (open) => {
      const one = await open();
      one.ws.send('a');
      await until(() => one.closed);
      assert.deepEqual(one.closed, [1013, 'try again later']);
    });
    await limit.close();
  });
});

describe('connections', () => {
  it('are limited beside their messages, which give none back', async () => {
    const connections = rateLimit({ limit: 2, windowMs: '1h' });
    const limit = limitMessages({ limit: 1, windowMs: '1h', cost: 2 });
    const start = (ws, request) => limit(ws, request, () => {});
    await serve(start, async (open) => {
      for (let i = 0; i < 2; ++i) {
        const one = await open();
        one.ws.send('a');
        await until(() => one.closed);
        assert.equal(one.closed[0], 1008);
      }
      assert.equal((await connections.getKey('127.0.0.1')).used, 2);
      assert.equal((await open()).refused, 429);
    }, connections);
    await Promise.all([connections.close(), limit.close()]);
  });

  it('may break when they were let through', async () => {
    const connections = rateLimit({ limit: 9, ...key });
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect(server.address().port, '127.0.0.1');
    client.on('error', () => {});
    client.write('GET / HTTP/1.1\r\nHost: here\r\nConnection: upgrade\r\n' +
                 'Upgrade: websocket\r\n\r\n');
    const [request, socket] = await once(server, 'upgrade');
    assert.equal(await isRefused(connections, request, socket), false);
    // What a program does next may take a while, such as asking who it is.
    client.resetAndDestroy();
    while (!socket.destroyed) {
      socket.write('x');
      await turn();
    }
    await until(() => socket.closed);
    server.close();
    await connections.close();
  });
});

/** Sends bytes; returns the client, and a server that `upgraded` is told of. */
async function asked(bytes, upgraded, answer = () => {}) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  server.on('upgrade', upgraded);
  await once(server, 'listening');
  const client = connect({ port: server.address().port, host: '127.0.0.1',
                           allowHalfOpen: true });
  client.on('error', () => {});
  client.write(bytes);
  return { client, server };
}

const UPGRADE = 'GET / HTTP/1.1\r\nHost: here\r\nConnection: upgrade\r\n' +
  'Upgrade: websocket\r\n\r\n';

describe('an upgrade that is refused', () => {
  it('keeps no socket, though the client does not close', async () => {
    const limited = rateLimit({ limit: 1, cost: 2, ...key });
    let socket;
    const { client, server } = await asked(UPGRADE, async (request, its) => {
      socket = its;
      assert.equal(await isRefused(limited, request, its), true);
    });
    const [answer] = await once(client, 'data');
    assert.match(String(answer), /^HTTP\/1.1 429 /);
    await until(() => socket.destroyed);
    client.destroy();
    server.close();
    await limited.close();
  });

  it('may come while an earlier answer is due', async () => {
    const limited = rateLimit({ limit: 9, ...key });
    let refused;
    const { client, server } = await asked(
      `GET /slow HTTP/1.1\r\nHost: here\r\n\r\n${UPGRADE}`,
      async (request, socket) => {
        refused = await isRefused(limited, request, socket);
      });
    await until(() => refused !== undefined);
    assert.equal(refused, true);
    client.destroy();
    server.close();
    server.closeAllConnections();
    await limited.close();
  });

  it('may be limited by two', async () => {
    const [first, second] = [1, 2].map(
      (cost) => rateLimit({ limit: 1, cost, ...key }));
    const found = [];
    const { client, server } = await asked(UPGRADE, async (request, socket) => {
      found.push(await isRefused(first, request, socket));
      found.push(await isRefused(second, request, socket));
    });
    await until(() => found.length === 2);
    assert.deepEqual(found, [false, true]);
    client.destroy();
    server.close();
    await Promise.all([first.close(), second.close()]);
  });
});

it('a client that goes is no failure', async () => {
  const limiter = new Limiter({ limits: { schema: { key: { limits: {
    concurrent: 1, hold: '30s' } } } } });
  const closed = [];
  const limit = limitMessages({
    limiter, reserve: true, logger: { warn() {} }, path: async (_, ws) => {
      ws.close = (...why) => closed.push(why);
      ws.terminate();
      return ['key'];
    } });
  await serve((ws, request) => limit(ws, request, () => {}), async (open) => {
    const one = await open();
    one.ws.send('x');
    await until(() => one.closed);
    await until(async () => (await limiter.peek(['key'])).allowed);
  });
  await limiter.close();
  assert.deepEqual(closed, []);
});

it('a client that breaks the protocol ends its connection only', async () => {
  const limit = limitMessages({ limit: 9, ...key });
  let closed;
  const echo = (ws, request) => {
    ws.on('close', (code) => { closed = code; });
    limit(ws, request, (data) => ws.send(data));
  };
  await serve(echo, async (open) => {
    const bad = await open();
    bad.ws.on('error', () => {});
    bad.ws._socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff]));
    await until(() => closed !== undefined);
    assert.equal(closed, 1006);
    const good = await open();
    good.ws.send('hello');
    await until(() => good.got.length > 0);
  });
});

it('refuses wrong options', () => {
  assert.throws(() => limitMessages({ limit: 1, message: 'no' }),
                /message is for responses: messages have none; say handler/);
  assert.throws(() => limitMessages({ limit: 1, windowms: 5 }), /windowMs/);
  assert.throws(() => limitMessages({ limit: 0 }), ConfigError);
  assert.throws(() => limitMessages(null), ConfigError);
});
