// The limiter.

/// <reference lib="esnext.disposable" preserve="true" />

import {
  type AsyncCallOptions, type AsyncReserveOptions, type CallOptions, NONE,
  type ReserveOptions, checkFlag, checkOptions,
} from './call_options.js';
import { bindMethods } from './bind.js';
import { readStore } from './client.js';
import { writeFirstTime } from './clock.js';
import type { Cost } from './cost.js';
import type { Decision } from './decision.js';
import { Holds } from './holds.js';
import * as at from './layout.js';
import { blockNsOf, drainMsOf, forgottenBy, pressureOf, replaceOf }
  from './limiter_options.js';
import type { CloseOptions, LimiterOptions, PutOptions, ResetOptions }
  from './limiter_options.js';
import {
  type DescriptorFiles, type FileUrl, type Limits, ReadLimits,
  checkLimiterNames, checkShare, fileUrl, read, readDescriptors, readSync,
  shownLimits, textOfNode,
} from './limits.js';
import { Names } from './names.js';
import type {
  Descriptor, DescriptorStats, RateLimitOptions, EnvoyResponse, EnvoyStats,
} from './envoy.js';
import { type Functions, closed, native } from './native.js';
import type { Path, PathList, Segment } from './paths.js';
import { Requests } from './requests.js';
import type { Reservation } from './reservation.js';
import { type LimitStats, type ReasonStats, type Stats, labeled, totals }
  from './stats.js';
import { Lines, type WaitOptions } from './waiting.js';

/** What other files of this package need of a limiter. */
export let partsOf: (limiter: Limiter) => [Functions, Requests];

