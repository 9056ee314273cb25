// The limits of a Fastify instance and of its routes.

import type {
  FastifyInstance, FastifyReply, FastifyRequest, HookHandlerDoneFunction,
  onRequestHookHandler } from 'fastify';

import {
  OF_STORE, PLUGIN_NAMES, ROUTE_NAMES, checkHook, contextOf, renamed,
  type FastifyOptions, type FastifyRouteOptions, type Hook, type Options,
} from './fastify_options.js';
import { FastifyStore } from './fastify_store.js';
import type { Segment } from './paths.js';
import { forFramework } from './web/answer.js';
import { Gate, type KeyControls } from './web/gate.js';
import { RateLimitInfo } from './web/info.js';
import { isPromise } from './web/maybe.js';
import { checkNames, storeOptionsOf } from './web/options.js';
import { refuse } from './web/refuse.js';
import { Exempt } from './web/plain.js';
import { windowOf } from './web/plain_node.js';
import type { PlainTree } from './web/plain_tree.js';
import { writeHeaders } from './web/response.js';
import {
  PLAIN, plainSubject, plainTreeOf, subjectOf } from './web/subject.js';
import type { Server, Subject } from './web/subject.js';
import type { Logger } from './web/warnings.js';

const FASTIFY: Server<FastifyRequest, FastifyReply> = {
  options: ROUTE_NAMES,
  ipOf: (request) => request.ip,
  trustOf: (request) => ({
    headers: request.headers,
    believes: request.ips !== undefined,
    believesAll: false,
    advice: 'set trustProxy to the networks of your proxies' }),
  takesKey: true,
  reset: 'delta',
  requestOf: (request) => request.raw === undefined ? undefined : request,
  responseOf: (_, reply) => reply.raw,
};

/** What `createRateLimit()` knows about a request. */
export type Inspected =
  | { readonly isAllowed: true; readonly key: Segment }
  | {
    readonly isAllowed: false;
    readonly key: Segment;
    readonly max: number;
    readonly timeWindow: number;
    readonly remaining: number;
    /** Milliseconds until the client has all requests, or may come back. */
    readonly ttl: number;
    readonly ttlInSeconds: number;
    readonly isExceeded: boolean;
    readonly isBanned: boolean;
  };

/** Decides about a request, and answers nobody. */
export type Inspect = (
  request: FastifyRequest,
  options?: { readonly increment?: boolean | undefined },
) => Promise<Inspected>;

/** A hook, and where it belongs. */
export interface Placed {
  readonly hook: Hook;
  readonly run: LimitHook;
}

/** A hook, with what can be done about the clients that it limits. */
export type LimitHook = onRequestHookHandler & KeyControls;

type OneGate = Gate<FastifyRequest, FastifyReply>;
type OneSubject = Subject<FastifyRequest, FastifyReply>;

/** The limits of an instance and of its routes. */
export class Plugin {
  readonly #options: Options;
  readonly #own: OneSubject | undefined;
  readonly #tree: PlainTree | undefined;  // of plain limits
  readonly #store: FastifyStore | undefined;  // if it is a class
  readonly #subjects: OneSubject[] = [];
  readonly #gates: OneGate[] = [];
  readonly #log: Logger | undefined;

  constructor(given: FastifyOptions, log: FastifyInstance['log']) {
    checkNames(given, PLUGIN_NAMES);
    const { global: isGlobal, ...others } = renamed(given) as FastifyOptions;
    checkHook(others.hook ?? 'onRequest');
    if (typeof others.store === 'function') {
      this.#store = new FastifyStore(
        new others.store(paramsOf(others as Options) as never));
    }
    const store = this.#store ?? others.store;
    const options = { ...others, store } as Options;
    this.#options = options;
    // Without a logger, Fastify has a dummy whose functions are all the same.
    this.#log = (log.warn as unknown) === log.trace ? undefined : log;
    const isPlain =
      options.limiter === undefined && options.limits === undefined;
    if (isPlain) this.#tree = plainTreeOf(options);
    if (!isPlain) {
      this.#own = subjectOf(options, FASTIFY);
    } else if (isGlobal !== false || options.limit !== undefined) {
      this.#own = plainSubject(this.#tree!, options, FASTIFY, options.groupId);
    }
    if (this.#own !== undefined) this.#subjects.push(this.#own);
  }

