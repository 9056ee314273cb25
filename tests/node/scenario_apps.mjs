// The apps of tests/web/scenarios.json, in each framework of Node.js.  What is
// a word there is a function here.

import { createServer, request as requestOf } from 'node:http';
import { once } from 'node:events';

import { serve } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import Koa from 'koa';
import 'reflect-metadata';
import {
  Controller, HttpException, Module, Req, RequestMapping, RequestMethod, Res,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';

import { Limiter } from 'limitree';
import { rateLimit as limitExpress } from 'limitree/express';
import limitFastify from 'limitree/fastify';
import { rateLimit as limitFetch } from 'limitree/fetch';
import { rateLimit as limitHono } from 'limitree/hono';
import { isRefused, rateLimit as limitHttp } from 'limitree/http';
import { rateLimit as limitKoa } from 'limitree/koa';
import {
  Limit, LimitGuard, LimitModule, LimitService, SkipLimit,
} from 'limitree/nestjs';

import { headerOf } from './web_apps.mjs';

const KEYS = {
  caller: (a) => headerOf(a, 'x-caller'), everybody: () => 'everybody',
  account: (a) => headerOf(a, 'x-account'),
};

/** `"GET,POST /a"` as its methods and its path. */
function routeOf(text) {
  const [methods, path] = text.split(' ');
  return { methods: methods.split(','), path };
}

/** `2/minute fixed_window first` as options. */
function rateOf(text) {
  const [, count, period, algorithm] =
    /^(\d+)\/(\w+)(?: (\w+)(?: first)?)?$/.exec(text);
  return { limit: Number(count), windowMs: period, algorithm };
}

/** The limits of a scenario as options of middlewares. */
export class Translation {
  breaches = 0;
  closes = [];
  #time = 1_700_000_000_000;
  #names = 0;
  #app;
  #clock;
  #limiter;
  #answer;  // of a denial, by the framework

  constructor(scenario, answer) {
    this.#app = scenario.app;
    this.#answer = answer;
    const isTimed = scenario.steps.some((step) => 'advance' in step);
    this.#clock = isTimed ? () => this.#time : undefined;
    if (this.#app.limits === undefined) return;
    this.#limiter =
      new Limiter({ limits: this.#app.limits, clock: this.#clock });
    this.closes.push(() => this.#limiter.close());
  }

  advance(seconds) {
    this.#time += seconds * 1000;
  }

  get routes() {
    return Object.entries(this.#app.routes).map(([text, limits]) => {
      const isExempt = limits === 'exempt';
      const own = isExempt ? [] : limits.length > 0 ? limits
        : this.#app.default ?? [];
      return { ...routeOf(text), isExempt,
               limits: own.flatMap((limit) => this.#optionsOf(limit, text)) };
    });
  }

  /** Limits of all routes together. */
  get everywhere() {
    return (this.#app.everywhere ?? []).flatMap(
      (limit) => this.#optionsOf(limit, 'everywhere'));
  }

  #optionsOf(limit, place) {
    const { text, ...others } =
      typeof limit === 'string' ? { text: limit } : limit;
    const texts = typeof text === 'string' ? text.split(';') : [text];
    return texts.flatMap((one) => others.per_method
      ? routeOf(place).methods.filter((method) => method !== 'HEAD')
        .map((method) => this.#one(one?.trim(), others, place, [method]))
      : [this.#one(one?.trim?.() ?? one, others, place, others.methods)]);
  }

  /** The options of one middleware. */
  #one(text, limit, place, methods) {
    const { answer, store, on_store_error: onStoreError } = this.#app;
    const common = {
      ...this.#skip(limit, methods), ...this.#breach(limit),
      ...limit.charge_when === undefined ? {} : {
        [limit.charge_when === 'failed' ? 'skipSuccessfulRequests'
          : 'skipFailedRequests']: true },
      ...limit.message === undefined ? {} : { message: limit.message },
      ...answer === undefined ? {}
        : { statusCode: answer.status, message: answer.body },
      ...limit.cost === undefined ? {} : { cost: limit.cost === 'header'
        ? (a) => Number(headerOf(a, 'x-cost') ?? 1) : limit.cost },
      validate: false, logger: { warn() {} } };
    if (limit.path !== undefined) {
      return { ...common, limiter: this.#limiter, path: (a) => limit.path.map(
        (part) => part === '@caller' ? KEYS.caller(a) : part) };
    }
    const { key = 'caller', group } = limit;
    return {
      ...common, ...this.#rate(text), clock: this.#clock, onStoreError,
      name: group ?? `${place} ${++this.#names}`,
      ...store === 'nowhere' ? { store: 'redis+unix:///nowhere/redis.sock' }
        : {},
      ...key === 'ip' ? {} : { keyGenerator: KEYS[key] } };
  }

  #rate(text) {
    if (typeof text === 'string') return rateOf(text);
    const rates = Object.fromEntries(Object.entries(text).map(
      ([tier, one]) => [tier, rateOf(one)]));
    return { ...rates.free,
             limit: (a) => rates[headerOf(a, 'x-tier') ?? 'free'].limit };
  }

  #skip({ exempt_when: exempt }, methods) {
    if (exempt === undefined && methods === undefined) return {};
    const methodOf = (a) => {
      const method = a.req?.method ?? a.method;
      return method === 'HEAD' ? 'GET' : method;
    };
    return { skip: (a) =>
      (exempt === 'staff' && headerOf(a, 'x-staff') !== undefined) ||
      (methods !== undefined && !methods.includes(methodOf(a))) };
  }

  #breach({ on_breach: breach = this.#app.on_breach }) {
    if (breach === 'answer') return { handler: this.#answer };
    return breach === undefined ? {}
      : { onExceeded: () => { ++this.breaches; } };
  }
}

/** A running app: its address, and the limits of each path. */
class Running {
  limits = new Map();

  constructor(translation) {
    this.translation = translation;
  }

  keep(path, all) {
    this.limits.set(path, [...this.limits.get(path) ?? [], ...all]);
    return all;
  }

  async stop() {
    this.server.closeAllConnections();
    this.server.close();
    for (const all of this.limits.values()) {
      for (const limit of all) await limit.close?.();
    }
    await this.close?.();
    for (const close of this.translation.closes) await close();
  }
}

async function listening(server) {
  if (!server.listening) await once(server, 'listening');
  return server.address().port;
}

/** Has a server answer WebSockets, by limits of limitree/http. */
function withSockets(running, server, routes) {
  const sockets = routes.filter(({ methods }) => methods[0] === 'WS');
  if (sockets.length === 0) return;
  const limits = sockets.flatMap(({ path, limits: all }) =>
    running.keep(path, all.map(limitHttp)));
  server.on('upgrade', async (request, socket) => {
    for (const limit of limits) {
      if (await isRefused(limit, request, socket)) return;
    }
    socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n' +
      'Connection: Upgrade\r\n\r\n');
  });
}

const statusOf = (a) => Number(headerOf(a, 'x-status') ?? 200);
const tellOf = (info) => String(info?.remaining ?? '-');

/** Limits of all routes, which some routes are exempt from. */
function everywhereOf(translation, limitOf, pathOf) {
  const exempt = translation.routes.filter(({ isExempt }) => isExempt)
    .map(({ path }) => path);
  return translation.everywhere.map((options) => limitOf({
    ...options, skip: (a) => exempt.includes(pathOf(a)) ||
      (options.skip?.(a) ?? false) }));
}

async function startExpress(scenario) {
  const translation = new Translation(scenario,
    (_request, response) => response.status(418).send('breached'));
  const running = new Running(translation);
  const app = express();
  app.set('env', 'test');
  const all = running.keep('*', everywhereOf(
    translation, limitExpress, (request) => request.path));
  if (all.length > 0) app.use(all);
  const { routes } = translation;
  for (const { methods, path, limits } of routes) {
    if (methods[0] === 'WS') continue;
    const own = running.keep(path, limits.map(limitExpress));
    for (const method of methods) {
      app[method.toLowerCase()](path, ...own, (request, response) => response
        .status(statusOf(request)).send(tellOf(request.rateLimit)));
    }
  }
  running.server = app.listen(0, '127.0.0.1');
  withSockets(running, running.server, routes);
  running.port = await listening(running.server);
  return running;
}

async function startFastify(scenario) {
  const translation = new Translation(scenario,
    (_request, reply) => reply.code(418).send('breached'));
  const running = new Running(translation);
  const app = fastify({ exposeHeadRoutes: false });
  const { routes } = translation;
  const options = [...translation.everywhere,
                   ...routes.flatMap(({ limits }) => limits)];
  const of = (name) => options.find((one) => one[name])?.[name];
  // A plugin has one tree or one store; here the tree has a part of the app.
  let tree;
  const [limiter, path] = [of('limiter'), of('path')];
  if (limiter !== undefined) {
    await app.register(async (part) => {
      await part.register(limitFastify, { global: false, limiter, path });
      tree = part;
    });
  }
  await app.register(limitFastify, {
    global: false, clock: of('clock'), store: of('store'),
    onStoreError: of('onStoreError'), logger: { warn() {} } });
  const hookOf = (one) => {
    const { store: _, onStoreError: __, clock: ___, limiter: isTree, ...own } =
      one;
    return (isTree ? tree : app).rateLimit(own);
  };
  const all = running.keep('*', everywhereOf(
    translation, hookOf, (request) => request.routeOptions.url));
  for (const { methods, path, limits } of routes) {
    if (methods[0] === 'WS') continue;
    const own = running.keep(path, limits.map(hookOf));
    app.route({ method: methods, url: path, onRequest: [...all, ...own],
      handler: (request, reply) => reply.code(statusOf(request))
        .send(tellOf(request.rateLimit)) });
  }
  await app.listen({ port: 0, host: '127.0.0.1' });
  running.server = app.server;
  running.port = app.server.address().port;
  withSockets(running, app.server, routes);
  running.close = () => app.close();
  return running;
}

async function startKoa(scenario) {
  const translation = new Translation(scenario, (context) => {
    context.status = 418;
    context.body = 'breached';
  });
  const running = new Running(translation);
  const app = new Koa();
  app.silent = true;
  for (const limit of running.keep('*', everywhereOf(
    translation, limitKoa, (context) => context.path))) app.use(limit);
  const { routes } = translation;
  for (const { path, limits } of routes) {
    for (const limit of running.keep(path, limits.map(limitKoa))) {
      app.use((context, next) => context.path === path
        ? limit(context, next) : next());
    }
  }
  app.use((context) => {
    context.status = statusOf(context);
    context.body = tellOf(context.state.rateLimit);
  });
  running.server = app.listen(0, '127.0.0.1');
  withSockets(running, running.server, routes);
  running.port = await listening(running.server);
  return running;
}

async function startHono(scenario) {
  const translation = new Translation(scenario,
    (context) => context.text('breached', 418));
  const running = new Running(translation);
  const app = new Hono();
  for (const limit of running.keep('*', everywhereOf(
    translation, limitHono, (context) => context.req.path))) app.use(limit);
  const { routes } = translation;
  for (const { methods, path, limits } of routes) {
    if (methods[0] === 'WS') continue;
    const own = running.keep(path, limits.map(limitHono));
    // Hono answers HEAD by the handler for GET.
    app.on(methods, path, ...own, (context) => context.text(
      tellOf(context.get('rateLimit')), statusOf(context)));
  }
  running.server = serve(
    { fetch: app.fetch, port: 0, hostname: '127.0.0.1' });
  withSockets(running, running.server, routes);
  running.port = await listening(running.server);
  return running;
}

async function startHttp(scenario) {
  const translation = new Translation(scenario, (_request, response) => {
    response.statusCode = 418;
    response.end('breached');
  });
  const running = new Running(translation);
  const all = running.keep('*', everywhereOf(
    translation, limitHttp, (request) => request.url));
  const { routes } = translation;
  for (const { path, limits } of routes) {
    if (path !== '/ws') running.keep(path, limits.map(limitHttp));
  }
  running.server = createServer(async (request, response) => {
    const limits = [...all, ...running.limits.get(request.url) ?? []];
    let info;
    for (const limit of limits) {
      if (await limit(request, response)) return;
      info = limit.infoOf(request) ?? info;
    }
    response.writeHead(statusOf(request)).end(tellOf(info));
  }).listen(0, '127.0.0.1');
  withSockets(running, running.server, routes);
  running.port = await listening(running.server);
  return running;
}

async function startFetch(scenario) {
  const translation = new Translation(scenario,
    () => new Response('breached', { status: 418 }));
  const running = new Running(translation);
  const pathOf = ({ url }) => new URL(url).pathname;
  const all = running.keep('*', everywhereOf(translation, limitFetch, pathOf));
  const { routes } = translation;
  const handlers = new Map(routes.map(({ path, limits }) => {
    const own = path === '/ws' ? []
      : [...all, ...running.keep(path, limits.map(limitFetch))];
    const answer = (request) => {
      const infos = own.map((limit) => limit.infoOf(request));
      return new Response(tellOf(infos.findLast((info) => info)),
                          { status: statusOf(request) });
    };
    return [path, own.reduceRight((last, one) => one.wrap(last), answer)];
  }));
  running.server = serve({
    fetch: (request, env) => handlers.get(pathOf(request))(request, env),
    port: 0, hostname: '127.0.0.1' });
  withSockets(running, running.server, routes);
  running.port = await listening(running.server);
  return running;
}

/** Options that only the module of NestJS has. */
function routeOptions({ store, onStoreError, clock, limiter, ...own }) {
  const isGroup = own.name !== undefined && !own.name.includes(' ');
  return isGroup ? { ...own, perRoute: false } : own;
}

/** Adds a method to a controller, as decorators do. */
function addMethod(controller, name, { path, method, limits, isExempt }) {
  const { prototype } = controller;
  const run = { [name]: (request, response) => response
    .status(statusOf(request)).send(tellOf(request.rateLimit)) }[name];
  Object.defineProperty(prototype, name, { value: run, configurable: true });
  const descriptor = Object.getOwnPropertyDescriptor(prototype, name);
  Req()(prototype, name, 0);
  Res()(prototype, name, 1);
  RequestMapping({ path, method: RequestMethod[method] })(
    prototype, name, descriptor);
  if (isExempt) SkipLimit()(prototype, name, descriptor);
  if (limits.length > 0) Limit(limits)(prototype, name, descriptor);
}

async function startNest(scenario, adapter) {
  const translation = new Translation(scenario,
    () => new HttpException('breached', 418));
  const running = new Running(translation);
  const { routes, everywhere } = translation;
  const options = [...everywhere, ...routes.flatMap(({ limits }) => limits)];
  const of = (name) => options.find((one) => one[name])?.[name];
  class App {}
  Controller()(App);
  const names = [];
  for (const { methods, path, limits, isExempt } of routes) {
    if (methods[0] === 'WS') continue;
    for (const method of methods) {
      if (method === 'HEAD') continue;  // is answered by GET
      const name = `${method}${path.replace('/', '_')}`;
      const own = limits.map(routeOptions);
      addMethod(App, name, { path, method, limits: own, isExempt });
      names.push([path, name, own]);
    }
  }
  class Main {}
  Module({
    imports: [LimitModule.forRoot({
      limiter: of('limiter'), clock: of('clock'), store: of('store'),
      onStoreError: of('onStoreError'), logger: { warn() {} },
      throttlers: everywhere.map((one) => (
        { ...routeOptions(one), perRoute: false })) })],
    controllers: [App],
    providers: [{ provide: APP_GUARD, useClass: LimitGuard }],
  })(Main);
  const app = await NestFactory.create(Main, adapter, { logger: false });
  await app.listen(0, '127.0.0.1');
  const service = app.get(LimitService);
  for (const [path, name, limits] of names) {
    running.keep(path, limits.map((one) =>
      service.keysOf(App, name, one.name)));
  }
  running.server = app.getHttpServer();
  withSockets(running, running.server, routes);
  running.port = await listening(running.server);
  running.close = () => app.close();
  return running;
}

export const STARTS = {
  express: startExpress, fastify: startFastify, koa: startKoa, hono: startHono,
  http: startHttp, fetch: startFetch,
  'NestJS on Express': (scenario) => startNest(scenario, new ExpressAdapter()),
  'NestJS on Fastify': (scenario) => startNest(scenario, new FastifyAdapter()),
};

/** Sends a request, or asks for a WebSocket. */
export function ask(port, text, headers) {
  const [method, path] = text.split(' ');
  const isSocket = method === 'WS';
  return new Promise((resolve, reject) => {
    const request = requestOf({
      port, path, host: '127.0.0.1', agent: false,
      method: isSocket ? 'GET' : method, headers: isSocket
        ? { ...headers, Connection: 'Upgrade', Upgrade: 'websocket',
            'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
            'Sec-WebSocket-Version': '13' } : headers });
    request.on('upgrade', (response, socket) => {
      socket.destroy();
      resolve({ status: 200, headers: response.headers, text: '' });
    });
    request.on('response', async (response) => {
      let text = '';
      response.setEncoding('utf8');
      for await (const chunk of response) text += chunk;
      resolve({ status: response.statusCode, headers: response.headers, text });
    });
    request.on('error', reject);
    request.end();
  });
}
