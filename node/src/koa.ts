/**
 * Limits before a Koa app, or a part of it.
 *
 *     import { rateLimit } from 'limitree/koa';
 *     app.use(rateLimit({ limit: 100, windowMs: 60_000 }));
 */

import type { Context, Middleware, Next } from 'koa';

import type { Headers } from './headers.js';
import { forFramework } from './web/answer.js';
import { Gate, type Controls } from './web/gate.js';
import type { RateLimitInfo } from './web/info.js';
import type { WebOptions } from './web/options.js';
import { writeHeaders } from './web/response.js';
import type { Server } from './web/subject.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

export interface KoaOptions extends WebOptions<Context, undefined> {
  /** Answers a denial, in the place of `message`; headers are set already. */
  readonly handler?:
    ((context: Context, info: RateLimitInfo) => unknown) | undefined;
  /**
   * The property of `ctx.state` with the decision, a RateLimitInfo.
   * Default `"rateLimit"`.
   */
  readonly requestPropertyName?: string | undefined;
}

/** The middleware. */
export interface RateLimit extends Middleware, Controls {}

const KOA: Server<Context, undefined> = {
  options: ['handler', 'requestPropertyName'],
  ipOf: (context) => context.ip || undefined,
  trustOf(context) {
    const { proxy, maxIpsCount } = context.app as
      { proxy?: boolean; maxIpsCount?: number };
    return {
      headers: context.headers,
      believes: proxy === true,
      believesAll: proxy === true && !maxIpsCount,
      advice: 'give clientIp: clientIp({trustedProxies: [...]}), or set ' +
        'app.proxy and app.maxIpsCount to the number of proxies',
    };
  },
  requestOf: (context) =>
    context.req?.socket === undefined ? undefined : context.req,
  responseOf: (context) => context.res,
};

/** Koa removes all headers from the answer to an error except the error's. */
function keepHeaders(error: unknown, headers: Headers): unknown {
  if (typeof error === 'object' && error !== null) {
    const own = (error as { headers?: object }).headers;
    Object.assign(error, { headers: { ...headers, ...own } });
  }
  return error;
}

/**
 * Returns a middleware that passes requests within the limits, and answers all
 * others, by default with 429 and `application/problem+json`.  Every response
 * gets headers, also those to errors.
 *
 * Throws a StoreError with the `status` 503 if the store fails and
 * `onStoreError` is `"raise"`.  Throws all other errors unchanged, for the
 * error handlers of the app.  A request whose client has gone is dropped.
 *
 * Throws ConfigError for unknown options.
 */
export function rateLimit(options: KoaOptions): RateLimit {
  const gate = new Gate(options, KOA);
  const { answers } = gate;
  const property = options.requestPropertyName ?? 'rateLimit';
  const { handler } = options;

  async function deny(context: Context, info: RateLimitInfo): Promise<void> {
    if (handler !== undefined) {
      await handler(context, info);
      return;
    }
    const body = await answers.bodyOf(info, context, undefined);
    context.status = answers.statusOf(info);
    context.body = body.text;
    context.type = body.type;
    if (!context.response.get('Cache-Control')) {
      context.set('Cache-Control', 'no-store');
    }
  }

  /** Drops a request whose client has gone; otherwise throws. */
  function drop(context: Context, error: unknown): void {
    if (!gate.hasGone(context, undefined)) throw forFramework(error);
    context.respond = false;
    context.res.destroy();
  }

  async function go(
    context: Context,
    next: Next,
    info: RateLimitInfo,
  ): Promise<void> {
    context.state[property] = info;
    const headers = answers.headersOf(info);
    writeHeaders(context.res, headers, info);
    if (info.decision.limited) {
      try {
        await deny(context, info);
      } catch (error) {
        drop(context, error);
      }
      return;
    }
    try {
      await next();
    } catch (error) {
      throw keepHeaders(error, headers);
    }
  }

  const middleware = async (context: Context, next: Next): Promise<void> => {
    let info: RateLimitInfo | undefined;
    try {
      info = await gate.decide(context, undefined);
    } catch (error) {
      drop(context, error);
      return;
    }
    if (info === undefined) await next();
    else await go(context, next, info);
  };
  return Object.assign(middleware, gate.controls) as RateLimit;
}

export default rateLimit;