  /** The hook for routes without their own options. */
  ownHook(): Placed {
    return hookOf(this.#options, this.#gateOf(this.#options, this.#own));
  }

  /** The hook for a route with its own options. */
  hook(given: FastifyRouteOptions, name?: string, route?: object): Placed {
    const [options, subject] = this.#read(given, name, route);
    return hookOf(options, this.#gateOf(options, subject));
  }

  /** A function that decides where a handler asks it. */
  inspect(given: FastifyRouteOptions): Inspect {
    const [options, subject] = this.#read(given);
    const gate = this.#gateOf(options, subject);
    return async (request, { increment = true } = {}) => {
      const found = await gate.inspect(request, undefined as never, increment);
      if (found instanceof Exempt) return { isAllowed: true, key: found.key };
      return inspected(gate, found);
    };
  }

  #gateOf(options: Options, subject: OneSubject | undefined): OneGate {
    const gate = new Gate(options, FASTIFY, subject, this.#log);
    this.#gates.push(gate);
    return gate;
  }

  /** The options of a route together with the plugin's, and what it limits. */
  #read(
    given: FastifyRouteOptions,
    name?: string,
    route?: object,
  ): [Options, OneSubject] {
    checkNames(given, FASTIFY.options);
    const own = renamed(given);
    const options = { ...this.#options, ...own };
    checkHook(options.hook ?? 'onRequest');
    const words = new Set(Object.keys(own));
    const forbidden = ['limiter', 'limits', 'clock', 'store',
                       ...Object.keys(storeOptionsOf(own)),
                       ...this.#store === undefined ? OF_STORE : []];
    for (const word of forbidden) {
      if (words.has(word)) {
        refuse(`${word} cannot be given for a route: give it to the plugin`);
      }
    }
    if ([...PLAIN, 'groupId'].some((word) => words.has(word))) {
      return this.#readPlain(own, options, name, route);
    }
    if (this.#own === undefined) {
      refuse('there are no limits: give limit, to the plugin or to the route');
    }
    if (own.path === undefined) return [options, this.#own];
    if (this.#tree !== undefined) {
      refuse('path leads through a tree of limits: give the plugin limiter ' +
        'or limits');
    }
    return [options, { ...this.#own, pathOf: own.path, identity: own.path }];
  }

  #readPlain(
    own: Options,
    options: Options,
    name?: string,
    route?: object,
  ): [Options, OneSubject] {
    if (this.#tree === undefined) {
      refuse('a route whose plugin has a tree of limits is limited by ' +
        'that: give path');
    }
    // A route does not inherit the plugin's name, nor, if it has its own
    // keyGenerator, the plugin's options for addresses.
    const { ipv6Subnet, clientIp } = own.keyGenerator ? own : options;
    const store = this.#store?.child(
      { ...paramsOf(options), routeInfo: route ?? {} }) ?? options.store;
    const plain = { ...options, name: own.name, ipv6Subnet, clientIp, store };
    const subject =
      plainSubject(this.#tree, plain, FASTIFY, own.groupId ?? name);
    this.#subjects.push(subject);
    return [plain, subject];
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

/** The options in the form for stores of @fastify/rate-limit. */
function paramsOf(options: Options): object {
  const { limit, windowMs = 60_000, store: _, ...others } = options;
  return { ...others, max: limit,
           timeWindow: typeof windowMs === 'function' ? windowMs
             : windowOf(windowMs) };
}

function inspected(gate: OneGate, info: RateLimitInfo): Inspected {
  const { decision, limit, key, isBanned } = info;
  const asked = gate.askedOf(info);
  const level = decision.levels?.find((one) => one.limit === limit);
  const ms = decision.limited ? decision.retryAfterMs
    : decision.bindingResetAfterMs;
  return {
    isAllowed: false, key: asked?.key ?? key ?? '', max: limit,
    timeWindow: asked?.windowMs ?? level?.windowMs ?? 0,
    remaining: decision.remaining, ttl: Math.ceil(ms),
    ttlInSeconds: Math.ceil(ms / 1000), isExceeded: decision.limited,
    isBanned };
}

function hookOf(options: Options, gate: OneGate): Placed {
  const { answers } = gate;
  const { handler, errorResponseBuilder, hook = 'onRequest' } = options;

  async function deny(
    request: FastifyRequest,
    reply: FastifyReply,
    info: RateLimitInfo,
  ): Promise<void> {
    if (errorResponseBuilder !== undefined) {
      throw await errorResponseBuilder(
        request, contextOf(info, answers.statusOf(info)));
    }
    if (handler !== undefined) {
      await handler(request, reply, info);
      return;
    }
    const body = await answers.bodyOf(info, request, reply);
    if (!reply.hasHeader('cache-control')) {
      reply.header('cache-control', 'no-store');
    }
    // Fastify would add a charset to a text.
    reply.code(answers.statusOf(info)).header('content-type', body.type)
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
    writeHeaders(reply.raw, answers.headersOf(info), info);
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

  const run: onRequestHookHandler = (request, reply, done): void => {
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
  return { hook, run: Object.assign(run, gate.keyControls) };
}
