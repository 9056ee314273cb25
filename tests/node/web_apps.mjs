// The same small app in each framework, on a port of this machine.
//
// Routes: /hello answers with a text, /stream with a stream, /endless with one
// that does not end, /fail throws, and /status/<n> answers with that status.
// There are no others.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';

import { serve as serveHono } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';

import { rateLimit as limitExpress } from 'limitree/express';
import limitFastify from 'limitree/fastify';
import { rateLimit as limitHono } from 'limitree/hono';
import { rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';

const loadPart = createRequire(import.meta.url)('../../node/dist/web.js');
export const { forgetWarnings } = loadPart('web/warnings.js');

const chunks = () => Readable.from(['one ', 'two']);
const endless = () => new Readable({ read() {
  if (this.readableLength === 0 && !this.begun) this.push('so far');
  this.begun = true;
} });

async function listening(server) {
  if (!server.listening) await once(server, 'listening');
  return `http://127.0.0.1:${server.address().port}`;
}

/** The app of a test: its URL, and how often one of its routes ran. */
class App {
  ran = 0;

  async fetch(path, options) {
    const answer = await fetch(this.url + path, options);
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, text,
             type: answer.headers.get('content-type'),
             get json() { return JSON.parse(text); } };
  }

  /** The statuses of `count` requests, one after the other. */
  async statuses(count, path = '/hello', options) {
    const found = [];
    for (let i = 0; i < count; ++i) {
      found.push((await this.fetch(path, options)).status);
    }
    return found;
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
    await this.close?.();
  }
}

async function startExpress(options) {
  const running = new App();
  const app = express();
  app.set('env', 'production');
  running.limit = limitExpress(options);
  app.use(running.limit);
  app.use((request, _response, next) => {
    ++running.ran;
    running.info = request.rateLimit;
    next();
  });
  app.get('/hello', (_, response) => response.send('hello'));
  app.get('/stream', (_, response) => chunks().pipe(response));
  app.get('/endless', (_, response) => endless().pipe(response));
  app.get('/fail', () => { throw new Error('on purpose'); });
  app.get('/status/:code', (request, response) =>
    response.status(Number(request.params.code)).send('so be it'));
  app.use((error, _request, response, next) => {
    running.error = error;
    next(error);
  });
  running.app = app;
  running.server = app.listen(0, '127.0.0.1');
  running.url = await listening(running.server);
  running.close = () => running.limit.close();
  return running;
}

async function startHttp(options) {
  const running = new App();
  // The middleware answers and logs what goes wrong.
  forgetWarnings();
  const note = (message) => {
    const [, code] = /\[(\w+)\]$/.exec(message);
    if (code === 'LIMITREE_REQUEST_FAILED') running.error = { message };
    else process.emitWarning(message, { type: 'LimitreeWarning', code });
  };
  const limited = limitHttp({ logger: { warn: note }, ...options });
  const answer = (request, response) => {
    ++running.ran;
    running.info = limited.infoOf(request);
    const code = /^\/status\/(\d+)$/.exec(request.url)?.[1];
    if (request.url === '/hello') {
      response.end('hello');
    } else if (request.url === '/stream') {
      chunks().pipe(response);
    } else if (request.url === '/endless') {
      endless().pipe(response);
    } else if (code !== undefined) {
      response.writeHead(Number(code)).end('so be it');
    } else if (request.url === '/fail') {
      throw new Error('on purpose');
    } else {
      response.writeHead(404).end('not found');
    }
  };
  running.limit = limited;
  running.server = createServer(async (request, response) => {
    try {
      if (!await limited(request, response)) answer(request, response);
    } catch (error) {
      running.error = error;
      response.writeHead(500).end('failed');
    }
  }).listen(0, '127.0.0.1');
  running.url = await listening(running.server);
  running.close = () => limited.close();
  return running;
}

async function startKoa(options) {
  const running = new App();
  const app = new Koa();
  app.silent = true;
  app.on('error', (error) => { running.error = error; });
  running.limit = limitKoa(options);
  app.use(running.limit);
  app.use((context) => {
    ++running.ran;
    running.info = context.state.rateLimit;
    const code = /^\/status\/(\d+)$/.exec(context.path)?.[1];
    if (context.path === '/hello') {
      context.body = 'hello';
    } else if (context.path === '/stream') {
      context.body = chunks();
    } else if (context.path === '/endless') {
      context.body = endless();
    } else if (context.path === '/fail') {
      throw new Error('on purpose');
    } else if (code !== undefined) {
      context.status = Number(code);
      context.body = 'so be it';
    }
  });
  running.app = app;
  running.server = app.listen(0, '127.0.0.1');
  running.url = await listening(running.server);
  running.close = () => running.limit.close();
  return running;
}

async function startHono(options) {
  const running = new App();
  const app = new Hono();
  running.limit = limitHono(options);
  app.use(running.limit);
  app.use(async (context, next) => {
    ++running.ran;
    running.info = context.get('rateLimit');
    await next();
  });
  app.get('/hello', (context) => context.text('hello'));
  app.get('/stream', () => new Response(Readable.toWeb(chunks())));
  app.get('/endless', () => new Response(Readable.toWeb(endless())));
  app.get('/fail', () => { throw new Error('on purpose'); });
  app.get('/status/:code', (context) =>
    context.req.param('code') === '204' ? context.body(null, 204)
      : context.text('so be it', Number(context.req.param('code'))));
  app.onError((error, context) => {
    running.error = error;
    return error.getResponse?.() ?? context.text('failed', 500);
  });
  running.app = app;
  running.server = serveHono(
    { fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  running.url = await listening(running.server);
  running.close = () => running.limit.close();
  return running;
}

async function startFastify(options) {
  const running = new App();
  const app = fastify();
  await app.register(limitFastify, options);
  app.addHook('preHandler', async (request) => {
    ++running.ran;
    running.info = request.rateLimit;
  });
  app.get('/hello', async () => 'hello');
  app.get('/stream', async (_, reply) => reply.send(chunks()));
  app.get('/endless', async (_, reply) => reply.send(endless()));
  app.get('/fail', async () => { throw new Error('on purpose'); });
  app.get('/status/:code', async (request, reply) =>
    reply.code(Number(request.params.code)).send('so be it'));
  app.addHook('onError', async (_request, _reply, error) => {
    running.error = error;
  });
  running.app = app;
  running.url = await app.listen({ port: 0, host: '127.0.0.1' });
  running.server = app.server;
  running.close = () => app.close();
  return running;
}

/** Starts the app of each framework with the options of its middleware. */
export const STARTS = {
  express: startExpress, http: startHttp, koa: startKoa, hono: startHono,
  fastify: startFastify,
};

/** A header of a request, from the argument that any framework passes. */
export function headerOf(a, name) {
  if (a instanceof Request) return a.headers.get(name) ?? undefined;
  return a.req?.header instanceof Function ? a.req.header(name)
    : a.headers[name];
}

/**
 * The codes of the warnings that limitree gives during `run`, as if it were the
 * first in its process.
 */
export async function warningsOf(run) {
  forgetWarnings();
  const codes = [];
  const note = (warning) => {
    if (warning.name === 'LimitreeWarning') codes.push(warning.code);
  };
  process.on('warning', note);
  try {
    await run();
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off('warning', note);
  }
  return codes;
}
