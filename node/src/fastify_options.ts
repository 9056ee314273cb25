// The options of the plugin for Fastify, and the names that they have in
// @fastify/rate-limit.

import type { FastifyReply, FastifyRequest } from 'fastify';

import type { Segment } from './paths.js';
import { wordsOf } from './time.js';
import { shown } from './words.js';
import type { RateLimitInfo } from './web/info.js';
import type { Maybe } from './web/maybe.js';
import { refuse } from './web/refuse.js';
import type { HeaderNames, WebOptions } from './web/options.js';
import type { WebStore } from './web/own_store.js';
import type { StoreName } from './stores.js';

/** The hooks that can decide; later ones know more about the request. */
export type Hook =
  'onRequest' | 'preParsing' | 'preValidation' | 'preHandler';

const HOOKS: readonly Hook[] = [
  'onRequest', 'preParsing', 'preValidation', 'preHandler'];

export function checkHook(hook: Hook): Hook {
  if (HOOKS.includes(hook)) return hook;
  return refuse(`hook must be one of ${HOOKS.join(', ')}, is ${shown(hook)}`);
}

/** A number, or a function of the request and its key. */
export type FastifyLimit =
  number | ((request: FastifyRequest, key: Segment) => Maybe<number>);

/** Milliseconds, a text such as `"1 minute"`, or a function of the request. */
export type FastifyWindow = number | string |
  ((request: FastifyRequest, key: Segment) => Maybe<number | string>);

/** Told of a decision about the client with the key. */
export type FastifyNote =
  (request: FastifyRequest, key: Segment, info: RateLimitInfo) => unknown;

/** What is known about a denial. */
export interface ErrorContext {
  /** 429, or 403 for a client that is banned. */
  readonly statusCode: number;
  readonly ban: boolean;
  readonly max: number;
  /** Milliseconds until the client may come back. */
  readonly ttl: number;
  /** The same as text: `"1 minute"`. */
  readonly after: string;
}

/** A class that counts, as @fastify/rate-limit takes it. */
export interface FastifyStoreClass {
  new(options: never): FastifyStoreObject;
}

export interface FastifyStoreObject {
  incr(
    key: string,
    done: (
      error: Error | null,
      result?: { readonly current: number; readonly ttl: number },
    ) => void,
    timeWindow: number,
    max: number,
  ): void;
  /** Reads without counting; needed for `{ increment: false }`. */
  read?: FastifyStoreObject['incr'] | undefined;
  /** The store of a route with options of its own. */
  child(options: never): FastifyStoreObject;
}

type Replaced = 'limit' | 'max' | 'windowMs' | 'allowList' | 'store' |
  'onExceeding' | 'onExceeded' | 'onBanReach';

/** The options of a route, in `config: {rateLimit: ...}`. */
export interface FastifyRouteOptions
  extends Omit<WebOptions<FastifyRequest, FastifyReply>, Replaced> {
  /**
   * The requests of a client in `windowMs`; a function gets the result of
   * `keyGenerator`.
   */
  readonly limit?: FastifyLimit | undefined;
  /** Another name for `limit`. */
  readonly max?: FastifyLimit | undefined;
  readonly windowMs?: FastifyWindow | undefined;
  /** Another name for `windowMs`. */
  readonly timeWindow?: FastifyWindow | undefined;
  /** Clients that are not limited, or a function of the request and its key. */
  readonly allowList?: readonly Segment[] |
    ((request: FastifyRequest, key: Segment) => Maybe<boolean>) | undefined;
  readonly onExceeding?: FastifyNote | undefined;
  readonly onExceeded?: FastifyNote | undefined;
  readonly onBanReach?: FastifyNote | undefined;
  /** Routes with the same one count together. */
  readonly groupId?: string | undefined;
  /** The hook that decides.  Default `"onRequest"`. */
  readonly hook?: Hook | undefined;
  /** Returns the error for a denial, which is thrown. */
  readonly errorResponseBuilder?: ((
    request: FastifyRequest, context: ErrorContext) => unknown) | undefined;
  /** Which headers denied clients get: `{ 'retry-after': false }`. */
  readonly addHeaders?: HeaderNames | undefined;
  /** Which headers all others get. */
  readonly addHeadersOnExceeding?: HeaderNames | undefined;
  /** True: `RateLimit-Limit`, ...; false: `X-RateLimit-Limit`, ... */
  readonly enableDraftSpec?: boolean | undefined;
  /** Another name for `passOnStoreError`. */
  readonly skipOnError?: boolean | undefined;
  /**
   * Answers a denial, in the place of `message`; headers are set already.  It
   * must send the reply.
   */
  readonly handler?: ((
    request: FastifyRequest,
    reply: FastifyReply,
    info: RateLimitInfo,
  ) => unknown) | undefined;
}

export interface FastifyOptions extends FastifyRouteOptions {
  /**
   * Whether to limit routes without options of their own, and requests without
   * a route.  Default true.
   */
  readonly global?: boolean | undefined;
  readonly store?: StoreName | WebStore | FastifyStoreClass | undefined;
  /** Another name for `maxBuckets`. */
  readonly cache?: number | undefined;
  /** Another name for `prefix`. */
  readonly nameSpace?: string | undefined;
}

/** The options without their other names. */
export type Options = WebOptions<FastifyRequest, FastifyReply> &
  Pick<FastifyOptions, 'handler' | 'hook' | 'groupId' | 'errorResponseBuilder'>;

/** Names of options that only this framework has. */
export const ROUTE_NAMES: readonly string[] = [
  'handler', 'timeWindow', 'groupId', 'hook', 'errorResponseBuilder',
  'addHeaders', 'addHeadersOnExceeding', 'enableDraftSpec', 'skipOnError'];

export const PLUGIN_NAMES: readonly string[] = [
  ...ROUTE_NAMES, 'global', 'cache', 'nameSpace'];

/** Options that belong to the store, which a route cannot have. */
export const OF_STORE: readonly string[] = [
  'cache', 'nameSpace', 'skipOnError', 'passOnStoreError'];

/** Other names of options, and the usual ones. */
const RENAMED: readonly (readonly [keyof FastifyOptions, string])[] = [
  ['timeWindow', 'windowMs'], ['max', 'limit'], ['cache', 'maxBuckets'],
  ['nameSpace', 'prefix'], ['skipOnError', 'passOnStoreError']];

export function renamed(options: FastifyOptions): Options {
  const { enableDraftSpec, groupId } = options;
  const found: Record<string, unknown> = { ...options };
  for (const [name, usual] of RENAMED) {
    const value = found[name];
    delete found[name];
    if (value !== undefined) found[usual] ??= value;
  }
  delete found['enableDraftSpec'];
  if (enableDraftSpec !== undefined) {
    found['standardHeaders'] ??= enableDraftSpec === true ? 'draft-6' : false;
    found['legacyHeaders'] ??= enableDraftSpec !== true;
  }
  if (groupId !== undefined &&
      (typeof groupId !== 'string' || groupId === '')) {
    refuse(`groupId must be a string, is ${shown(groupId)}`);
  }
  return found as Options;
}

/** What errorResponseBuilder gets. */
export function contextOf(
  { decision, limit, isBanned }: RateLimitInfo,
  statusCode: number,
): ErrorContext {
  const ttl = decision.retryAfterMs;
  return { statusCode, ban: isBanned, max: limit, ttl: Math.ceil(ttl),
           after: wordsOf(Math.ceil(ttl / 1000) * 1000) };
}
