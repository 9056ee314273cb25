// The options of the module, of classes and of methods, in one form.

import { checkNames, storeOptionsOf, type WebOptions } from '../web/options.js';
import type { RateLimitInfo } from '../web/info.js';
import { refuse } from '../web/refuse.js';
import { PLAIN } from '../web/subject.js';
import { shown } from '../words.js';
import { NEST } from './requests.js';

/**
 * A limit.  Functions among the options get the request and the response of the
 * platform, or the client of a WebSocket.
 */
export interface LimitOptions extends WebOptions<any, any> {
  /**
   * The name of the limit; default `"default"`.  A limit of a method replaces
   * that of its class with the same name, and that one the module's.
   */
  readonly name?: string | undefined;
  /** Another name for `windowMs`. */
  readonly ttl?: WebOptions<any, any>['windowMs'];
  /**
   * Whether each method counts for itself.  Default true; false: all methods
   * that have a limit with this name count together.
   */
  readonly perRoute?: boolean | undefined;
  /**
   * Throws or returns the exception for a denial, in the place of `message`;
   * headers are set already.
   */
  readonly handler?:
    ((request: any, response: any, info: RateLimitInfo) => unknown) | undefined;
}

/**
 * The limits of all methods: one, several, or several with the options that all
 * limits of the application have in common.
 */
export type LimitModuleOptions = LimitOptions | readonly LimitOptions[] |
  (Omit<LimitOptions, 'name'> & {
    readonly throttlers: readonly LimitOptions[];
  });

/** The limits of a class or method: one, several, or several by their names. */
export type RouteLimits = LimitOptions | readonly LimitOptions[] |
  Readonly<Record<string, LimitOptions>>;

/** The names that are skipped, or all. */
export type Skipped = boolean | Readonly<Record<string, boolean>>;

/** A limit with its name. */
export type Named = LimitOptions & { readonly name: string };

/** Names of options of the place where counts are kept. */
const OF_TREE = ['limiter', 'limits'] as const;

function named(options: LimitOptions, name = 'default'): Named {
  checkNames(options, NEST.options);
  const { ttl, max, ...others } = options;
  const found: Record<string, unknown> = { ...others };
  if (max !== undefined) found['limit'] ??= max;
  if (ttl !== undefined) found['windowMs'] ??= ttl;
  for (const [one, value] of Object.entries(found)) {
    if (value === undefined) delete found[one];
  }
  const { name: own = name, perRoute = true } = options;
  if (typeof own !== 'string' || !/^[^*]+$/.test(own)) {
    refuse(`name must be a text without *, is ${shown(own)}`);
  }
  if (typeof perRoute !== 'boolean') {
    refuse(`perRoute must be true or false, is ${shown(perRoute)}`);
  }
  return { ...found, name: own };
}

function checkDistinct(limits: readonly Named[]): readonly Named[] {
  const names = limits.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice === undefined) return limits;
  return refuse(`there are two limits with the name ${twice}: give each one ` +
    'a name');
}

/** The limits of a class or method. */
export function readRoute(given: RouteLimits): readonly Named[] {
  if (Array.isArray(given)) {
    return checkDistinct(given.map((one: LimitOptions) => checked(one)));
  }
  if (typeof given !== 'object' || given === null) {
    refuse(`@Limit needs limits such as {limit: 5}, has ${shown(given)}`);
  }
  const entries = Object.entries(given);
  const areNamed = entries.length > 0 && entries.every(([name, one]) =>
    typeof one === 'object' && one !== null && !isOption(name));
  return areNamed
    ? entries.map(([name, one]) => checked({ ...one as LimitOptions, name }))
    : [checked(given as LimitOptions)];
}

function isOption(name: string): boolean {
  try {
    checkNames({ [name]: undefined }, NEST.options);
    return true;
  } catch {
    return false;
  }
}

/** Refuses what only the module can have. */
function checked(options: LimitOptions): Named {
  const one = named(options);
  const given: Record<string, unknown> = { ...one };
  const wrong = [...OF_TREE, 'clock', 'store', 'passOnStoreError',
                 ...Object.keys(storeOptionsOf(one))]
    .find((name) => given[name] !== undefined);
  if (wrong !== undefined) {
    refuse(`${wrong} cannot be given for a route: give it to the module`);
  }
  return one;
}

/** The options of the module, and its limits. */
export function readModule(given: LimitModuleOptions): {
  readonly common: LimitOptions;
  readonly limits: readonly Named[];
} {
  if (Array.isArray(given)) {
    return { common: {}, limits: checkDistinct(
      given.map((one: LimitOptions) => checked(one))) };
  }
  if (typeof given !== 'object' || given === null) {
    refuse('forRoot needs options such as {limit: 100, windowMs: 60000}, has ' +
      shown(given));
  }
  const { throttlers, ...others } =
    given as { readonly throttlers?: unknown } & LimitOptions;
  const { name, ...common } = named(others);
  if (common.limiter !== undefined && common.limits !== undefined) {
    refuse('limiter has its limits: limits cannot be given as well');
  }
  if (throttlers === undefined) {
    const { limit, path } = common;
    const isOne = limit !== undefined || path !== undefined;
    return { common, limits: isOne ? [{ ...common, name }] : [] };
  }
  if (!Array.isArray(throttlers)) {
    refuse(`throttlers must be an array of limits, is ${shown(throttlers)}`);
  }
  return { common, limits: checkDistinct(
    throttlers.map((one) => ({ ...common, ...checked(one) }))) };
}

/** A limit together with the one that it replaces. */
export function merged(before: LimitOptions, own: Named): Named {
  const all: Record<string, unknown> = { ...before, ...own };
  const isTree = own.path !== undefined ||
    (own.limit === undefined && before.path !== undefined);
  const others = isTree ? PLAIN.filter((name) => name !== 'name')
    : [...OF_TREE, 'path'];
  for (const name of others) delete all[name];
  return all as unknown as Named;
}
