/**
 * For programs that come from @fastify/rate-limit: the plugin of
 * `limitree/fastify` with the defaults of that package.
 *
 *     import rateLimit from 'limitree/fastify-rate-limit';
 *     await app.register(rateLimit, { max: 100, timeWindow: '1 minute' });
 */

import type { FastifyPluginAsync } from 'fastify';

import { canonicalIp } from './address.js';
import type { ErrorContext, FastifyOptions } from './fastify_options.js';
import { plugin, shared } from './fastify_register.js';

export * from './fastify.js';
export type {
  ErrorContext as errorResponseBuilderContext,
  FastifyOptions as RateLimitPluginOptions,
  FastifyRouteOptions as RateLimitOptions,
  FastifyStoreClass as FastifyRateLimitStoreCtor,
  FastifyStoreObject as FastifyRateLimitStore, Hook as RateLimitHook,
} from './fastify_options.js';

/** The error for a denial, for the error handler of the app. */
function errorOf(_: unknown, { after, statusCode }: ErrorContext): Error {
  return Object.assign(
    new Error(`Rate limit exceeded, retry in ${after}`), { statusCode });
}

const DEFAULTS: FastifyOptions = {
  standardHeaders: false, legacyHeaders: true, errorResponseBuilder: errorOf };

const PLAIN: FastifyOptions = {
  limit: 1000, windowMs: 60_000, algorithm: 'fixed_window' };

/** Those that somebody has set, for a word that stands for several. */
function givenOf(options: FastifyOptions): FastifyOptions {
  const { max, limit = max, timeWindow, windowMs = timeWindow,
          enableDraftSpec: draft, handler, message, ...others } = options;
  const headers = draft === undefined ? {}
    : { standardHeaders: draft ? 'draft-6' : false, legacyHeaders: !draft };
  const answer = handler === undefined && message === undefined ? {}
    : { handler, message, errorResponseBuilder: undefined };
  const all = { ...headers, ...answer, limit, windowMs, ...others };
  return Object.fromEntries(Object.entries(all).filter(
    ([name, value]) => value !== undefined || name in answer));
}

/** The plugin; its hooks also apply to the instance that registers it. */
export const fastifyRateLimit: FastifyPluginAsync<FastifyOptions> = shared(
  async (instance, options) => {
    const { limiter, limits } = options;
    const isPlain = limiter === undefined && limits === undefined;
    await plugin(instance, { ...DEFAULTS, ...isPlain ? PLAIN : {},
                             ...givenOf(options) });
  }, 'limitree/fastify-rate-limit');

/**
 * The address by which a client is counted, as `keyGenerator` may return it:
 * that of its network of `ipv6Subnet` bits.
 */
export function normalizeIP(ip: string, ipv6Subnet = 64): string {
  try {
    return canonicalIp(ip, ipv6Subnet).replace(/\/\d+$/, '');
  } catch {
    return ip.toLowerCase();
  }
}

export default fastifyRateLimit;
