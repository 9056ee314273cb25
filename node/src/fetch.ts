/**
 * Limits for servers and clients that speak in `Request` and `Response`.
 *
 * Before a handler of Bun, Deno, Next.js, Hono, Elysia, tRPC, ...:
 *
 *     import { rateLimit } from 'limitree/fetch';
 *     const limited = rateLimit({ limit: 100, windowMs: 60_000 });
 *     Deno.serve(limited.wrap(() => new Response('hello')));
 *
 * For outbound calls, a `fetch` that waits for its turn:
 *
 *     import { limitFetch } from 'limitree/fetch';
 *     const fetch = limitFetch({ limit: 10, windowMs: 1000 });  // of each host
 *     await fetch('https://api.example/orders');
 */

import { limitFetch } from './outbound.js';

export { canonicalIp, clientIp } from './address.js';
export { rateLimit } from './fetch_server.js';
export type { FetchOptions, RateLimit } from './fetch_server.js';
export type { LimitFetchOptions } from './outbound.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
export { limitFetch };

export default limitFetch;
