// A plain limit, a number of requests per time for each client, as a tree of
// limits, so that it is decided like all others.

import { canonicalIp } from '../address.js';
import { invalidArgument } from '../errors.js';
import { wellFormed, type Path, type Segment } from '../paths.js';
import { shown } from '../words.js';
import { AllowList, formOf } from './allow_list.js';
import { isPromise, type Maybe } from './maybe.js';
import { refuse } from './refuse.js';
import type { WebOptions } from './options.js';
import type { Asked } from './own_store.js';
import type { KnownLimits, Node, PlainTree } from './plain_tree.js';
import {
  bucketOf, checkLimit, clientNode, durationOf, windowOf, type Bucket,
} from './plain_node.js';

/**
 * The maximum number of different limits of one middleware.  If limits are
 * computed for each request, a mistake must not fill the memory.
 */
const MAX_LIMITS = 1000;

/** In place of the path of a request whose client is not limited. */
export class Exempt {
  constructor(readonly key: Segment) {}
}

/** The types that a key may have. */
const KEYS: readonly string[] = ['string', 'number', 'bigint'];

function prefixOf(ipv6Subnet: unknown): number {
  if (ipv6Subnet === undefined) return 64;
  if (ipv6Subnet === false) return 128;
  const bits = ipv6Subnet as number;
  if (Number.isInteger(bits) && bits > 0 && bits <= 128) return bits;
  return refuse('ipv6Subnet must be a number of bits, 1 to 128, or false, is ' +
    shown(ipv6Subnet));
}

/** What a plain limit needs to know about the framework. */
interface Ways<A> {
  ipOf(a: A): string | undefined;
  /** Why there is no address. */
  whyNoAddress(a: A): string;
  readonly takesKey: boolean;
}

/** A function that returns a number; `more` depends on the framework. */
type NumberOf<A> = (a: A, more: unknown) => Maybe<number | string>;

/** The plain limit of a middleware. */
export class Plain<A, B> {
  /** The same for all that count in the same buckets. */
  readonly identity: object;
  readonly name: string;
  /** If all requests have the same. */
  readonly limit: number | undefined;
  readonly windowMs: number | undefined;
  /** Whether what was used comes back at an even pace. */
  readonly isEven: boolean;
  readonly #tree: PlainTree;
  readonly #bucket: Bucket;
  readonly #prefix: number | undefined;  // none: keys are not addresses
  readonly #limitOf: NumberOf<A> | undefined;
  readonly #windowOf: NumberOf<A> | undefined;
  readonly #keyOf: (a: A, b: B) => Maybe<Segment>;
  readonly #ways: Ways<A>;
  readonly #limits: KnownLimits;
  readonly #allowList: AllowList<A> | undefined;

