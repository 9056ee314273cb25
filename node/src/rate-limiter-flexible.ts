/**
 * For programs that come from rate-limiter-flexible: its classes, which count
 * in the stores of limitree.
 *
 *     import { RateLimiterMemory } from 'limitree/rate-limiter-flexible';
 *     const limiter = new RateLimiterMemory({ points: 5, duration: 1 });
 *     limiter.consume(user).then(() => go()).catch((denied) => stop(denied));
 */

export {
  RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis,
  RateLimiterRedis as RateLimiterRedisNonAtomic,
  RateLimiterRedis as RateLimiterValkey,
} from './flexible/limiters.js';
export type {
  RateLimiterOptions, RateLimiterOptions as IRateLimiterOptions,
  RateLimiterRedis as RateLimiterStoreAbstract, RateLimiterStoreOptions,
  RateLimiterStoreOptions as IRateLimiterStoreOptions,
  RateLimiterStoreOptions as IRateLimiterRedisOptions,
  RateLimiterStoreOptions as IRateLimiterValkeyOptions,
} from './flexible/limiters.js';
export { RateLimiterQueue, RateLimiterQueueError } from './flexible/queue.js';
export type {
  RateLimiterQueueOptions, RateLimiterQueueOptions as IRateLimiterQueueOpts,
} from './flexible/queue.js';
export type { StoreClient } from './flexible/store_client.js';
export {
  RateLimiterCompatibleAbstract, RateLimiterRes } from './flexible/result.js';
export type { CallOptions, Key, RateLimiterLike } from './flexible/result.js';
export { RLWrapperTimeouts } from './flexible/timeouts.js';
export type {
  TimeoutsOptions, TimeoutsOptions as IRLWrapperTimeoutsOptions,
} from './flexible/timeouts.js';
export {
  BurstyRateLimiter, RLWrapperBlackAndWhite, RateLimiterUnion,
} from './flexible/wrappers.js';
export type {
  BlackAndWhiteOptions, BlackAndWhiteOptions as IRLWrapperBlackAndWhiteOptions,
  UnionRes,
} from './flexible/wrappers.js';
