// The limiter that a middleware asks, and the path.

import type { IpRequest } from '../address.js';
import { Limiter } from '../limiter.js';
import type { CloseOptions } from '../limiter_options.js';
import type { Path, PathList } from '../paths.js';
import type { Answer } from './ending.js';
import type { Maybe } from './maybe.js';
import { refuse, storeOptionsOf, webStoreOptionsOf } from './options.js';
import type { WebOptions } from './options.js';
import { whyNoAddress } from './peer.js';
import { Plain } from './plain.js';
import { namedTree, takeName } from './plain_names.js';
import { PlainTree } from './plain_tree.js';
import type { Trust } from './warnings.js';

/** One path, or several, each of which may have its own cost. */
export type Paths = Path | PathList;

export function areSeveral(paths: Paths): paths is PathList {
  return Array.isArray(paths) && typeof paths[0] === 'object' &&
    paths[0] !== null;
}

/** What a middleware needs to know about its framework. */
export interface Framework<A> {
  /** Names of options that only this framework has. */
  readonly options: readonly string[];
  /** The address of the client; undefined if there is none. */
  ipOf(a: A): string | undefined;
  /** How the address was found; checked in the first requests only. */
  trustOf(a: A): Trust;
  /** Whether a function that returns a limit gets the key, and not `b`. */
  readonly limitTakesKey?: boolean;
  /** Whether a denied request may pass: then undoEarlier() is called later. */
  readonly mayPass?: boolean;
  /**
   * The headers and the connection.  Undefined for anything that is not a
   * request of this framework.
   */
  requestOf(a: A): IpRequest | undefined;
  /** Why a request that came over a connection has no address. */
  whyNoAddress?(a: A): string | undefined;
}

/** The same with the responses. */
export interface Server<A, B> extends Framework<A> {
  /** Undefined if the response is not one of Node.js. */
  responseOf(a: A, b: B): Answer | undefined;
}

export interface Subject<A, B> {
  readonly limiter: Limiter;
  readonly pathOf: (a: A, b: B) => Maybe<Paths>;
  /** If it is a plain limit. */
  readonly plain: Plain<A, B> | undefined;
  /** The same for all that count in the same buckets. */
  readonly identity: object;
  /** Closes the limiter, if it was made here. */
  close(options?: CloseOptions): Promise<void>;
}

/** The options that make up a plain limit. */
export const PLAIN: readonly string[] = [
  'limit', 'max', 'windowMs', 'name', 'keyGenerator', 'ipv6Subnet',
  'clientIp'];

/** The subject in `options`; throws ConfigError if there is none. */
export function subjectOf<A, B>(
  options: WebOptions<A, B>,
  framework: Framework<A>,
): Subject<A, B> {
  const { limiter, limits } = options;
  if (limiter === undefined && limits === undefined) {
    return plainSubject(plainTreeOf(options), options, framework);
  }
  checkTree(options);
  const made = limiter ?? new Limiter({
    ...webStoreOptionsOf(options), limits: limits!, clock: options.clock });
  return { limiter: made, pathOf: options.path!, plain: undefined,
           identity: options.path!,
           close: async (how) => limiter ? undefined : made.close(how) };
}

/** The tree of plain limits with the store that `options` name. */
export function plainTreeOf(options: WebOptions<never, never>): PlainTree {
  return new PlainTree(
    { ...webStoreOptionsOf(options), clock: options.clock });
}

/**
 * A plain limit in the tree `own`, unless `options` give it a name; `name` is
 * for one without.  Closing it closes the limiter of the tree.
 */
export function plainSubject<A, B>(
  own: PlainTree,
  options: WebOptions<A, B>,
  framework: Framework<A>,
  name?: string,
): Subject<A, B> {
  checkPlain(options);
  const { clientIp } = options;
  const whyNot = (a: A) => framework.whyNoAddress?.(a) ??
    whyNoAddress(framework.requestOf(a));
  const ways = {
    ipOf: clientIp === undefined ? (a: A) => framework.ipOf(a)
      : (a: A) => clientIp(framework.requestOf(a)!),
    whyNoAddress: whyNot, limitTakesKey: framework.limitTakesKey === true };
  const { tree, close } = treeFor(own, options);
  let plain: Plain<A, B>;
  try {
    plain = new Plain(tree, options, ways, name);
  } catch (error) {
    void close();
    throw error;
  }
  const hasName = options.name !== undefined || name !== undefined;
  const free = hasName ? undefined : takeName(tree, options, plain.name);
  return { get limiter() { return tree.limiter; }, plain,
           identity: plain.identity, pathOf: (a, b) => plain.path(a, b),
           async close(how) {
             free?.();
             await close(how);
           } };
}

function treeFor(own: PlainTree, options: WebOptions<never, never>) {
  return options.name === undefined
    ? { tree: own, close: (how?: CloseOptions) => own.close(how) }
    : namedTree(options, options.name);
}

function checkPlain(options: WebOptions<never, never>): void {
  const { limit, max, path } = options;
  if (path !== undefined) {
    refuse('path leads through a tree of limits: give limiter or limits');
  }
  if (limit === undefined && max === undefined) {
    refuse('there are no limits: give limit and windowMs, or limiter and ' +
      'path, or limits and path');
  }
}

function checkTree(options: WebOptions<never, never>): void {
  const { limiter, limits, path } = options;
  const what = limiter === undefined ? 'limits' : 'limiter';
  if (limiter !== undefined) {
    if (limits !== undefined) {
      refuse('limiter has its limits: limits cannot be given as well');
    }
    if (typeof limiter?.authorizeSync !== 'function') {
      refuse('limiter must be a Limiter');
    }
  }
  if (path === undefined) {
    refuse(`${what} needs path, a function such as ` +
      '(request) => ["ip", request.ip]');
  }
  const others = limiter === undefined ? PLAIN
    : [...PLAIN, 'clock', ...Object.keys(storeOptionsOf(options))];
  const given: Record<string, unknown> = { ...options };
  for (const name of others) {
    if (given[name] === undefined) continue;
    refuse(`${name} cannot be given together with ${what}`);
  }
}
