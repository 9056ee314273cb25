/**
 * Rate limits as a tree, decided all or nothing in a fraction of a microsecond.
 *
 *     const limiter = new Limiter({ limits: 'limits.yaml' });
 *     const limited = await limiter.authorizeActionForUser('alex', 'trade');
 *     if (limited) console.log(`try again in ${limited.retryAfterMs} ms`);
 */

import { native } from './native.js';

export { canonicalIp, clientIp } from './address.js';
export type { ClientIp, ClientIpOptions, IpRequest } from './address.js';
export type {
  AsyncCallOptions, AsyncReserveOptions, CallOptions, ReserveOptions,
} from './call_options.js';
export {
  authorizeActionForUser, configure, defaultLimiter } from './default.js';
export type { ClientStore, IoredisClient, NodeRedisClient, RedisClient }
  from './stores.js';
export type { Cost } from './cost.js';
export { Decision } from './decision.js';
export type { Level, Mode, Source } from './decision.js';
export type { Clock } from './clock.js';
export type { Signal } from './delivery.js';
export { ConfigError, LimitreeError, StoreError } from './errors.js';
export type { ErrorCode } from './errors.js';
export type {
  HeaderOptions, HeaderStyle, Headers, Problem } from './headers.js';
export { Limiter } from './limiter.js';
export type {
  CloseOptions, LimiterOptions, PutOptions, ResetOptions,
} from './limiter_options.js';
export type {
  DescriptorFiles, DescriptorOptions, FileUrl, LimitTree, Limits,
  OneDescriptors, OneLimits, StoreOptions } from './limits.js';
export type {
  Code, CurrentLimit, Descriptor, DescriptorStats, DescriptorStatus, Entries,
  FullDescriptor, RateLimitOptions, EnvoyResponse, EnvoyStats, Unit,
} from './envoy.js';
export type { Costly, Part, Path, Segment } from './paths.js';
export { Reservation } from './reservation.js';
export type { LimitStats, ReasonStats, Stats } from './stats.js';
export type { WaitOptions } from './waiting.js';

/** The version of limitree. */
export const version: string = native.version;

/** The OpenSSL inside the native module: "OpenSSL 3.0.17 1 Jul 2025". */
export const opensslVersion: string = native.opensslVersion;

/** The algorithms, in the form that follows `algorithm:` in limits.yaml. */
export const algorithms: readonly string[] = native.algorithms;
