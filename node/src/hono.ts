/**
 * Limits before a Hono app, or a part of it, on Node.js.
 *
 *     import { rateLimit } from 'limitree/hono';
 *     app.use(rateLimit({ limit: 100, windowMs: 60_000 }));
 */

import type { Context, MiddlewareHandler, Next } from 'hono';

import { isOpen } from './reservation.js';
import { forFramework } from './web/answer.js';
import {
  addHeaders, answerOf, toNobody, toResponse, watched,
} from './web/fetch_body.js';
import { connectionOf, nodeOf } from './web/fetch_peer.js';
import { Gate, type Controls } from './web/gate.js';
import { isFree, type RateLimitInfo } from './web/info.js';
import type { WebOptions } from './web/options.js';
import { ipOfPeer, trustOfNobody } from './web/peer.js';
import type { Server } from './web/subject.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

export interface HonoOptions extends WebOptions<Context, undefined> {
  /** Answers a denial, in the place of `message`; headers are added to it. */
  readonly handler?: ((
    context: Context,
    info: RateLimitInfo,
  ) => Response | Promise<Response>) | undefined;
  /**
   * The variable of the context with the decision, a RateLimitInfo.
   * Default `"rateLimit"`.
   */
  readonly requestPropertyName?: string | undefined;
}

declare module 'hono' {
  interface ContextVariableMap {
    /** The last decision about the request, where there is one. */
    rateLimit: RateLimitInfo;
  }
}

/** The middleware. */
export interface RateLimit extends MiddlewareHandler, Controls {}

/** The request with its connection, if this is a request of Hono. */
function requestOf({ env, req }: Context) {
  const { incoming } = nodeOf(env);
  if (incoming !== undefined) return incoming;
  return typeof req?.header === 'function' ? connectionOf(req.raw, env)
    : { socket: {}, headers: {} };
}

const HONO: Server<Context, undefined> = {
  options: ['handler', 'requestPropertyName'],
  ipOf: (context) => ipOfPeer(requestOf(context)),
  trustOf: (context) => trustOfNobody(context.req.header()),
  requestOf,
  responseOf: (context) => nodeOf(context.env).outgoing,
  signalOf: ({ env, req }) => nodeOf(env).incoming !== undefined ? undefined
    : req?.raw?.signal,
  whyNoAddress(context) {
    if (nodeOf(context.env).incoming !== undefined) return undefined;
    return typeof context.req?.header === 'function'
      ? 'only requests that @hono/node-server, Bun.serve or Deno.serve has ' +
        'received tell it, so with app.request() give keyGenerator'
      : 'Hono has not made this request: use the middleware for your framework';
  },
};

/**
 * Returns a middleware that passes requests within the limits, and answers all
 * others, by default with 429 and `application/problem+json`.  Every response
 * gets headers, also those to errors.
 *
 * Throws a StoreError if the store fails and `onStoreError` is `"raise"`; Hono
 * answers it with 503 unless `app.onError` handles it.  Throws all other errors
 * unchanged.  A request whose client has gone is dropped.
 *
 * Throws ConfigError for unknown options.
 */
export function rateLimit(options: HonoOptions): RateLimit {
  const gate = new Gate(options, HONO);
  const { answers } = gate;
  const property = options.requestPropertyName ?? 'rateLimit';
  const { handler } = options;

  async function deny(context: Context, info: RateLimitInfo) {
    if (handler !== undefined) return handler(context, info);
    return toResponse(await answers.bodyOf(info, context, undefined),
                      answers.statusOf(info));
  }

  /** Returns any answer if the client has gone; otherwise throws. */
  function drop(context: Context, error: unknown): void {
    if (!gate.hasGone(context, undefined)) throw forFramework(error);
    context.res = toNobody();
  }

  /** Runs the handlers; what they throw passes here if it is no Error. */
  async function goOn(next: Next, info: RateLimitInfo): Promise<void> {
    try {
      await next();
    } catch (error) {
      if (info.reservation !== undefined) void gate.giveBack(info);
      throw error;
    }
  }

  /** Ends a request that has no connection of Node.js. */
  async function finish(context: Context, info: RateLimitInfo): Promise<void> {
    const answer = answerOf(context.res);
    const end = (wasSent: boolean) =>
      gate.afterwards.end(info, context, undefined, wasSent, answer);
    const { reservation } = info;
    if (!reservation || !isOpen(reservation)) return end(true);
    context.res = watched(context.res, end);
    return undefined;
  }

  const middleware = async (context: Context, next: Next): Promise<void> => {
    let info: RateLimitInfo | undefined;
    try {
      info = await gate.decide(context, undefined);
    } catch (error) {
      return drop(context, error);
    }
    if (info === undefined) return next();
    context.set(property, info);
    const { decision } = info;
    if (decision.limited) {
      try {
        context.res = await deny(context, info);
      } catch (error) {
        return drop(context, error);
      }
    } else {
      await goOn(next, info);
    }
    try {
      addHeaders(context.res, answers.headersOf(info),
                 (name, value) => context.header(name, value));
      // On other servers, and in tests without one.
      if (nodeOf(context.env).incoming === undefined && !isFree(info)) {
        await finish(context, info);
      }
    } catch (error) {  // the body is taken
      if (info.reservation !== undefined) await gate.giveBack(info);
      throw error;
    }
    return undefined;
  };
  return Object.assign(middleware, gate.controls);
}

export default rateLimit;
