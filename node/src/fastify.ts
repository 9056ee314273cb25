/**
 * A Fastify plugin that limits the routes of an app, or of a part of it.
 *
 *     import limitree from 'limitree/fastify';
 *     await app.register(limitree, { limit: 100, windowMs: 60_000 });
 */

import type {
  FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest,
  HookHandlerDoneFunction, RouteOptions, onRequestHookHandler } from 'fastify';

import type { Segment } from './paths.js';
import { shown } from './words.js';
import { Answers, forFramework } from './web/answer.js';
import { Gate } from './web/gate.js';
import type { RateLimitInfo } from './web/info.js';
import { isPromise } from './web/maybe.js';
import type { Maybe } from './web/maybe.js';
import { checkNames, refuse, storeOptionsOf } from './web/options.js';
import type { WebOptions } from './web/options.js';
import type { PlainTree } from './web/plain_tree.js';
import { writeHeaders } from './web/response.js';
import {
  PLAIN, plainSubject, plainTreeOf, subjectOf } from './web/subject.js';
import type { Server, Subject } from './web/subject.js';
import { warnOnce } from './web/warnings.js';
import type { Logger } from './web/warnings.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

/** The hooks that can decide; later ones know more about the request. */
export type Hook =
  'onRequest' | 'preParsing' | 'preValidation' | 'preHandler';

const HOOKS: readonly Hook[] = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler'];

export type FastifyLimit =
  number | ((request: FastifyRequest, key: Segment) => Maybe<number>);

/** The options of a route, in `config: {rateLimit: ...}`. */
export interface FastifyRouteOptions
  extends Omit<WebOptions<FastifyRequest, FastifyReply>, 'limit' | 'max'> {
  /**
   * The requests of a client in `windowMs`; a function gets the result of
   * `keyGenerator`.
   */
  readonly limit?: FastifyLimit | undefined;
  /** Another name for `limit`. */
  readonly max?: FastifyLimit | undefined;
  /** Another name for `windowMs`. */
  readonly timeWindow?: number | undefined;
  /**
   * Answers a denial, in the place of `message`; headers are set already.  It
   * must send the reply.
   */
  readonly handler?: ((
    request: FastifyRequest,
    reply: FastifyReply,
    info: RateLimitInfo,
  ) => unknown) | undefined;
}

export interface FastifyOptions extends FastifyRouteOptions {
  /**
   * Whether to limit routes without options of their own, and requests without
   * a route.  Default true.
   */
  readonly global?: boolean | undefined;
  /** The hook that decides.  Default `"onRequest"`. */
  readonly hook?: Hook | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Replaces the common limits for this route; false: no limits. */
    rateLimit?: FastifyRouteOptions | false;
  }

  interface FastifyRequest {
    /** The last decision about the request; null if there is none. */
    rateLimit: RateLimitInfo | null;
  }

  interface FastifyInstance {
    /** A hook with these options, for a route or the handler of 404s. */
    rateLimit(options?: FastifyRouteOptions): onRequestHookHandler;
  }
}

const FASTIFY: Server<FastifyRequest, FastifyReply> = {
  options: ['handler', 'timeWindow'],
  ipOf: (request) => request.ip,
  trustOf: (request) => ({
    headers: request.headers,
    believes: request.ips !== undefined,
    believesAll: false,
    advice: 'set trustProxy to the networks of your proxies' }),
  limitTakesKey: true,
  requestOf: (request) => request.raw === undefined ? undefined : request,
  responseOf: (_, reply) => reply.raw,
};

/** The options without their other names. */
type Options = WebOptions<FastifyRequest, FastifyReply> &
  Pick<FastifyOptions, 'handler' | 'global' | 'hook'>;

function renamed(options: FastifyOptions): Options {
  const { timeWindow, max, ...others } = options;
  return {
    ...timeWindow === undefined ? {} : { windowMs: timeWindow },
    ...max === undefined ? {} : { limit: max }, ...others,
  } as Options;
}

/** The config of a route; the plugin marks the routes that it has seen. */
interface Marks {
  readonly [mark: symbol]: true | undefined;
  readonly rateLimit?: unknown;
}

/** The limits of an instance and of its routes. */
class Plugin {
  readonly #options: Options;
  readonly #own: Subject<FastifyRequest, FastifyReply> | undefined;
  readonly #tree: PlainTree | undefined;  // of plain limits
  readonly #subjects: Subject<FastifyRequest, FastifyReply>[] = [];
  readonly #gates: Gate<FastifyRequest, FastifyReply>[] = [];
  readonly #log: Logger | undefined;

