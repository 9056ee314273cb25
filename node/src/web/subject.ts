// The limiter that a middleware asks, and the path.

import type { IpRequest } from '../address.js';
import { wholeMs } from '../clock.js';
import { Limiter } from '../limiter.js';
import type { CloseOptions } from '../limiter_options.js';
import type { Answer } from './ending.js';
import type { Maybe } from './maybe.js';
import { storeOptionsOf, webStoreOptionsOf } from './options.js';
import { refuse } from './refuse.js';
import type { WebOptions } from './options.js';
import { OwnStore, checkStore, isStore } from './own_store.js';
import type { Paths } from './paths.js';
import { whyNoAddress } from './peer.js';
import { Penalties, banOf } from './penalties.js';
import { Plain, type Exempt } from './plain.js';
import { namedTree, takeName } from './plain_names.js';
import { PlainTree } from './plain_tree.js';
import type { Trust } from './warnings.js';

/** What a middleware needs to know about its framework. */
export interface Framework<A> {
  /** Names of options that only this framework has. */
  readonly options: readonly string[];
  /** The address of the client; undefined if there is none. */
  ipOf(a: A): string | undefined;
  /** How the address was found; checked in the first requests only. */
  trustOf(a: A): Trust;
  /** Whether functions about a client get its key, and not `b`. */
  readonly takesKey?: boolean;
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
  /** What `X-RateLimit-Reset` says; default: the time, `epoch`. */
  readonly reset?: 'epoch' | 'delta';
  /** Aborted when the client goes, where no connection of Node.js tells it. */
  signalOf?(a: A): AbortSignal | undefined;
}

export interface Subject<A, B> {
  readonly limiter: Limiter;
  readonly pathOf: (a: A, b: B) => Maybe<Paths | Exempt>;
  /** If it is a plain limit. */
  readonly plain: Plain<A, B> | undefined;
  /** If it is a plain limit that treats some denied clients worse. */
  readonly penalties?: Penalties | undefined;
  /** If the program has a store of its own; then there is no limiter. */
  readonly own?: OwnStore | undefined;
  /** The same for all that count in the same buckets. */
  readonly identity: object;
  /** Closes the limiter, if it was made here. */
  close(options?: CloseOptions): Promise<void>;
}

/** The options that make up a plain limit. */
export const PLAIN: readonly string[] = [
  'limit', 'max', 'windowMs', 'name', 'keyGenerator', 'ipv6Subnet',
  'clientIp', 'algorithm', 'allowList', 'ban', 'continueExceeding',
  'exponentialBackoff'];

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
  return new PlainTree({ ...webStoreOptionsOf(options), clock: options.clock },
                       !isStore(options.store));
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
    whyNoAddress: whyNot, takesKey: framework.takesKey === true };
  const { tree, close } = treeFor(own, options);
  const hasName = options.name !== undefined || name !== undefined;
  let plain: Plain<A, B>;
  let penalties: Penalties | undefined;
  try {
    plain = new Plain(tree, options, ways, name);
    if (isStore(options.store)) return ownSubject(plain, options, hasName);
    penalties = Penalties.of(plain, tree, options);
  } catch (error) {
    void close();
    throw error;
  }
  const free = hasName ? undefined : takeName(tree, options, plain.name);
  return { get limiter() {
             try {
               return tree.limiter;
             } catch (error) {  // whoever corrects the options tries again
               free?.();
               void close();
               throw error;
             }
           },
           plain, penalties, identity: plain.identity,
           pathOf: (a, b) => plain.path(a, b),
           async close(how) {
             free?.();
             await close(how);
           } };
}

/** A plain limit that a store of the program counts. */
function ownSubject<A, B>(
  plain: Plain<A, B>,
  options: WebOptions<A, B>,
  hasName: boolean,
): Subject<A, B> {
  const { store, clock = () => Date.now(), reserve = false, cost = 1,
          shadowMode = false } = options;
  if (!isStore(store)) throw new TypeError('no store');
  checkStore(store);
  if (shadowMode) {
    refuse('a store of its own decides by its counts: it cannot have ' +
      'shadowMode');
  }
  if (reserve !== false || cost !== 1) {
    refuse('a store of its own counts requests one by one: it cannot have ' +
      (cost === 1 ? 'reserve' : 'cost'));
  }
  if (store.takesOptions !== true) checkOwn(options);
  banOf(options);
  const { name, identity, windowMs = 60_000 } = plain;
  const own = new OwnStore(store, { name, hasName, identity, windowMs },
                           () => wholeMs(clock()));
  own.init({ ...options, limit: options.limit ?? options.max });
  return { limiter: undefined as never, plain, own, identity,
           pathOf: (a, b) => plain.path(a, b), close: () => own.close() };
}

/** Refuses what an object that counts does not do. */
function checkOwn(options: WebOptions<never, never>): void {
  const { algorithm = 'fixed_window' } = options;
  const wrong = [...WAYS, ...Object.keys(storeOptionsOf(options))]
    .find((name) => (options as Record<string, unknown>)[name]);
  if (wrong === undefined && algorithm === 'fixed_window') return;
  refuse(`${wrong ?? 'algorithm'} is for stores of limitree: an object as ` +
    'store counts in windows, and fails as it likes');
}

/** The ways in which only limitree's stores treat denied clients. */
const WAYS: readonly string[] = ['continueExceeding', 'exponentialBackoff'];

function treeFor(own: PlainTree, options: WebOptions<never, never>) {
  return options.name === undefined || !own.hasLimiter
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
    : [...PLAIN, 'clock', 'passOnStoreError',
       ...Object.keys(storeOptionsOf(options))];
  const given: Record<string, unknown> = { ...options };
  for (const name of others) {
    if (given[name] === undefined) continue;
    refuse(`${name} cannot be given together with ${what}`);
  }
}
