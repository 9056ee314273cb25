// Clients that are gone before they have an answer, with every framework.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http2 from 'node:http2';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import express4 from 'express4';

import { rateLimit as limitExpress } from 'limitree/express';
import { rateLimit as limitHttp } from 'limitree/http';

import { leaveOften } from './clients.mjs';
import { STARTS, warningsOf } from './web_apps.mjs';

/** Everything that is written to the log while `run` runs. */
async function logOf(run) {
  const lines = [];
  const write = process.stderr.write;
  process.stderr.write = (text) => lines.push(String(text));
  try {
    lines.push(...await warningsOf(run));
  } finally {
    process.stderr.write = write;
  }
  return lines.join('\n');
}

for (const [name, start] of Object.entries(STARTS)) {
  describe(name, () => {
    for (const [what, options] of Object.entries({
      'their addresses': {},
      'their addresses, found later':
        { keyGenerator: async (a) => {
          await sleep(2);
          const { remoteAddress } = (a.raw ?? a.req ?? a).socket ??
            a.env.incoming.socket;
          if (remoteAddress === undefined) throw new Error('nobody is there');
          return remoteAddress;
        } },
    })) {
      it(`drops clients without a word: ${what}`, async () => {
        const app = await start({ limit: 1000, ...options });
        const log = await logOf(async () => {
          await leaveOften(app.url);
          assert.equal((await app.fetch('/hello')).status, 200);
        });
        await app.stop();
        // Koa also tells when an answer could not be written.
        const { code, message } = app.error ?? {};
        if (code !== 'EPIPE' && code !== 'ECONNRESET') {
          assert.equal(message, undefined);
        }
        assert.equal(log, '');
      });
    }

    it('charges for an answer that nobody waited for', async () => {
      for (const options of [{ skipFailedRequests: true },
                             { skipSuccessfulRequests: true }]) {
        const app = await start({ limit: 5, windowMs: 3_600_000, ...options });
        const before = app.ran;
        const socket = connect(new URL(app.url).port, '127.0.0.1');
        socket.write('GET /endless HTTP/1.1\r\nHost: here\r\n\r\n');
        await once(socket, 'data');
        assert.equal(app.ran, before + 1);
        socket.resetAndDestroy();
        await sleep(50);
        const { headers } = await app.fetch('/hello');
        await app.stop();
        assert.match(headers.get('ratelimit'), /r=3/);
      }
    });
  });
}

it('Express 4 drops clients without a word', async () => {
  const app = express4();
  app.use(limitExpress({ limit: 1000 }));
  app.get('/', (_request, response) => response.send('hello'));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${server.address().port}`;
  const log = await logOf(async () => {
    await leaveOften(url);
    assert.equal((await fetch(url)).status, 200);
  });
  server.closeAllConnections();
  server.close();
  assert.equal(log, '');
});

it('a stream of HTTP/2 that is reset is charged', async () => {
  const limited = limitHttp({ limit: 5, skipFailedRequests: true,
                              skipSuccessfulRequests: true });
  const server = http2.createServer(async (request, response) => {
    if (await limited(request, response)) return;
    response.write('so far');
    if (request.url === '/') response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = http2.connect(`http://127.0.0.1:${server.address().port}`);
  const left = async () => (await limited.limiter.peek(
    ['5/1m', '127.0.0.1'], { cost: 0 })).remaining;

  const whole = client.request({ ':path': '/' });
  whole.resume();
  await once(whole, 'close');
  assert.equal(await left(), 5);
  const half = client.request({ ':path': '/endless' });
  await once(half, 'data');
  half.close(http2.constants.NGHTTP2_CANCEL);
  await once(half, 'close');
  await sleep(50);
  assert.equal(await left(), 4);
  client.close();
  server.close();
});
