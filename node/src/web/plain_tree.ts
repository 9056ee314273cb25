// The limiter behind plain limits: a tree with one top-level name for each.

import { Limiter } from '../limiter.js';
import type { CloseOptions } from '../limiter_options.js';
import { isMemory } from '../stores.js';
import type { LimitTree, StoreOptions } from '../limits.js';
import type { Clock } from '../clock.js';
import { refuse } from './refuse.js';

/** What stands below a top-level name. */
export type Node = Readonly<Record<string, unknown>>;

/** Limits that functions have returned; true: the limiter knows them. */
export type KnownLimits = Map<string, Promise<void> | true>;

export class PlainTree {
  readonly #options: StoreOptions & { readonly clock?: Clock | undefined };
  readonly #nodes = new Map<string, Node>();
  readonly #limits = new Map<string, KnownLimits>();
  #limiter: Limiter | undefined;
  #hasWindows = false;  // that begin with a request
  #changed: Promise<void> = Promise.resolve();  // the last change()

  /** Without a limiter, another store counts, and nobody learns of changes. */
  constructor(
    options: StoreOptions & { readonly clock?: Clock | undefined },
    readonly hasLimiter = true,
  ) {
    this.#options = options;
  }

  get limiter(): Limiter {
    this.#limiter ??= new Limiter({
      ...this.#options, clock: this.#clock(), limits: this.#tree() });
    return this.#limiter;
  }

  /**
   * Windows that begin with a request begin at whole milliseconds, as those of
   * other libraries do: the core rounds up to microseconds, so that a client
   * would be told to wait for a second more.
   */
  #clock(): Clock | undefined {
    const { store, clock } = this.#options;
    return this.#hasWindows && clock === undefined && isMemory(store)
      ? () => Date.now() : clock;
  }

  /**
   * Adds a name before the first request, unless it has that node already;
   * `hasWindows` if its windows begin with a request.
   */
  add(name: string, node: Node, hasWindows = false): void {
    this.#hasWindows ||= hasWindows;
    const before = this.#nodes.get(name);
    if (before === undefined) {
      if (this.#limiter !== undefined) {
        refuse(`the limit ${name} comes too late: requests are served already`);
      }
      check(name, node);
      this.#nodes.set(name, node);
    } else if (JSON.stringify(before) !== JSON.stringify(node)) {
      refuse(`there are two different limits with the name ${name}: give one ` +
        'another name, or close the first before the second is made');
    }
  }

  /** The limits with that name that functions have returned: one map. */
  limitsOf(name: string): KnownLimits {
    const limits = this.#limits.get(name) ?? new Map<string, never>();
    this.#limits.set(name, limits);
    return limits;
  }

  /** Changes what stands below a name; it is known once this has resolved. */
  change(name: string, node: Node): Promise<void> {
    this.#nodes.set(name, node);
    if (!this.hasLimiter) return this.#changed;
    const changed = this.#changed.then(
      () => this.limiter.put(name, node, { replace: true }));
    this.#changed = changed.catch(() => undefined);
    return changed;
  }

  async close(options?: CloseOptions): Promise<void> {
    await this.#limiter?.close(options);
  }

  #tree(): LimitTree {
    return { schema: Object.fromEntries(this.#nodes) };
  }
}

/** Throws the error of the core, with its place, if the node is not valid. */
function check(name: string, node: Node): void {
  void new Limiter({ limits: { schema: { [name]: node } } }).close();
}