  constructor(given: FastifyOptions, log: FastifyInstance['log']) {
    checkNames(given, [...FASTIFY.options, 'global', 'hook']);
    const { global: _, hook: __, ...options } = renamed(given);
    this.#options = options;
    // Without a logger, Fastify has a dummy whose functions are all the same.
    this.#log = (log.warn as unknown) === log.trace ? undefined : log;
    const isPlain =
      options.limiter === undefined && options.limits === undefined;
    if (isPlain) this.#tree = plainTreeOf(options);
    if (!isPlain) {
      this.#own = subjectOf(options, FASTIFY);
    } else if (given.global !== false || options.limit !== undefined) {
      this.#own = plainSubject(this.#tree!, options, FASTIFY);
    }
    if (this.#own !== undefined) this.#subjects.push(this.#own);
  }

  /** The hook for routes without their own options. */
  ownHook(): onRequestHookHandler {
    return this.#hookOf(this.#options, this.#own);
  }

  #hookOf(
    options: Options,
    subject: Subject<FastifyRequest, FastifyReply> | undefined,
  ): onRequestHookHandler {
    const gate = new Gate(options, FASTIFY, subject, this.#log);
    this.#gates.push(gate);
    return hookOf(options, gate);
  }

  /** The hook for a route with its own options. */
  hook(given: FastifyRouteOptions, name?: string): onRequestHookHandler {
    checkNames(given, FASTIFY.options);
    const own = renamed(given);
    const options = { ...this.#options, ...own };
    const words = new Set(Object.keys(own));
    for (const word of ['limiter', 'limits', 'clock',
                        ...Object.keys(storeOptionsOf(own))]) {
      if (words.has(word)) {
        refuse(`${word} cannot be given for a route: give it to the plugin`);
      }
    }
    if (PLAIN.some((word) => words.has(word))) {
      if (this.#tree === undefined) {
        refuse('a route whose plugin has a tree of limits is limited by ' +
          'that: give path');
      }
      // A route does not inherit the plugin's name, nor, if it has its own
      // keyGenerator, the plugin's options for addresses.
      const { ipv6Subnet, clientIp } = own.keyGenerator ? own : options;
      const plain = { ...options, name: own.name, ipv6Subnet, clientIp };
      const subject = plainSubject(this.#tree, plain, FASTIFY, name);
      this.#subjects.push(subject);
      return this.#hookOf(plain, subject);
    }
    if (this.#own === undefined) {
      refuse('there are no limits: give limit, to the plugin or to the route');
    }
    if (own.path === undefined) return this.#hookOf(options, this.#own);
    if (this.#tree !== undefined) {
      refuse('path leads through a tree of limits: give the plugin limiter ' +
        'or limits');
    }
    return this.#hookOf(
      options, { ...this.#own, pathOf: own.path, identity: own.path });
  }

  /** Makes the limiters, so that a wrong store is reported at the start. */
  ready(): void {
    for (const subject of this.#subjects) void subject.limiter;
  }

  async close(): Promise<void> {
    for (const { afterwards } of this.#gates) await afterwards.settled();
    for (const subject of this.#subjects) await subject.close();
  }
}

function hookOf(
  options: Options,
  gate: Gate<FastifyRequest, FastifyReply>,
): onRequestHookHandler {
  const answers = new Answers(options, 'delta');
  const { handler } = options;

  async function deny(
    request: FastifyRequest,
    reply: FastifyReply,
    info: RateLimitInfo,
  ): Promise<void> {
    if (handler !== undefined) {
      await handler(request, reply, info);
      return;
    }
    const body = await answers.bodyOf(info, request, reply);
    if (!reply.hasHeader('cache-control')) {
      reply.header('cache-control', 'no-store');
    }
    // Fastify would add a charset to a text.
    reply.code(answers.statusCode).header('content-type', body.type)
      .send(Buffer.from(body.text));
  }

  function go(
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
    info: RateLimitInfo | undefined,
  ): void {
    if (info === undefined) return done();
    request.rateLimit = info;
    if (reply.raw.headersSent) return undefined;
    // Written to the raw response, so that handlers that use it directly send
    // them, too.
    writeHeaders(reply.raw, answers.headersOf(info));
    if (info.decision.limited) {
      deny(request, reply, info).catch(
        (error: unknown) => fail(request, reply, done, error));
      return undefined;
    }
    return done();
  }

  function fail(
    request: FastifyRequest,
    reply: FastifyReply,
    done: HookHandlerDoneFunction,
    error: unknown,
  ): void {
    if (!gate.hasGone(request, reply)) {
      return done(forFramework(error) as Error);
    }
    reply.hijack();
    reply.raw.destroy();
    return undefined;
  }

  return (request, reply, done): void => {
    // A handler of 404s may have the same hook as the instance.
    if (gate.hasCounted(request)) return done();
    let info;
    try {
      info = gate.decide(request, reply);
    } catch (error) {
      return fail(request, reply, done, error);
    }
    if (!isPromise(info)) return go(request, reply, done, info);
    info.then((one) => go(request, reply, done, one),
              (error) => fail(request, reply, done, error));
    return undefined;
  };
}

type AnyHook = (...args: unknown[]) => unknown;

/**
 * Adapts the handler to a hook that also gets the body: Fastify checks the
 * number of parameters.
 */
function placed(
  hook: Hook,
  handler: onRequestHookHandler,
): onRequestHookHandler {
  if (hook !== 'preParsing') return handler;
  const run = handler as unknown as AnyHook;
  return ((request: unknown, reply: unknown, _body: unknown, done: unknown) =>
    run(request, reply, done)) as unknown as onRequestHookHandler;
}

/**
 * Puts a hook behind the other hooks of a route, which run after those of the
 * instance, so that it can use the results of all of them.
 */
function addTo(
  route: RouteOptions,
  hook: Hook,
  handler: onRequestHookHandler,
): void {
  const routes = route as unknown as Record<Hook, unknown>;
  routes[hook] = [routes[hook] ?? [], placed(hook, handler)].flat();
}

/**
 * The name of the limits of a route, such as `GET/orders/:id`.  HEAD counts as
 * GET: Fastify answers it with the same handler.
 */
function nameOf(route: RouteOptions): string {
  const methods = [route.method].flat().map(String)
    .map((method) => method === 'HEAD' ? 'GET' : method);
  return [...new Set(methods)].join() + route.url.replaceAll('*', '+');
}

/** The hook for requests without a route, and for earlier routes. */
function forOthers(
  mark: symbol,
  run: onRequestHookHandler,
): onRequestHookHandler {
  return function others(this: FastifyInstance, request, reply, done): unknown {
    const config = request.routeOptions.config as unknown as Marks | undefined;
    if (config?.[mark] === true || config?.rateLimit === false) return done();
    if (config?.rateLimit !== undefined) {
      warnOnce('LIMITREE_ROUTE_BEFORE_PLUGIN', 'the route ' +
        `${request.routeOptions.url} has a limit of its own, but the plugin ` +
        'came after it, so it has the limit of all: await ' +
        'app.register(limitree) before it');
    }
    return run.call(this, request, reply, done);
  };
}

const plugin: FastifyPluginAsync<FastifyOptions> = async (
  instance: FastifyInstance,
  options: FastifyOptions,
): Promise<void> => {
  const { global: isGlobal = true, hook = 'onRequest' } = options;
  if (!HOOKS.includes(hook)) {
    refuse(`hook must be one of ${HOOKS.join(', ')}, is ${shown(hook)}`);
  }
  const limits = new Plugin(options, instance.log);
  if (!instance.hasRequestDecorator('rateLimit')) {
    instance.decorateRequest('rateLimit', null);
  }
  if (!instance.hasDecorator('rateLimit')) {
    instance.decorate('rateLimit',
      (own?: FastifyRouteOptions) => limits.hook(own ?? {}));
  }
  const mark = Symbol('limitree');
  const run = isGlobal ? limits.ownHook() : undefined;
  instance.addHook('onRoute', (route) => {
    const own = route.config?.rateLimit;
    const config: object = { ...route.config, [mark]: true };
    route.config = config;
    if (own === false) return;
    if (own === undefined) {
      if (run !== undefined) addTo(route, hook, run);
      return;
    }
    if (typeof own !== 'object' || own === null) {
      refuse(`config.rateLimit of ${nameOf(route)} must be false or an object`);
    }
    addTo(route, hook, limits.hook(own, nameOf(route)));
  });
  if (run !== undefined) {
    instance.addHook(hook as 'onRequest', placed(hook, forOthers(mark, run)));
  }
  instance.addHook('onReady', async () => limits.ready());
  instance.addHook('onClose', () => limits.close());
};

/** The plugin; its hooks also apply to the instance that registers it. */
export const limitree = Object.assign(plugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'limitree',
  [Symbol.for('plugin-meta')]: { fastify: '5.x', name: 'limitree' },
});

export default limitree;
