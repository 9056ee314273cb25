// A plain limit, a number of requests per time for each client, as a tree of
// limits, so that it is decided like all others.

import { canonicalIp } from '../address.js';
import { LimitreeError, invalidArgument } from '../errors.js';
import type { Path, Segment } from '../paths.js';
import { shown } from '../words.js';
import { isPromise } from './maybe.js';
import type { Maybe } from './maybe.js';
import { refuse } from './options.js';
import type { WebOptions } from './options.js';
import type { KnownLimits, Node, PlainTree } from './plain_tree.js';

/**
 * The maximum number of different limits of one middleware.  If limits are
 * computed for each request, a mistake must not fill the memory.
 */
const MAX_LIMITS = 1000;

const UNITS = [
  ['d', 86_400_000], ['h', 3_600_000], ['m', 60_000], ['s', 1000],
  ['ms', 1]] as const;

/** `900000` as `"15m"`. */
function durationOf(ms: number): string {
  const unit = UNITS.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  return `${ms / unit[1]}${unit[0]}`;
}

/** The types that a key may have. */
const KEYS: readonly string[] = ['string', 'number', 'bigint'];

function isPositive(number: unknown): boolean {
  return Number.isSafeInteger(number) && (number as number) > 0;
}

function checkLimit(limit: unknown): void {
  if (isPositive(limit)) return;
  refuse('limit must be a whole number greater than 0, is ' +
    `${shown(limit)}; to let nobody through, do that in a handler of its own`);
}

function prefixOf(ipv6Subnet: unknown): number {
  if (ipv6Subnet === undefined) return 64;
  if (ipv6Subnet === false) return 128;
  if (Number.isInteger(ipv6Subnet)) return ipv6Subnet as number;
  return refuse('ipv6Subnet must be a number of bits or false, is ' +
    shown(ipv6Subnet));
}

/** What a limit whose requests reserve says. */
function holdOf(
  reserve: boolean | number | string = false,
): { readonly hold?: string } {
  if (reserve === false) return {};
  if (reserve === true) {
    refuse('a plain limit holds nothing by itself: give reserve a time, such ' +
      'as "30s"');
  }
  return { hold: typeof reserve === 'number' ? `${reserve}ms` : reserve };
}

/** What a plain limit needs to know about the framework. */
interface Ways<A> {
  ipOf(a: A): string | undefined;
  /** Why there is no address. */
  whyNoAddress(a: A): string;
  readonly limitTakesKey: boolean;
}

/** A function that returns the limit; `more` depends on the framework. */
type LimitOf<A> = (a: A, more: unknown) => Maybe<number>;

/** The plain limit of a middleware. */
export class Plain<A, B> {
  /** The same for all that count in the same buckets. */
  readonly identity: object;
  readonly name: string;
  readonly #tree: PlainTree;
  readonly #period: string;
  readonly #hold: { readonly hold?: string };
  readonly #prefix: number | undefined;  // none: keys are not addresses
  readonly #limitOf: LimitOf<A> | undefined;
  readonly #keyOf: (a: A, b: B) => Maybe<Segment>;
  readonly #ways: Ways<A>;
  readonly #limits: KnownLimits;

