/**
 * A Fastify plugin that limits the routes of an app, or of a part of it.
 *
 *     import limitree from 'limitree/fastify';
 *     await app.register(limitree, { limit: 100, windowMs: 60_000 });
 */

import type { FastifyPluginAsync } from 'fastify';

import type { FastifyOptions, FastifyRouteOptions } from './fastify_options.js';
import type { Inspect, LimitHook } from './fastify_plugin.js';
import { plugin, shared } from './fastify_register.js';
import type { RateLimitInfo } from './web/info.js';

export { canonicalIp, clientIp } from './address.js';
export type {
  ErrorContext, FastifyLimit, FastifyNote, FastifyOptions, FastifyRouteOptions,
  FastifyStoreClass, FastifyStoreObject, FastifyWindow, Hook,
} from './fastify_options.js';
export type { Inspect, Inspected, LimitHook } from './fastify_plugin.js';
export type {
  HeaderNames, StandardHeaders, WebOptions } from './web/options.js';
export type { WebStore } from './web/own_store.js';
export { RateLimitInfo } from './web/info.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Replaces the common limits for this route; false: no limits. */
    rateLimit?: FastifyRouteOptions | false;
  }

  interface FastifyRequest {
    /** The last decision about the request; null if there is none. */
    rateLimit: RateLimitInfo | null;
  }

  interface FastifyInstance {
    /** A hook with these options, for a route or the handler of 404s. */
    rateLimit(options?: FastifyRouteOptions): LimitHook;
    /** A function that handlers ask; it answers nobody. */
    createRateLimit(options?: FastifyRouteOptions): Inspect;
  }
}

/** The plugin; its hooks also apply to the instance that registers it. */
export const limitree: FastifyPluginAsync<FastifyOptions> =
  shared(plugin, 'limitree');

export default limitree;
