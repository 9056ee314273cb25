// One limiter for the process, for programs that need only one.

import type { AsyncCallOptions } from './call_options.js';
import type { Decision } from './decision.js';
import { ConfigError } from './errors.js';
import { Limiter } from './limiter.js';
import type { LimiterOptions } from './limiter_options.js';
import type { Segment } from './paths.js';

let limiter: Limiter | undefined;

/**
 * Makes the limiter that the functions of this module use, and returns it.  An
 * earlier one keeps working for code that still has it.
 */
export function configure(options: LimiterOptions): Limiter {
  limiter = new Limiter(options);
  return limiter;
}

/**
 * The limiter of `configure`, or one made from the environment: LIMITREE_LIMITS
 * names the file and LIMITREE_STORE the store, by default `memory://`, which
 * the threads of the process share.
 *
 * Throws ConfigError if there are no limits, and what `new Limiter` throws.
 */
export function defaultLimiter(): Limiter {
  if (limiter !== undefined) return limiter;
  const limits = process.env['LIMITREE_LIMITS'];
  if (!limits) {
    throw new ConfigError(
      ['there are no limits: call configure() or set LIMITREE_LIMITS']);
  }
  const store = process.env['LIMITREE_STORE'] || 'memory://';
  const share = store === 'memory://' ? 'default' : undefined;
  limiter = new Limiter({ limits, store, share });
  return limiter;
}

/**
 * Resolves to undefined if `user` may do `action` now, else to the decision.
 * Asks the default limiter; rejects as `Limiter.authorizeActionForUser` does,
 * and with what `defaultLimiter` throws.
 */
export function authorizeActionForUser(
  user: Segment,
  action: Segment,
  options?: AsyncCallOptions,
): Promise<Decision | undefined> {
  try {
    return defaultLimiter().authorizeActionForUser(user, action, options);
  } catch (error) {
    return Promise.reject(error);
  }
}
