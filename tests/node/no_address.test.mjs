// What the middlewares say where a client has no address.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';

import express from 'express';
import { Hono } from 'hono';
import Koa from 'koa';

import { rateLimit as limitExpress } from 'limitree/express';
import { rateLimit as limitHono } from 'limitree/hono';
import { rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';

import { forgetWarnings } from './web_apps.mjs';

const UNIX = /unknown: it came by a Unix socket, where keyGenerator/;

/** The error that a Hono app has to handle. */
async function errorOfHono(middleware) {
  const app = new Hono();
  let error;
  app.use(middleware);
  app.get('/', (context) => context.text('hello'));
  app.onError((thrown, context) => {
    error = thrown;
    return context.text('failed', 500);
  });
  assert.equal((await app.request('/')).status, 500);
  return error.message;
}

/** Asks a server that listens at a Unix socket. */
async function askUnix(listener) {
  const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  const socketPath = join(folder, 'http.sock');
  const server = createServer(listener).listen(socketPath);
  await once(server, 'listening');
  const [answer] = await once(send({ socketPath }).end(), 'response');
  answer.resume();
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
  return answer.statusCode;
}

it('Hono has no connection in its own tests', async () => {
  const message = await errorOfHono(limitHono({ limit: 1 }));
  assert.match(message, /only requests that @hono\/node-server, Bun.serve or/);
  assert.match(message, /give keyGenerator/);
  assert.doesNotMatch(message, /Unix|gone/);
});

it('a middleware of another framework says that it is one', async () => {
  const own = /has not made this request: use the middleware for your frame/;
  let errors = [];
  const next = (error) => errors.push(error.message);
  assert.match(await errorOfHono((context) => {
    limitExpress({ limit: 1 })(context, {}, next);
    throw new Error(errors[0]);
  }), own);

  errors = [];
  const app = express();
  app.set('env', 'test');
  app.use((request, response) => limitHono({ limit: 1 })(request, () => {})
    .catch((error) => {
      errors.push(error.message);
      response.end();
    }));
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  await fetch(`http://127.0.0.1:${server.address().port}`);
  server.closeAllConnections();
  server.close();
  assert.match(errors[0], own);

  const lines = [];
  const limited = limitHttp(
    { limit: 1, logger: { warn: (line) => lines.push(line) } });
  await errorOfHono(() => {
    limited({ req: {} }, { setHeader() {}, hasHeader() {}, end() {} });
    throw new Error('enough');
  });
  assert.match(lines[0], /a middleware for another framework/);
});

it('a Unix socket has none', async () => {
  forgetWarnings();
  const lines = [];
  const limited = limitHttp(
    { limit: 1, logger: { warn: (line) => lines.push(line) } });
  assert.equal(await askUnix(limited), 500);
  assert.match(lines[0], UNIX);

  const app = express();
  app.use(limitExpress({ limit: 1 }));
  app.use((error, _request, response, _next) => {
    lines.push(error.message);
    response.status(500).end();
  });
  assert.equal(await askUnix(app), 500);
  assert.match(lines[1], UNIX);

  const koa = new Koa();
  koa.on('error', (error) => lines.push(error.message));
  koa.use(limitKoa({ limit: 1 }));
  assert.equal(await askUnix(koa.callback()), 500);
  assert.match(lines[2], UNIX);
});
