/**
 * A Fastify plugin that limits the routes of an app, or of a part of it.
 *
 *     import limitree from 'limitree/fastify';
 *     await app.register(limitree, { limit: 100, windowMs: 60_000 });
 */

import type {
  FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest,
  HookHandlerDoneFunction, RouteOptions, onRequestHookHandler } from 'fastify';

import { Answers } from './web/answer.js';
import { Gate, RateLimitInfo, isStoreTrouble } from './web/gate.js';
import { isPromise } from './web/maybe.js';
import { checkNames, refuse, storeOptionsOf } from './web/options.js';
import type { WebOptions } from './web/options.js';
import type { PlainTree } from './web/plain_tree.js';
import { whenOver, writeHeaders } from './web/response.js';
import {
  PLAIN, plainSubject, plainTreeOf, subjectOf } from './web/subject.js';
import type { Framework, Subject } from './web/subject.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/gate.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

/** The hooks that can decide: later ones know more of the request. */
export type Hook =
  'onRequest' | 'preParsing' | 'preValidation' | 'preHandler';

const HOOKS: readonly Hook[] = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler'];

/** What a route can say of itself, as `config: {rateLimit: ...}`. */
export interface FastifyRouteOptions
  extends WebOptions<FastifyRequest, FastifyReply> {
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
   * Whether routes that say nothing of themselves are limited, and requests for
   * which there is no route.  Default true.
   */
  readonly global?: boolean | undefined;
  /** When it is decided.  Default `"onRequest"`. */
  readonly hook?: Hook | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What limits the route, in the place of what limits all; or false. */
    rateLimit?: FastifyRouteOptions | false;
  }

  interface FastifyRequest {
    /** What was decided last about the request; null if nothing was. */
    rateLimit: RateLimitInfo | null;
  }

  interface FastifyInstance {
    /** A hook with these options, for a route or the handler of 404s. */
    rateLimit(options?: FastifyRouteOptions): onRequestHookHandler;
  }
}

const FASTIFY: Framework<FastifyRequest> = {
  options: ['handler', 'timeWindow'],
  ipOf: (request) => request.ip,
  trustOf: (request) => ({
    headers: request.headers,
    believes: request.ips !== undefined,
    believesAll: false,
    advice: 'set trustProxy to the networks of your proxies' }),
  requestOf: (request) => request,
};

type Options = FastifyRouteOptions;

/** With one name for each thing. */
function renamed<T extends Options>(options: T): T {
  const { timeWindow, max, ...others } = options;
  return {
    ...timeWindow === undefined ? {} : { windowMs: timeWindow },
    ...max === undefined ? {} : { limit: max }, ...others,
  } as unknown as T;
}

/** An error of the store, without what is nobody's business but ours. */
function unavailable(error: Error & { readonly code: string }): Error {
  const told = new Error('the limits cannot be checked now', { cause: error });
  return Object.assign(told, {
    code: error.code, statusCode: 503,
    headers: { 'Retry-After': '1', 'Cache-Control': 'no-store' } });
}

/** The limits of an instance and of its routes. */
class Plugin {
  readonly #options: FastifyOptions;
  readonly #own: Subject<FastifyRequest, FastifyReply> | undefined;
  readonly #tree: PlainTree | undefined;  // of plain limits

  constructor(given: FastifyOptions) {
    checkNames(given, [...FASTIFY.options, 'global', 'hook']);
    const { global: _, hook: __, ...others } = renamed(given);
    const options: Options = others;
    this.#options = options;
    const isPlain =
      options.limiter === undefined && options.limits === undefined;
    if (isPlain) this.#tree = plainTreeOf(options);
    if (!isPlain) {
      this.#own = subjectOf(options, FASTIFY);
    } else if (given.global !== false || options.limit !== undefined) {
      this.#own = plainSubject(this.#tree!, options, FASTIFY);
    }
  }

