/**
 * Limits before a Hono app, or a part of it, on Node.js.
 *
 *     import { rateLimit } from 'limitree/hono';
 *     app.use(rateLimit({ limit: 100, windowMs: 60_000 }));
 */

import type { Context, MiddlewareHandler, Next } from 'hono';

import { clientIp } from './address.js';
import type { IpRequest } from './address.js';
import type { Headers } from './headers.js';
import type { CloseOptions, Limiter } from './limiter.js';
import type { Segment } from './requests.js';
import { Answers, forFramework } from './web/answer.js';
import { Gate } from './web/gate.js';
import type { RateLimitInfo } from './web/gate.js';
import type { WebOptions } from './web/options.js';
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
   * The variable of the context with what was decided, a RateLimitInfo.
   * Default `"rateLimit"`.
   */
  readonly requestPropertyName?: string | undefined;
}

/** The middleware. */
export interface RateLimit extends MiddlewareHandler {
  readonly limiter: Limiter;
  /** Forgets what the client with this key has used; for plain limits. */
  resetKey(key: Segment): Promise<void>;
  /** Closes the limiter, unless that was given. */
  close(options?: CloseOptions): Promise<void>;
}

const peer = clientIp();

/** The request of Node's that @hono/node-server has made a context of. */
function incomingOf(context: Context): IpRequest | undefined {
  return (context.env as { incoming?: IpRequest } | undefined)?.incoming;
}

const HONO: Framework<Context> = {
  options: ['handler', 'requestPropertyName'],
  ipOf(context) {
    const address = incomingOf(context)?.socket.remoteAddress;
    return address === undefined ? undefined : peer.of(address);
  },
  trustOf: (context) => ({
    headers: context.req.header(), believes: false, believesAll: false,
    advice: 'give clientIp: clientIp({trustedProxies: [...]})' }),
  requestOf: (context) => incomingOf(context) ??
    { socket: {}, headers: context.req.header() },
};

/** Adds to the answer; the fields of the draft are lists. */
function addHeaders(context: Context, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) {
    const before = name.startsWith('RateLimit')
      ? context.res.headers.get(name) : null;
    context.header(name, before === null ? value : `${value}, ${before}`);
  }
}

/**
 * Returns a middleware that lets through what is within the limits, and answers
 * everything else: with 429 and `application/problem+json`, unless told
 * otherwise.  Every answer gets headers, that to an error as well.
 *
 * Throws a StoreError if the store fails and `onStoreError` is `"raise"`, which
 * Hono answers with 503 unless `app.onError` does it in another way, and every
 * other error as it is.
 *
 * Throws ConfigError for options that it does not understand.
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

  const middleware = async (context: Context, next: Next): Promise<void> => {
    let info: RateLimitInfo | undefined;
    try {
      info = await gate.decide(context, undefined);
    } catch (error) {
      throw forFramework(error);
    }
    if (info === undefined) return next();
    context.set(property, info);
    const { decision } = info;
    if (decision.limited) {
      context.res = await deny(context, info);
    } else {
      await next();
    }
    addHeaders(context, answers.headersOf(info));
    if (gate.refunds && !decision.limited) {
      await gate.settle(info, context, undefined, context.res.status);
    }
    return undefined;
  };
  return Object.assign(middleware, {
    limiter: gate.limiter,
    resetKey: (key: Segment) => gate.resetKey(key),
    close: (options?: CloseOptions) => gate.close(options),
  });
}

export default rateLimit;
