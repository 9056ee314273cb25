/**
 * For programs that come from hono-rate-limiter: the middleware of
 * `limitree/hono` with the name and the defaults of that package.
 *
 *     import { rateLimiter } from 'limitree/hono-rate-limiter';
 *     app.use(rateLimiter({ windowMs: 15 * 60_000, limit: 100,
 *                           keyGenerator: (c) => c.req.header('x-user')! }));
 */

import type { Context, Env, Input, Next } from 'hono';

import { rateLimit, type HonoOptions, type RateLimit } from './hono.js';
import { checkObject, type WebOptions } from './web/options.js';

export {
  LimitreeStore, LimitreeStore as MemoryStore } from './express_store.js';
export type {
  ClientRateLimitInfo, LimitreeStoreOptions } from './express_store.js';
export type { WebStore as Store } from './web/own_store.js';
export { RateLimitInfo, canonicalIp, clientIp } from './hono.js';
export type { HonoOptions, RateLimit } from './hono.js';

export interface RateLimiterOptions<
  E extends Env = any, P extends string = any, I extends Input = {},
> extends WebOptions<Context<E, P, I>, undefined>,
    Pick<HonoOptions, 'requestPropertyName'> {
  /** Answers a denial, in the place of `message`; `next` lets it pass. */
  readonly handler?: ((
    context: Context<E, P, I>,
    next: Next,
    options: RateLimiterOptions<E, P, I>,
  ) => Response | void | Promise<Response | void>) | undefined;
  /**
   * The variable of the context with `getKey` and `resetKey`.
   * Default `"rateLimitStore"`.
   */
  readonly requestStorePropertyName?: string | undefined;
}

const DEFAULTS: HonoOptions = {
  windowMs: 60_000, limit: 5, algorithm: 'fixed_window', statusCode: 429,
  message: 'Too many requests, please try again later.',
  standardHeaders: 'draft-6' };

/**
 * The middleware of `limitree/hono` with the defaults of hono-rate-limiter: 5
 * requests of a client in a minute, in windows that begin with a request of the
 * client, and the headers of draft 6.
 */
export function rateLimiter<
  E extends Env = any, P extends string = any, I extends Input = {},
>(options: RateLimiterOptions<E, P, I> = {}): RateLimit {
  checkObject(options);
  const { handler, requestStorePropertyName: name = 'rateLimitStore',
          ...others } = options;
  const given: HonoOptions = { ...DEFAULTS, ...Object.fromEntries(
    Object.entries(others).filter(([, value]) => value !== undefined)) };
  const used = { ...given, handler } as RateLimiterOptions<E, P, I>;
  const nexts = new WeakMap<Context, Next>();
  const limit = rateLimit(handler === undefined ? given : {
    ...given, async handler(context) {
      const next = nexts.get(context)!;
      const answer: unknown = await handler(context as never, next, used);
      if (answer instanceof Response) return answer;
      // next() resolves to something else.  Nothing at all is still a denial.
      return context.finalized ? context.res
        : new Response(null, { status: given.statusCode as never });
    } });
  const { getKey, resetKey } = limit;

  const middleware = (context: Context, next: Next) => {
    if (handler !== undefined) nexts.set(context, next);
    context.set(name as never, { getKey, resetKey } as never);
    return limit(context, next);
  };
  return Object.assign(middleware, limit);
}

export type {
  RateLimiterOptions as ConfigType, RateLimiterOptions as HonoConfigType };

export default rateLimiter;
