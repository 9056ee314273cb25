/**
 * For programs that come from koa-ratelimit: the middleware of `limitree/koa`
 * with the options and the defaults of that package.
 *
 *     import ratelimit from 'limitree/koa-ratelimit';
 *     app.use(ratelimit({ driver: 'memory', duration: 60_000, max: 100 }));
 */

import type { Context, Next } from 'koa';

import { storeOf, type StoreClient } from './flexible/store_client.js';
import { rateLimit, type KoaOptions, type RateLimit } from './koa.js';
import type { Segment } from './paths.js';
import { wordsOf } from './time.js';
import { shown } from './words.js';
import type { RateLimitInfo } from './web/info.js';
import { isPromise, type Maybe } from './web/maybe.js';
import { checkObject } from './web/options.js';
import { refuse } from './web/refuse.js';

export { RateLimitInfo, canonicalIp, clientIp } from './koa.js';
export type { KoaOptions, RateLimit } from './koa.js';

type Theirs = 'limit' | 'max' | 'windowMs' | 'keyGenerator' | 'message' |
  'handler' | 'headerNames' | 'standardHeaders' | 'legacyHeaders';

export interface RatelimitOptions extends Omit<KoaOptions, Theirs> {
  /** Default `"redis"`. */
  readonly driver?: 'memory' | 'redis' | undefined;
  /** A client of Redis: its server, or itself; a Map is not used. */
  readonly db?: object | undefined;
  /** Milliseconds.  Default an hour. */
  readonly duration?: number | undefined;
  /** The requests of a client in `duration`.  Default 2500. */
  readonly max?: number | undefined;
  /** The client; false: it is not limited.  Default: its address. */
  readonly id?: ((context: Context) => Maybe<Segment | false>) | undefined;
  /** The first part of names of keys in Redis.  Default `"limit"`. */
  readonly namespace?: string | undefined;
  /** The names of the headers. */
  readonly headers?: {
    readonly remaining?: string | undefined;
    readonly reset?: string | undefined;
    readonly total?: string | undefined;
  } | undefined;
  readonly disableHeader?: boolean | undefined;
  /** The body of a denial. */
  readonly errorMessage?: string | object | undefined;
  /** Whether a denial is an error, for the error handlers of the app. */
  readonly throw?: boolean | undefined;
  /** Requests that are not limited. */
  readonly whitelist?: ((context: Context) => Maybe<boolean>) | undefined;
  /** Requests that are answered with 403. */
  readonly blacklist?: ((context: Context) => Maybe<boolean>) | undefined;
  /** Called with each request that is denied. */
  readonly onLimited?: ((context: Context) => unknown) | undefined;
}

function storeOption(options: RatelimitOptions): KoaOptions['store'] {
  const { driver = 'redis', db, store } = options;
  if (driver !== 'redis' && driver !== 'memory') {
    refuse(`driver must be memory or redis, is ${shown(driver)}`);
  }
  if (store !== undefined) return store;
  return driver === 'memory' ? undefined
    : storeOf(db as StoreClient | undefined, 'db');
}

/** Limits that count together in Redis have one name: not ids and addresses. */
function nameOf(options: RatelimitOptions): string | undefined {
  const { driver = 'redis', namespace = 'limit', max, duration, id } = options;
  return driver === 'memory' ? undefined
    : `${namespace}:${max ?? ''}/${duration ?? ''}${id ? ':id' : ''}`;
}

/**
 * Returns a middleware that passes requests within the limit, and answers all
 * others with 429.
 *
 * Throws ConfigError for wrong options.
 */
export function ratelimit(options: RatelimitOptions = {}): RateLimit {
  checkObject(options);
  const {
    driver, db, duration = 3_600_000, max = 2500, id, namespace, headers,
    disableHeader = false, errorMessage, throw: throws = false, whitelist,
    blacklist, onLimited, ...others } = options;
  const {
    total = 'X-RateLimit-Limit', remaining = 'X-RateLimit-Remaining',
    reset = 'X-RateLimit-Reset' } = headers ?? {};
  const ids = new WeakMap<Context, Segment>();

  async function deny(context: Context, info: RateLimitInfo): Promise<void> {
    const { retryAfterMs } = info.decision;
    await onLimited?.(context);
    context.set('Retry-After',
                String(Math.max(1, Math.ceil(retryAfterMs / 1000))));
    const status = others.statusCode ?? 429;
    const body = errorMessage ??
      `Rate limit exceeded, retry in ${wordsOf(retryAfterMs)}.`;
    if (throws) {
      const kept = [total, remaining, reset, 'Retry-After']
        .filter((name) => context.res.hasHeader(name))
        .map((name) => [name, context.response.get(name)]);
      context.throw(status, body as string,
                    { headers: Object.fromEntries(kept) as object });
    }
    context.status = status;
    context.body = body;
  }

  const limit = rateLimit({
    algorithm: 'fixed_window', name: nameOf(options), ...others, limit: max,
    windowMs: duration, store: storeOption(options), handler: deny,
    standardHeaders: false, legacyHeaders: !disableHeader,
    headerNames: { 'X-RateLimit-Limit': total, 'X-RateLimit-Reset': reset,
                   'X-RateLimit-Remaining': remaining },
    ...id === undefined ? {}
      : { keyGenerator: (context: Context) => ids.get(context)! } });

  const middleware = async (context: Context, next: Next): Promise<void> => {
    const key = id?.(context);
    const one = isPromise(key as unknown) ? await key : key;
    if (one === false || await whitelist?.(context)) return next();
    if (await blacklist?.(context)) return context.throw(403, 'Forbidden');
    if (one !== undefined) ids.set(context, one as Segment);
    return limit(context as never, next) as Promise<void>;
  };
  return Object.assign(middleware, limit) as RateLimit;
}

export default ratelimit;
