/**
 * Limits before a Hono app, or a part of it, on Node.js.
 *
 *     import { rateLimit } from 'limitree/hono';
 *     app.use(rateLimit({ limit: 100, windowMs: 60_000 }));
 */

import type { Context, MiddlewareHandler, Next } from 'hono';

import type { IpRequest } from './address.js';
import type { Headers } from './headers.js';
import { Answers, forFramework } from './web/answer.js';
import { Gate } from './web/gate.js';
import type { Controls, RateLimitInfo } from './web/gate.js';
import type { WebOptions } from './web/options.js';
import { ipOfPeer } from './web/peer.js';
import type { Framework } from './web/subject.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/gate.js';
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

/** The request of Node.js from which @hono/node-server made the context. */
function incomingOf(context: Context): IpRequest | undefined {
  return (context.env as { incoming?: IpRequest } | undefined)?.incoming;
}

const HONO: Framework<Context> = {
  options: ['handler', 'requestPropertyName'],
  ipOf: (context) => ipOfPeer(incomingOf(context)),
  trustOf: (context) => ({
    headers: context.req.header(), believes: false, believesAll: false,
    advice: 'give clientIp: clientIp({trustedProxies: [...]})' }),
  requestOf: (context) => incomingOf(context) ??
    { socket: {}, headers: context.req?.header?.() ?? {} },
  whyNoAddress(context) {
    if (incomingOf(context) !== undefined) return undefined;
    return typeof context.req?.header === 'function'
      ? 'only requests that @hono/node-server has received tell it, so with ' +
        'app.request(), Bun and Deno give keyGenerator'
      : 'Hono has not made this request: use the middleware for your framework';
  },
};

/** The status that nginx uses; nobody receives it. */
const CLIENT_HAS_GONE = 499;

/** Adds to the answer; the fields of the draft are lists. */
function addHeaders(context: Context, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    const before = name.startsWith('RateLimit')
      ? context.res.headers.get(name) : null;
    context.header(name, before === null ? value : `${value}, ${before}`);
  }
}

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
  const answers = new Answers(options, 'epoch');
  const property = options.requestPropertyName ?? 'rateLimit';
  const { handler } = options;

  async function deny(context: Context, info: RateLimitInfo) {
    if (handler !== undefined) return handler(context, info);
    const body = await answers.bodyOf(info, context, undefined);
    return new Response(body.text, {
      status: answers.statusCode,
      headers: { 'Content-Type': body.type, 'Cache-Control': 'no-store' } });
  }

  /** Returns any answer if the client has gone; otherwise throws. */
  function drop(context: Context, error: unknown): void {
    if (!gate.hasGone(context)) throw forFramework(error);
    context.res = new Response(null, { status: CLIENT_HAS_GONE });
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
      await next();
    }
    addHeaders(context, answers.headersOf(info));
    if (gate.refunds && !decision.limited) {
      await gate.settle(info, context, undefined, context.res.status);
    }
    return undefined;
  };
  return Object.assign(middleware, gate.controls);
}

export default rateLimit;
