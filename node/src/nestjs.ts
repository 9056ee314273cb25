/**
 * Limits for NestJS: its controllers on Express and on Fastify, its gateways
 * and its resolvers.
 *
 *     import { LimitGuard, LimitModule } from 'limitree/nestjs';
 *     @Module({
 *       imports: [LimitModule.forRoot({ limit: 100, windowMs: 60_000 })],
 *       providers: [{ provide: APP_GUARD, useClass: LimitGuard }],
 *     })
 *
 * And a storage for those that keep @nestjs/throttler.
 */

export { canonicalIp, clientIp } from './address.js';
export { Limit, SkipLimit } from './nestjs/decorators.js';
export { LimitException, LimitGuard } from './nestjs/guard.js';
export type { Pair } from './nestjs/guard.js';
export { LimitModule } from './nestjs/module.js';
export type {
  LimitModuleAsyncOptions, LimitOptionsFactory,
} from './nestjs/module.js';
export type {
  LimitModuleOptions, LimitOptions, RouteLimits, Skipped,
} from './nestjs/options.js';
export { LimitService } from './nestjs/service.js';
export { LimitreeThrottlerStorage } from './nestjs/storage.js';
export type {
  StorageOptions, StorageRecord,
} from './nestjs/storage.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
