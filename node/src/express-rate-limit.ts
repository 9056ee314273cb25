/**
 * For programs that come from express-rate-limit: the middleware of
 * `limitree/express` with the defaults of that package.
 *
 *     import { rateLimit } from 'limitree/express-rate-limit';
 *     app.use(rateLimit({ windowMs: 15 * 60_000, limit: 100 }));
 *
 * And a store for those that keep it: its counters, in the memory of this
 * process, in a file that processes share, or in Redis.
 *
 *     import { rateLimit } from 'express-rate-limit';
 *     import { LimitreeStore } from 'limitree/express-rate-limit';
 *     const store = new LimitreeStore({ store: 'redis://...' });
 *     app.use(rateLimit({ limit: 100, store }));
 */

import type { Request, Response } from 'express';

import { canonicalIp } from './address.js';
import { rateLimit as limitExpress } from './express.js';
import type { ExpressOptions, RateLimit } from './express.js';
import { checkObject } from './web/options.js';
import { CHECKS, type Validate } from './web/warnings.js';
import type { OldWebStore } from './web/own_store.js';

export { canonicalIp, clientIp, RateLimitInfo } from './express.js';
export type {
  ExpressOptions, HandlerOptions, LimitedRequest, RateLimit, WebOptions,
} from './express.js';
export {
  LimitreeStore, LimitreeStore as MemoryStore } from './express_store.js';
export type {
  ClientRateLimitInfo, ClientRateLimitInfo as IncrementResponse,
  LimitreeStoreOptions,
} from './express_store.js';
export type {
  LimitedRequest as AugmentedRequest, RateLimit as RateLimitRequestHandler,
} from './express.js';
export type {
  OldWebStore as LegacyStore, WebStore as Store } from './web/own_store.js';
export type IncrementCallback = Parameters<OldWebStore['incr']>[1];

export const SECOND = 1000;
export const MINUTE = 60_000;
export const HOUR = 3_600_000;
export const DAY = 86_400_000;

/** `validate` may also name checks that only express-rate-limit has. */
export interface TheirOptions extends Omit<ExpressOptions, 'validate'> {
  readonly validate?: boolean | Readonly<Record<string, boolean>> | undefined;
  /** The older name of `legacyHeaders`. */
  readonly headers?: boolean | undefined;
}

/** The options of a middleware, as a store gets them. */
export interface Options extends TheirOptions {
  readonly windowMs: number;
}

export type ValueDeterminingMiddleware<T> =
  (request: Request, response: Response) => T | Promise<T>;
export type RateLimitExceededEventHandler =
  NonNullable<TheirOptions['handler']>;
export type EnabledValidations = Readonly<Record<string, boolean>>;

function validateOf(validate: TheirOptions['validate']): Validate | undefined {
  if (typeof validate !== 'object' || validate === null) return validate;
  const { default: usual = true } = validate;
  return Object.fromEntries(
    CHECKS.map((check) => [check, validate[check] ?? usual]));
}

const DEFAULTS: ExpressOptions = {
  standardHeaders: false, legacyHeaders: true,
  message: 'Too many requests, please try again later.' };

/**
 * The middleware of `limitree/express` with the defaults of express-rate-limit:
 * 5 requests of a client in a minute, in windows that begin with a request of
 * the client, and the headers `X-RateLimit-*`.
 */
export function rateLimit(theirs: TheirOptions = {}): RateLimit {
  checkObject(theirs);
  const { headers, ...all } = theirs;
  const options = { ...headers === undefined ? {} : { legacyHeaders: headers },
                    ...all, validate: validateOf(all.validate) };
  const {
    limiter, limits, max, limit = max ?? 5, windowMs = 60_000, ...others
  } = options;
  const given = Object.fromEntries(
    Object.entries(others).filter(([, value]) => value !== undefined));
  if (limiter !== undefined || limits !== undefined) {
    return limitExpress({ ...DEFAULTS, ...options });
  }
  const subnet = options.keyGenerator !== undefined ||
    options.clientIp !== undefined ? {} : { ipv6Subnet: 56 };
  return limitExpress({ ...DEFAULTS, algorithm: 'fixed_window', ...subnet,
                        ...given, limit, windowMs });
}

/**
 * The key for an address, as `keyGenerator` may return it: that of its network
 * of `ipv6Subnet` bits.
 */
export function ipKeyGenerator(
  ip: string,
  ipv6Subnet: number | false = 56,
): string {
  return canonicalIp(ip, ipv6Subnet === false ? 128 : ipv6Subnet);
}

export default rateLimit;
