// What classes and methods say about their limits.

import { readRoute, type RouteLimits, type Skipped } from './options.js';
import type { Said } from './routes.js';

const SAID = 'limitree:said';

/** The part of reflect-metadata that is used; NestJS loads it. */
interface Metadata {
  getOwnMetadata(key: string, target: object): unknown;
  defineMetadata(key: string, value: unknown, target: object): void;
}

const metadata = Reflect as unknown as Metadata;

/** What a class or method says; a class also what its base says. */
export function saidBy(target: object): Said {
  for (let one: object | null = target; typeof one === 'function';
       one = Object.getPrototypeOf(one) as object | null) {
    const said = metadata.getOwnMetadata(SAID, one);
    if (said !== undefined) return said as Said;
  }
  return {};
}

type Decorator = ClassDecorator & MethodDecorator;

function decorator(add: (said: Said) => Said): Decorator {
  return ((target: object, _?: unknown, descriptor?: PropertyDescriptor) => {
    const on = (descriptor?.value ?? target) as object;
    const said = metadata.getOwnMetadata(SAID, on) as Said | undefined;
    metadata.defineMetadata(SAID, add(said ?? {}), on);
  }) as Decorator;
}

/**
 * Limits a method, or each method of a class.  A limit replaces the one of the
 * class, or of the module, that has its name: `"default"` if it has none.
 *
 *     @Limit({ limit: 5, ttl: 60_000 })
 *     @Limit({ short: { limit: 5, ttl: 1000 }, long: { max: 99, ttl: '1h' } })
 *
 * Throws ConfigError for unknown options.
 */
export function Limit(limits: RouteLimits): Decorator {
  const own = readRoute(limits);
  return decorator((said) => ({ ...said, limits: [
    ...said.limits ?? [], ...own] }));
}

/**
 * Exempts a method, or each method of a class: from all limits, or from those
 * with these names, `{ short: true }`; false undoes it for a method.
 */
export function SkipLimit(skipped: Skipped = true): Decorator {
  return decorator((said) => ({ ...said, skipped }));
}
