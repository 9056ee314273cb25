// A fetch for outbound calls that waits for its turn.

import { ConfigError } from './errors.js';
import { Limiter } from './limiter.js';
import { msOf } from './limits.js';
import type { Path } from './paths.js';
import { checkNames, shown } from './words.js';
import { RetryAfter } from './retry_after.js';

export interface LimitFetchOptions {
  /** The calls to each host in `windowMs`, where there is no `limiter`. */
  readonly limit?: number | undefined;
  /** Milliseconds, or a text such as `"1 minute"`.  Default 1000. */
  readonly windowMs?: number | string | undefined;
  /** The limiter that decides; it stays open. */
  readonly limiter?: Limiter | undefined;
  /** The path of a call in that limiter.  Default `["host", url.host]`. */
  readonly path?: ((request: Request) => Path) | undefined;
  /** The longest time to wait; as in `limiter.wait`.  Default 60 s. */
  readonly maxWait?: number | string | undefined;
  /** The most calls to a host that wait.  Default 1000. */
  readonly maxQueue?: number | undefined;
  /** Sends the requests, by the arguments of each call.  Default: `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

const NAMES = ['limit', 'windowMs', 'limiter', 'path', 'maxWait', 'maxQueue',
               'fetch'];

function limiterOf(options: LimitFetchOptions): Limiter {
  const { limit, windowMs = 1000, limiter } = options;
  if (limiter !== undefined) {
    if (typeof limiter?.wait === 'function') return limiter;
    throw new ConfigError([`limiter must be a Limiter, is ${shown(limiter)}`]);
  }
  if (!Number.isSafeInteger(limit) || limit! < 1) {
    throw new ConfigError(['limit must be a whole number greater than 0, is ' +
      `${shown(limit)}; or give limiter`]);
  }
  const limits = { count: limit, period: `${msOf(windowMs, 'windowMs')}ms` };
  return new Limiter({ limits: { schema: {
    host: { children: { '*': { limits } } } } } });
}

/** The answer to a call that cannot wait for its turn, as of a server. */
function denialOf(body: object, seconds: number): Response {
  return new Response(JSON.stringify(body), { status: 429, headers: {
    'Content-Type': 'application/problem+json',
    ...Number.isFinite(seconds)
      ? { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) } : {} } });
}

/**
 * Returns a `fetch` whose calls wait in line for their turn.  A server that
 * answers 429 or 503 with `Retry-After` is left alone for so long.  A call that
 * would have to wait too long is answered with 429, and not sent.
 *
 * Throws ConfigError for wrong options.
 */
export function limitFetch(options: LimitFetchOptions): typeof fetch {
  checkNames(options, NAMES, '{limit: 10}');
  const limiter = limiterOf(options);
  const { path: pathOf, maxQueue = 1000, fetch: send = fetch } = options;
  for (const [name, one] of Object.entries({ path: pathOf, fetch: send })) {
    if (one === undefined || typeof one === 'function') continue;
    throw new ConfigError([`${name} must be a function, is ${shown(one)}`]);
  }
  const maxMs = msOf(options.maxWait ?? 60_000, 'maxWait');
  const pauses = new RetryAfter();

  return async (input, init) => {
    // Another fetch, such as that of undici, takes no Request of this class.
    const isOwn = options.fetch !== undefined && !(input instanceof Request);
    const request =
      new Request(input, isOwn ? { ...init, body: null } : init);
    const { host } = new URL(request.url);
    const { signal } = request;
    const deadline = performance.now() + maxMs;
    const leftMs = () => Math.max(0, deadline - performance.now());
    for (let ms = pauses.msOf(host); ms > 0; ms = pauses.msOf(host)) {
      if (ms > leftMs() || pauses.sleeping(host) >= maxQueue) {
        return denialOf({
          type: 'about:blank', title: 'Too Many Requests', status: 429,
          detail: `${host} has asked to wait` }, ms / 1000);
      }
      await pauses.sleep(host, ms, signal);
    }
    const decision = await limiter.wait(pathOf?.(request) ?? ['host', host], {
      maxWait: leftMs(), maxQueue, signal });
    if (decision.limited) {
      return denialOf(decision.problem(), decision.retryAfterMs / 1000);
    }
    const response = await (isOwn ? send(input, init) : send(request));
    pauses.read(host, response);
    return response;
  };
}
