// Servers whose requests reserve, one in each framework.

import { once } from 'node:events';
import { createServer, get } from 'node:http';
import { Readable } from 'node:stream';

import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';

import { rateLimit as limitExpress } from 'limitree/express';
import limitFastify from 'limitree/fastify';
import { rateLimit as limitHono } from 'limitree/hono';
import { rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';

/**
 * Functions that serve what `handle(url, info)` returns, `{ status, headers,
 * body }`, behind middlewares with these options.  A body is a text or a stream
 * of Node.js.  Each returns the server and what is to be closed.
 */
const SERVERS = {
  express(options, handle) {
    const app = express();
    app.set('env', 'production');
    const limits = options.map((one) => limitExpress(one));
    app.use(...limits, async (request, response) => {
      const answer = await handle(request.url, request.rateLimit);
      send(response, answer);
    });
    // Where Express would log the error.
    app.use((_error, _request, response, _next) => {
      if (response.headersSent) response.destroy();
      else response.status(500).end();
    });
    return [app.listen(0, '127.0.0.1'), limits];
  },
  http(options, handle) {
    const limits = options.map((one) => limitHttp(one));
    const server = createServer(async (request, response) => {
      let info;
      for (const limited of limits) {
        if (await limited(request, response)) return;
        info = limited.infoOf(request);
      }
      try {
        send(response, await handle(request.url, info));
      } catch {
        response.writeHead(500).end();
      }
    });
    return [server.listen(0, '127.0.0.1'), limits];
  },
  koa(options, handle) {
    const app = new Koa();
    app.silent = true;
    const limits = options.map((one) => limitKoa(one));
    for (const one of limits) app.use(one);
    app.use(async (context) => {
      const { status = 200, headers = {}, body } =
        await handle(context.url, context.state.rateLimit);
      context.body = body;
      context.status = status;
      context.set(headers);
    });
    return [app.listen(0, '127.0.0.1'), limits];
  },
  hono(options, handle) {
    const app = new Hono();
    const limits = options.map((one) => limitHono(one));
    app.use(...limits);
    app.get('*', async (context) => {
      const { status, headers, body } =
        await handle(new URL(context.req.url).pathname,
                     context.get('rateLimit'));
      return new Response(
        body instanceof Readable ? Readable.toWeb(body) : body,
        { status, headers });
    });
    app.onError((_error, context) => context.text('failed', 500));
    return [serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }),
            limits];
  },
  async fastify(options, handle) {
    const app = fastify();
    const limiters = options.map(({ limiter }) => limiter);
    await app.register(limitFastify, { global: false, ...options[0] });
    const onRequest = options.map(({ limiter, limits, clock, ...own }) =>
      app.rateLimit(own));
    app.get('*', { onRequest }, async (request, reply) => {
      const { status = 200, headers = {}, body } =
        await handle(request.url, request.rateLimit);
      return reply.code(status).headers(headers).send(body);
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return [app.server, [app], limiters];
  },
};

export const FRAMEWORKS = Object.keys(SERVERS);

function send(response, { status = 200, headers = {}, body }) {
  // What is written without setHeader() is seen, too.
  response.writeHead(status, headers);
  if (body instanceof Readable) body.pipe(response);
  else response.end(body);
}

/**
 * Serves `handle` as long as `test` lasts; returns the URL.  `options` are of
 * one middleware, or of several.
 */
export async function served(test, name, options, handle) {
  const [server, limits] = await SERVERS[name]([options].flat(), handle);
  if (!server.listening) await once(server, 'listening');
  test.after(async () => {
    server.closeAllConnections();
    server.close();
    for (const one of limits) await one.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** A stream that begins, and goes on when `end()` or `destroy()` is called. */
export function endless() {
  const body = new Readable({ read() {} });
  body.push('so far');
  body.end = () => body.push(null);
  return body;
}

/** Asks on a connection of its own: the response has begun. */
export async function open(url) {
  const request = get(url, { agent: false });
  request.on('error', () => {});  // of destroy()
  const [response] = await once(request, 'response');
  response.on('error', () => {});
  return response;
}

/** The status of a request, when its response has ended. */
export async function statusOf(url) {
  const response = await open(url);
  response.resume();
  if (!response.complete) await once(response, 'end');
  return response.statusCode;
}