/** Decides whether the caller named by a path may act now. */
export class Limiter {
  static { partsOf = (limiter) => [limiter.#native, limiter.#requests]; }
  #native: Functions;
  readonly #requests: Requests;
  readonly #holds: Holds;
  readonly #lines = new Lines((path, options) => this.authorize(path, options));
  #limits: Limits | undefined;
  #descriptors: DescriptorFiles | undefined;
  #isClosed = false;
  readonly #store: string;

  /**
   * Reads `limits` if they are a file.  Connects to the store on first use.
   *
   * Throws ConfigError if limits or options are not valid, or if a file cannot
   * be read.
   */
  constructor(options: LimiterOptions) {
    checkLimiterNames(options);
    const { limits, clock, levels, share, descriptors, mergeDomains = false,
            ...rest } = options;
    checkFlag(mergeDomains, 'mergeDomains');
    if (levels !== undefined) checkFlag(levels, 'levels');
    checkShare(options);
    const text = limits === undefined && descriptors !== undefined ? []
      : readSync(limits as Limits);
    const files = readDescriptors(descriptors);
    const { texts, store, client, bind } = readStore(rest);
    writeFirstTime(clock);
    this.#native = bind(native.open(text, texts, share ?? '',
      clock !== undefined, files, mergeDomains, ...client));
    this.#store = store;
    this.#requests = new Requests(this.#native, new Names(this.#native),
                                  this.isRemote, levels === true, clock);
    this.#holds = new Holds(this.#requests);
    this.#limits = limits instanceof ReadLimits ? limits.from : limits;
    this.#descriptors = descriptors;
    bindMethods(this);
  }

  /** Makes a limiter from a file, without blocking while the file is read. */
  static async fromFile(
    file: string | FileUrl, options: Omit<LimiterOptions, 'limits'> = {},
  ): Promise<Limiter> {
    checkLimiterNames(options);
    const from = fileUrl(file);
    const limits = new ReadLimits(from, await read(from));
    return new Limiter({ ...options, limits });
  }

  /**
   * Charges `cost` to every limit along `path` if all of them allow it, else
   * charges nothing.  Resolves to the decision, allowed or denied.
   *
   * Rejects with a LimitreeError: a StoreError if the store cannot answer and
   * `onStoreError` is `"raise"`, otherwise `LIMITREE_INVALID_ARGUMENT`,
   * `LIMITREE_UNKNOWN_ROOT` or `LIMITREE_CANCELLED`.
   */
  authorize(path: Path, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAsync(at.AUTHORIZE, path, options);
  }

  /**
   * The same at once.  Throws what `authorize` rejects with, and
   * `LIMITREE_NOT_SYNC` if the store is on another machine.
   */
  authorizeSync(path: Path, options: CallOptions = NONE): Decision {
    if (options !== NONE) checkOptions(options, false);
    this.#requests.needMemory('authorize');
    return this.#requests.decide(at.AUTHORIZE, path, options);
  }

  /**
   * The same, but waits in line instead of being denied: first come, first
   * served, among the callers of this process.  Resolves to a denial if the
   * wait would be longer than `maxWait`, or the line than `maxQueue`.
   */
  wait(path: Path, options?: WaitOptions): Promise<Decision> {
    return this.#lines.wait(path, options);
  }

  /**
   * `authorize` over several paths, `['ip', ip]` or `{ path, cost: 2 }`: all or
   * nothing over all of their limits.  A bucket that several paths reach
   * is charged once, with the largest cost.
   */
  authorizeAll(paths: PathList, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAll(at.AUTHORIZE, paths, options);
  }

  /** `peek` over several paths. */
  peekAll(paths: PathList, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAll(at.PEEK, paths, options);
  }

  /** `spend` over several paths; a bucket that they share is charged once. */
  spendAll(paths: PathList, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAll(at.SPEND, paths, options);
  }

  /** `refund` over several paths: undoes `authorizeAll`. */
  refundAll(paths: PathList, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAll(at.REFUND, paths, options);
  }

  /**
   * Resolves to undefined if `user` may do `action` now, else to the decision
   * about `['user', user, action]`.  Rejects as `authorize` does.
   */
  authorizeActionForUser(
    user: Segment, action: Segment, options?: AsyncCallOptions,
  ): Promise<Decision | undefined> {
    return this.#requests.decideForUser(user, action, options);
  }

  /** Answers as `authorize` would, and charges nothing. */
  peek(path: Path, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAsync(at.PEEK, path, options);
  }

  /**
   * Charges `cost` even if it does not fit; a bucket can only become empty.
   * For costs known afterwards.  The decision is never limited.
   */
  spend(path: Path, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAsync(at.SPEND, path, options);
  }

  /** Gives `cost` back to every limit along `path`, up to its capacity. */
  refund(path: Path, options?: AsyncCallOptions): Promise<Decision> {
    return this.#requests.decideAsync(at.REFUND, path, options);
  }

  /**
   * Decides as `authorize`.  Limits with `hold` then hold their units until the
   * cost is known, for `hold` at most; all others are charged.
   */
  reserve(path: Path, options?: AsyncReserveOptions): Promise<Reservation> {
    return this.#holds.reserve(path, options);
  }

  /** The same at once, as `authorizeSync`. */
  reserveSync(path: Path, options?: ReserveOptions): Reservation {
    return this.#holds.reserveSync(path, options);
  }

  /** `reserve` over several paths. */
  reserveAll(
    paths: PathList, options?: AsyncReserveOptions,
  ): Promise<Reservation> {
    return this.#holds.reserveAll(paths, options);
  }

  /** `settle` of the reservation with that `receipt`, made anywhere. */
  settle(receipt: string, cost?: Cost): Promise<number> {
    return this.#holds.settle(receipt, cost);
  }

  settleSync(receipt: string, cost?: Cost): number {
    return this.#holds.settleSync(receipt, cost);
  }

  /** `cancel` of that reservation. */
  cancel(receipt: string): Promise<number> {
    return this.#holds.cancel(receipt);
  }

  cancelSync(receipt: string): number {
    return this.#holds.cancelSync(receipt);
  }

  /** `extend` of that reservation. */
  extend(receipt: string, hold: number | string): Promise<number> {
    return this.#holds.extend(receipt, hold);
  }

  extendSync(receipt: string, hold: number | string): number {
    return this.#holds.extendSync(receipt, hold);
  }

  /** Forgets the buckets along `path`; blocks and counted denials stay. */
  async reset(path: Path, options: ResetOptions = {}): Promise<void> {
    await this.#requests.reset(path, forgottenBy(options));
  }

  /**
   * Denies every request along `path`, where the deepest limit with
   * `block: true` counts, for `duration` from now on: milliseconds or `"1d"`.
   * Rejects with a StoreError whatever `onStoreError` says.
   */
  async block(path: Path, duration: number | string): Promise<void> {
    await this.#requests.reset(path, at.BLOCK, blockNsOf(duration));
  }

  /** Ends a block, and forgets the denials that were counted there. */
  async unblock(path: Path): Promise<void> {
    await this.#requests.reset(path, at.UNBLOCK);
  }

  /**
   * Replaces the limits; running requests finish on the old ones.  Without
   * `limits` the file is read again.  Rejects with the errors of the
   * constructor; the old limits then stay.
   */
  async reload(limits: Limits | undefined = this.#limits): Promise<void> {
    const texts = limits === undefined ? [] : await read(limits);
    await this.#requests.wait(this.#native.reload(texts));
    this.#limits = limits;
  }

  /** The same for the descriptors. */
  async reloadDescriptors(
    descriptors: DescriptorFiles | undefined = this.#descriptors,
  ): Promise<void> {
    const files = readDescriptors(descriptors);
    await this.#requests.wait(this.#native.reloadDescriptors(files));
    this.#descriptors = descriptors;
  }

  /**
   * Answers a request of Envoy by the descriptors of this limiter: resolves to
   * a code and a status for each of `descriptors`, `{ key: 'value' }`,
   * `[['key', 'value']]` or `{ entries, hitsAddend: 2 }`.
   *
   * Rejects with `LIMITREE_INVALID_ARGUMENT` for an empty domain or array, and
   * with a StoreError as `authorize` does.
   */
  async shouldRateLimit(
    domain: string, descriptors: readonly Descriptor[],
    options: RateLimitOptions = {},
  ): Promise<EnvoyResponse> {
    return await this.#requests.askEnvoy(domain, descriptors, options);
  }

  /** What `shouldRateLimit` would answer now; charges and counts nothing. */
  async peekDescriptors(
    domain: string, descriptors: readonly Descriptor[],
    options: RateLimitOptions = {},
  ): Promise<EnvoyResponse> {
    return await this.#requests.askEnvoy(domain, descriptors, options, 'peek');
  }

  /** Forgets the buckets that `shouldRateLimit` would reach. */
  async resetDescriptors(domain: string, descriptors: readonly Descriptor[],
  ): Promise<void> {
    await this.#requests.askEnvoy(domain, descriptors, {}, 'reset');
  }

  /** The hits of rules, by their names in metrics. */
  descriptorStats(): DescriptorStats[] {
    return labeled('key', this.#native.descriptorStats());
  }

  /** The counters of requests of Envoy. */
  envoyStats(): EnvoyStats {
    return totals(this.#native.envoyStats());
  }

  /**
   * Adds one top-level name, or replaces it; the others are not read again.
   * `node` is what stands below `name` in a limits.yaml, as YAML or as an
   * object.  A reload keeps names that were added.  Rejects with a ConfigError
   * for a mistake, and if the name exists and may not be replaced.
   */
  async put(
    name: string, node: string | object, options: PutOptions = {},
  ): Promise<void> {
    const replace = replaceOf(name, options);
    await this.#requests.wait(
      this.#native.put(name, textOfNode(node), replace));
  }

  /** Resolves to the milliseconds of a round trip to the store. */
  async ping(): Promise<number> {
    return await this.#requests.wait(this.#native.ping());
  }

  /** The counters; takes about 1 ms per million buckets. */
  stats(): Stats {
    return totals(this.#native.stats());
  }

  /** The counters of each limit, in the order of the tree. */
  limitStats(): LimitStats[] {
    return labeled('policy', this.#native.limitStats());
  }

  /** How often the store has failed, by reason, in the order of appearance. */
  reasonStats(): ReasonStats[] {
    return labeled('reason', this.#native.reasonStats());
  }

  /**
   * Sets how busy this process is, from 0 (idle) to 1, the initial value:
   * limits with `overrun: {percent: N, when: idle}` admit
   * N % x (1 - pressure) above their capacity.  Throws
   * `LIMITREE_INVALID_ARGUMENT` for anything else.
   */
  setPressure(pressure: number): void {
    this.#native.setPressure(pressureOf(pressure));
  }

  /** All counters in the text format of Prometheus. */
  prometheus(): string {
    return this.#native.prometheus();
  }

  /** Which limits lie on `path` and why, as text for people. */
  explain(path: Path): string {
    return this.#requests.explain(path);
  }

  /** The URL of the store, without user and password. */
  get store(): string {
    return this.#store;
  }

  /** Whether `close` was called. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /** Whether a decision may have to wait for another machine. */
  get isRemote(): boolean {
    return this.#native.isRemote;
  }

  /** Whether other processes can share the buckets; then the store can fail. */
  get isShared(): boolean {
    return this.#native.isShared;
  }

  /**
   * Releases the store when all running requests have their answers, or after
   * `drain` milliseconds at the latest.  Requests that are still waiting then,
   * and later calls, are rejected with `LIMITREE_CANCELLED`.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    const drain = drainMsOf(options);
    this.#isClosed = true;
    this.#lines.close();
    this.#native = closed(this.#native);
    if (drain > 0) await this.#requests.drained(drain);
    this.#native.close();
  }

  /** For console.log(). */
  [Symbol.for('nodejs.util.inspect.custom')](
    _depth: number, options: object,
    inspect: (value: unknown, options: object) => string,
  ): string {
    const { store, closed } = this;
    const limits = shownLimits(this.#limits);
    return `Limiter ${inspect({ store, limits, closed }, options)}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