  /** The hook for whom says nothing of its own. */
  ownHook(): onRequestHookHandler {
    return hookOf(this.#options, this.#own);
  }

  /** The hook for a route that does. */
  hook(given: Options, name?: string): onRequestHookHandler {
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
      // The name of all is not the name of one, and a key of its own is not
      // for what the plugin says of addresses.
      const { ipv6Subnet, clientIp } = own.keyGenerator ? own : options;
      const plain = { ...options, name: own.name, ipv6Subnet, clientIp };
      return hookOf(plain, plainSubject(this.#tree, plain, FASTIFY, name));
    }
    if (this.#own === undefined) {
      refuse('there are no limits: give limit, to the plugin or to the route');
    }
    if (own.path === undefined) return hookOf(options, this.#own);
    if (this.#tree !== undefined) {
      refuse('path leads through a tree of limits: give the plugin limiter ' +
        'or limits');
    }
    return hookOf(options, { ...this.#own, pathOf: own.path });
  }

  /** Makes the limiter: what is wrong with the store is said at the start. */
  ready(): void {
    if (this.#tree?.isEmpty === false) void this.#tree.limiter;
  }

  async close(): Promise<void> {
    await this.#own?.close();
    await this.#tree?.close();
  }
}

function hookOf(
  options: Options,
  subject: Subject<FastifyRequest, FastifyReply> | undefined,
): onRequestHookHandler {
  const gate = new Gate(options, FASTIFY, subject);
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
    // To a text Fastify would add what it thinks the charset is.
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
    // On the raw response they are there for who writes to it directly, too.
    writeHeaders(reply.raw, answers.headersOf(info));
    if (info.decision.limited) {
      deny(request, reply, info).catch((error: Error) => done(error));
      return undefined;
    }
    if (gate.refunds) {
      whenOver(reply.raw, (isComplete) => void gate.settle(
        info, request, reply, isComplete ? reply.statusCode : undefined));
    }
    return done();
  }

  return (request, reply, done): void => {
    const fail = (error: unknown) => done(
      isStoreTrouble(error) ? unavailable(error) : error as Error);
    let info;
    try {
      info = gate.decide(request, reply);
    } catch (error) {
      return fail(error);
    }
    if (!isPromise(info)) return go(request, reply, done, info);
    info.then((one) => go(request, reply, done, one), fail);
    return undefined;
  };
}

type AnyHook = (...args: unknown[]) => unknown;

/** The same for a hook that gets the body in between. */
function placed(hook: Hook, handler: onRequestHookHandler): AnyHook {
  const run = handler as unknown as AnyHook;
  if (hook !== 'preParsing') return run;
  return (request, reply, _payload, done) => run(request, reply, done);
}

/** Puts the hook of a route before those that it has. */
function addTo(route: RouteOptions, hook: Hook, handler: AnyHook): void {
  const routes = route as unknown as Record<Hook, AnyHook | AnyHook[]>;
  const there = routes[hook] ?? [];
  routes[hook] = [handler, ...Array.isArray(there) ? there : [there]];
}

/** `GET/orders/:id`, what the limits of a route are called. */
function nameOf(route: RouteOptions): string {
  return `${String(route.method)}${route.url.replaceAll('*', '+')}`;
}

const plugin: FastifyPluginAsync<FastifyOptions> = async (
  instance: FastifyInstance,
  options: FastifyOptions,
): Promise<void> => {
  const { global: isGlobal = true, hook = 'onRequest' } = options;
  if (!HOOKS.includes(hook)) {
    refuse(`hook must be one of ${HOOKS.join(', ')}, is ${String(hook)}`);
  }
  const limits = new Plugin(options);
  if (!instance.hasRequestDecorator('rateLimit')) {
    instance.decorateRequest('rateLimit', null);
  }
  if (!instance.hasDecorator('rateLimit')) {
    instance.decorate('rateLimit',
      (own?: FastifyRouteOptions) => limits.hook(own ?? {}));
  }
  let special = false;
  instance.addHook('onRoute', (route) => {
    const own = route.config?.rateLimit;
    if (own === undefined) return;
    special = true;
    if (own === false) return;
    if (typeof own !== 'object' || own === null) {
      refuse(`config.rateLimit of ${nameOf(route)} must be false or an object`);
    }
    addTo(route, hook, placed(hook, limits.hook(own, nameOf(route))));
  });
  if (isGlobal) {
    const run = limits.ownHook() as unknown as AnyHook;
    const unlessOwn: onRequestHookHandler = (request, reply, done) => {
      if (special && request.routeOptions.config.rateLimit !== undefined) {
        done();
      } else {
        run(request, reply, done);
      }
    };
    instance.addHook(hook as 'onRequest',
                     placed(hook, unlessOwn) as onRequestHookHandler);
  }
  instance.addHook('onReady', async () => limits.ready());
  instance.addHook('onClose', () => limits.close());
};

/** For the instance that registers it, and not only for itself. */
export const limitree = Object.assign(plugin, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'limitree',
  [Symbol.for('plugin-meta')]: { fastify: '5.x', name: 'limitree' },
});

export default limitree;