  /** `name` is the name if `options` has none. */
  constructor(
    tree: PlainTree,
    options: WebOptions<A, B>,
    ways: Ways<A>,
    name?: string,
  ) {
    const { windowMs = 60_000, keyGenerator } = options;
    const limit = options.limit ?? options.max;
    if (!isPositive(windowMs)) {
      refuse('windowMs must be a whole number of milliseconds greater than 0,' +
        ` is ${shown(windowMs)}`);
    }
    this.#tree = tree;
    this.#period = durationOf(windowMs);
    this.#hold = holdOf(options.reserve);
    this.#ways = ways;
    if (typeof limit === 'function') this.#limitOf = limit as LimitOf<A>;
    else checkLimit(limit);
    const isFixed = this.#limitOf === undefined;
    this.name = options.name ?? name ??
      `${isFixed ? String(limit) : 'limits'}/${this.#period}`;
    if (typeof this.name !== 'string' || !/^[^*]+$/.test(this.name)) {
      refuse(`name must be a text without *, is ${shown(this.name)}`);
    }
    this.identity = this.#limits = tree.limitsOf(this.name);
    if (keyGenerator === undefined) {
      this.#prefix = prefixOf(options.ipv6Subnet);
      this.#keyOf = ways.ipOf as (a: A) => string;
    } else {
      if (options.ipv6Subnet !== undefined || options.clientIp !== undefined) {
        refuse('ipv6Subnet and clientIp are for clients that are told apart ' +
          'by their addresses: keyGenerator can use canonicalIp and clientIp');
      }
      this.#keyOf = keyGenerator;
    }
    tree.add(this.name, this.#node(isFixed ? limit as number : undefined));
  }

  /** The path of a request. */
  path(a: A, b: B): Maybe<Path> {
    const key = this.#keyOf(a, b);
    const takesKey = this.#ways.limitTakesKey;
    if (this.#limitOf !== undefined && takesKey && isPromise(key)) {
      return key.then((one) => this.#withLimit(a, b, one));
    }
    return this.#withLimit(a, b, key);
  }

  #withLimit(a: A, b: B, key: Maybe<Segment>): Maybe<Path> {
    const limit = this.#limitOf?.(a, this.#ways.limitTakesKey ? key : b);
    if (isPromise(key) || isPromise(limit)) {
      return Promise.all([key, limit]).then(
        ([one, other]) => this.#pathOf(a, one, other));
    }
    return this.#pathOf(a, key, limit);
  }

  /** A path of some client, if all clients have the same limit. */
  get fixedPath(): Path | undefined {
    if (this.#limitOf !== undefined) return undefined;
    return [this.name, this.#prefix === undefined ? '-' : '::'];
  }

  /** The path to the bucket of the client with this key. */
  pathOfKey(key: Segment): Maybe<Path> {
    // Every limit leads to the same bucket.
    const [limit = 1] = this.#limits.keys();
    return this.#pathWith(key, this.#limitOf && limit);
  }

  #pathOf(a: A, key: Segment, limit: number | undefined): Maybe<Path> {
    if (!KEYS.includes(typeof key)) this.#refuseKey(a, key);
    return this.#pathWith(key, limit);
  }

  #pathWith(key: Segment, limit: number | undefined): Maybe<Path> {
    if (limit === undefined && this.#limitOf === undefined) {
      return [this.name, key];
    }
    const path = [this.name, key, String(limit)];
    const known = this.#limits.get(limit as number) ??
      this.#learn(limit as number);
    return known === true ? path : known.then(() => path);
  }

  #refuseKey(a: A, key: unknown): never {
    throw invalidArgument(this.#prefix !== undefined
      ? `the address of the client is unknown: ${this.#ways.whyNoAddress(a)}`
      : 'keyGenerator must return a string or a whole number, not ' +
        shown(key));
  }

  #learn(limit: number): Promise<void> | true {
    checkLimit(limit);
    if (this.#limits.size === MAX_LIMITS) {
      refuse(`${limit} would be one limit too many: there are ${MAX_LIMITS} ` +
        'different ones already');
    }
    this.#limits.set(limit, Promise.resolve());
    const changed = this.#tree.change(this.name, this.#node(undefined));
    this.#limits.set(limit, changed);
    changed.then(() => this.#limits.set(limit, true),
                 () => this.#limits.delete(limit));
    return changed;
  }

  /** The node with one limit for each client, or with those that are known. */
  #node(limit: number | undefined): Node {
    const rest = { period: this.#period, ...this.#hold };
    const of = (count: number) =>
      ({ limits: { count, burst: count, ...rest } });
    const known = [...this.#limits.keys()];
    const client = limit !== undefined ? of(limit) : known.length === 0 ? {}
      : { key: 'tier', children: Object.fromEntries(
        known.map((count) => [String(count), of(count)])) };
    const key = this.#prefix === undefined ? {}
      : { key: 'ip', ipv6_prefix: this.#prefix };
    return { ...key, children: { '*': client } };
  }

  /**
   * Called when the core has refused a path.  Returns the path with only the
   * address, because some servers put more around it; undefined if that makes
   * no difference.
   */
  repaired(path: Path, error: unknown): Path | undefined {
    if (this.#prefix === undefined || typeof path[1] !== 'string') {
      return undefined;
    }
    if (!(error instanceof LimitreeError) ||
        error.code !== 'LIMITREE_INVALID_ARGUMENT') return undefined;
    const address = canonicalIp(path[1]);
    return address === path[1] ? undefined
      : [path[0]!, address, ...path.slice(2)];
  }
}