  /** `name` is the name if `options` has none. */
  constructor(
    tree: PlainTree,
    options: WebOptions<A, B>,
    ways: Ways<A>,
    name?: string,
  ) {
    const { windowMs = 60_000, keyGenerator } = options;
    const limit = options.limit ?? options.max;
    this.#tree = tree;
    this.#bucket = bucketOf(options);
    this.isEven = this.#bucket.burst;
    this.#ways = ways;
    if (typeof windowMs === 'function') {
      this.#windowOf = windowMs as NumberOf<A>;
    } else {
      this.windowMs = windowOf(windowMs);
    }
    if (typeof limit === 'function') {
      this.#limitOf = limit as NumberOf<A>;
    } else {
      checkLimit(limit);
      this.limit = limit as number;
    }
    const period = this.windowMs === undefined ? ''
      : `/${durationOf(this.windowMs)}`;
    this.name = options.name ?? name ?? `${this.limit ?? 'limits'}${period}`;
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
    this.#allowList = AllowList.of(
      options.allowList, this.#prefix !== undefined);
    tree.add(this.name, this.#node(), this.#bucket.rest['align'] === 'first');
  }

  /** The path of a request. */
  path(a: A, b: B): Maybe<Path | Exempt> {
    const key = this.#keyOf(a, b);
    const needsKey = this.#allowList !== undefined ||
      (this.#ways.takesKey && !this.#isFixed);
    if (needsKey && isPromise(key)) {
      return key.then((one) => this.#withList(a, b, one));
    }
    return needsKey ? this.#withList(a, b, key as Segment)
      : this.#withLimit(a, b, key);
  }

  #withList(a: A, b: B, key: Segment): Maybe<Path | Exempt> {
    if (this.#allowList === undefined) return this.#withLimit(a, b, key);
    this.#checkKey(a, key);
    const has = this.#allowList.has(a, key, this.#ways.takesKey ? key : b);
    if (isPromise(has)) {
      return has.then(
        (yes) => yes ? new Exempt(key) : this.#withLimit(a, b, key));
    }
    return has ? new Exempt(key) : this.#withLimit(a, b, key);
  }

  #withLimit(a: A, b: B, key: Maybe<Segment>): Maybe<Path> {
    const more = this.#ways.takesKey ? key : b;
    const limit = this.#limitOf?.(a, more);
    const window = this.#windowOf?.(a, more);
    if (isPromise(key) || isPromise(limit as Maybe<unknown>) ||
        isPromise(window as Maybe<unknown>)) {
      return Promise.all([key, limit, window]).then(
        ([one, other, third]) => this.#pathOf(a, one, other, third));
    }
    return this.#pathOf(
      a, key, limit as number | undefined, window as number | undefined);
  }

  get #isFixed(): boolean {
    return this.#limitOf === undefined && this.#windowOf === undefined;
  }

  /** A path of some client, if all clients have the same limit. */
  get fixedPath(): Path | undefined {
    if (!this.#isFixed) return undefined;
    return [this.name, this.#prefix === undefined ? '-' : '::'];
  }

  /** Paths to all buckets of the client with this key. */
  pathsOfKey(key: Segment): readonly Path[] {
    const text = this.keyOf(key);
    if (this.#isFixed) return [[this.name, text]];
    // Limits of the same window lead to one bucket.
    const ends = new Map([...this.#limits.keys()].map((known) => {
      const end = known.split(' ');
      return [end.length === 1 ? '' : end[0], end];
    }));
    return [...ends.values()].map((end) => [this.name, text, ...end]);
  }

  /** The request that has the path. */
  asked(path: Path): Asked {
    const [, key, ...end] = path;
    const limit = this.limit ?? Number(end.at(-1));
    const windowMs = this.windowMs ?? windowOf(String(end[0]));
    return { key: this.keyOf(key!), limit, windowMs };
  }

  /** A key as text, addresses in one form. */
  keyOf(key: Segment): string {
    return this.#prefix === undefined ? wellFormed(String(key))
      : formOf(String(key), this.#prefix);
  }

  #checkKey(a: A, key: Segment): void {
    if (!KEYS.includes(typeof key)) this.#refuseKey(a, key);
  }

  #pathOf(
    a: A,
    key: Segment,
    limit: number | string | undefined,
    window: number | string | undefined,
  ): Maybe<Path> {
    this.#checkKey(a, key);
    if (this.#isFixed) return [this.name, key];
    const end: string[] = [];
    if (this.#windowOf !== undefined) end.push(durationOf(windowOf(window)));
    // A window has a bucket for itself, whatever the limit is.
    const count = this.limit ?? limit;
    checkLimit(count);
    end.push(String(count));
    const path = [this.name, key, ...end];
    const known = this.#limits.get(end.join(' ')) ?? this.#learn(end.join(' '));
    return known === true ? path : known.then(() => path);
  }

  #refuseKey(a: A, key: unknown): never {
    throw invalidArgument(this.#prefix !== undefined
      ? `the address of the client is unknown: ${this.#ways.whyNoAddress(a)}`
      : 'keyGenerator must return a string or a whole number, not ' +
        shown(key));
  }

  #learn(limit: string): Promise<void> | true {
    if (this.#limits.size === MAX_LIMITS) {
      refuse(`${limit} would be one limit too many: there are ${MAX_LIMITS} ` +
        'different ones already');
    }
    this.#limits.set(limit, Promise.resolve());
    const changed = this.#tree.change(this.name, this.#node());
    this.#limits.set(limit, changed);
    changed.then(() => this.#limits.set(limit, true),
                 () => this.#limits.delete(limit));
    return changed;
  }

  /** The node with one limit for each client, or with those that are known. */
  #node(): Node {
    return this.#nodeOver(clientNode(
      this.#bucket, this.limit, this.windowMs, [...this.#limits.keys()]));
  }

  /** A node with something else for each client. */
  nodeWith(limits: object): Node {
    return this.#nodeOver({ limits });
  }

  #nodeOver(client: Node): Node {
    const key = this.#prefix === undefined ? {}
      : { key: 'ip', ipv6_prefix: this.#prefix };
    return { ...key, children: { '*': client } };
  }

  /**
   * Called when the core has refused a path.  Returns the path with only the
   * address, because some servers put more around it; undefined if that makes
   * no difference.
   */
  repaired([name, key, ...rest]: Path): Path | undefined {
    if (this.#prefix === undefined || typeof key !== 'string') return undefined;
    const address = canonicalIp(key);
    return address === key ? undefined : [name!, address, ...rest];
  }
}
