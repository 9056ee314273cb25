// The limits of each method: made when it is called first, or when the module
// begins if the method has limits of its own.

import { Limiter } from '../limiter.js';
import { Answers } from '../web/answer.js';
import { Gate } from '../web/gate.js';
import { storeOptionsOf, webStoreOptionsOf } from '../web/options.js';
import { isStore } from '../web/own_store.js';
import { PlainTree, type Node } from '../web/plain_tree.js';
import { refuse } from '../web/refuse.js';
import { plainSubject, subjectOf, type Subject } from '../web/subject.js';
import { merged, readModule } from './options.js';
import type {
  LimitModuleOptions, LimitOptions, Named, Skipped,
} from './options.js';
import { NEST, type NestRequest, type NestResponse } from './requests.js';

/** What a class or a method says. */
export interface Said {
  readonly limits?: readonly Named[] | undefined;
  readonly skipped?: Skipped | undefined;
}

/** A limit of a method. */
export interface Placed {
  readonly name: string;
  readonly gate: Gate<NestRequest, NestResponse>;
  readonly answers: Answers<NestRequest, NestResponse>;
  readonly handler: LimitOptions['handler'];
}

/** A tree that may also get names after its first request. */
class GrowingTree extends PlainTree {
  readonly #names = new Set<string>();
  #hasBegun = false;
  /** Resolves when the limiter knows all names. */
  grown: Promise<void> = Promise.resolve();

  override get limiter(): Limiter {
    this.#hasBegun = true;
    return super.limiter;
  }

  override add(name: string, node: Node, hasWindows = false): void {
    if (this.#hasBegun && !this.#names.has(name)) {
      new PlainTree({}).add(name, node);  // throws if it is not valid
      this.grown = this.change(name, node).catch(() => undefined);
    } else {
      super.add(name, node, hasWindows);
    }
    this.#names.add(name);
  }
}

/** Whether a name is skipped; undefined if that is not said. */
function skips(skipped: Skipped | undefined, name: string) {
  if (typeof skipped !== 'object') return skipped;
  return Object.hasOwn(skipped, name) ? skipped[name] : undefined;
}

type OneSubject = Subject<NestRequest, NestResponse>;

/** The limits of an application. */
export class Routes {
  readonly #common: LimitOptions;
  readonly #limits: readonly Named[];
  readonly #tree: GrowingTree;
  readonly #own: Limiter | undefined;  // made here, of `limits`
  readonly #subjects: OneSubject[] = [];
  readonly #placed = new Map<object, Map<object, readonly Placed[]>>();
  readonly #names = new Map<string, readonly [object, object]>();

  constructor(options: LimitModuleOptions) {
    const { common, limits } = readModule(options);
    this.#common = common;
    this.#limits = limits;
    this.#tree = new GrowingTree(
      { ...webStoreOptionsOf(common), clock: common.clock },
      !isStore(common.store));
    if (common.limits !== undefined && common.limiter === undefined) {
      this.#own = new Limiter({ ...webStoreOptionsOf(common),
                                limits: common.limits, clock: common.clock });
    }
  }

  /** The limits of a method. */
  of(owner: NamedObject, method: NamedObject, own: Said, its: Said) {
    let methods = this.#placed.get(owner);
    if (methods === undefined) this.#placed.set(owner, methods = new Map());
    let placed = methods.get(method);
    if (placed === undefined) {
      placed = this.#make(owner, method, own, its);
      methods.set(method, placed);
    }
    return placed;
  }

  /** Those that were made for a method before. */
  known(owner: object, method: object): readonly Placed[] {
    return this.#placed.get(owner)?.get(method) ?? [];
  }

  /** Resolves when what was made last can be asked. */
  get ready(): Promise<void> {
    return this.#tree.grown;
  }

  /**
   * Makes the limiter, so that a wrong store is reported at the start, and so
   * are wrong limits of the module, which routes get with their first request.
   */
  begin(): void {
    for (const one of this.#limits) {
      if (one.limit === undefined && one.path === undefined) continue;
      this.#place('checked', { ...one, store: undefined }, new PlainTree({}));
    }
    for (const subject of this.#subjects) void subject.limiter;
  }

  #make(owner: NamedObject, method: NamedObject, own: Said, its: Said) {
    const limits = new Map<string, Named>();
    for (const one of [...this.#limits, ...own.limits ?? [],
                       ...its.limits ?? []]) {
      const before = limits.get(one.name) ?? this.#common;
      limits.set(one.name, merged(before, one));
    }
    return [...limits.values()]
      .filter(({ name }) => !(skips(its.skipped, name) ??
        skips(own.skipped, name) ?? false))
      .map((one) => this.#place(this.#routeOf(owner, method), one,
                                this.#tree));
  }

  /** The name of a method; methods of two classes may have the same. */
  #routeOf(owner: NamedObject, method: NamedObject): string {
    const name = plain(`${owner.name || 'class'}.${wordOf(owner, method)}`);
    let found = name;
    for (let i = 2; ; ++i) {
      const [one, other] = this.#names.get(found) ?? [owner, method];
      if (one === owner && other === method) break;
      found = `${name}~${i}`;
    }
    this.#names.set(found, [owner, method]);
    return found;
  }

  #place(route: string, options: Named, tree: PlainTree): Placed {
    const { name, perRoute = true, handler, ...others } = options;
    const subject = this.#subjectOf(
      !perRoute ? name : name === 'default' ? route : `${route}-${name}`,
      others, tree);
    if (tree === this.#tree) this.#subjects.push(subject);
    const gate = new Gate<NestRequest, NestResponse>(others, NEST, subject);
    return { name, handler, answers: gate.answers, gate };
  }

  #subjectOf(
    name: string,
    options: LimitOptions,
    tree: PlainTree,
  ): OneSubject {
    if (options.path === undefined) {
      return plainSubject(tree, options, NEST, name);
    }
    const limiter = options.limiter ?? this.#own;
    if (limiter === undefined) {
      refuse('path leads through a tree of limits: give the module limiter ' +
        'or limits');
    }
    const { limits: _, limiter: __, clock: ___, passOnStoreError: ____,
            ...others } = options;
    const store = new Set(Object.keys(storeOptionsOf(others)));
    const rest = Object.fromEntries(Object.entries(others).filter(
      ([one]) => !store.has(one)));
    return subjectOf({ ...rest, limiter }, NEST);
  }

  async close(): Promise<void> {
    for (const methods of this.#placed.values()) {
      for (const placed of methods.values()) {
        for (const { gate } of placed) await gate.afterwards.settled();
      }
    }
    for (const subject of this.#subjects) await subject.close();
    await this.#own?.close();
  }
}

/** A class or a function. */
export interface NamedObject {
  readonly name: string;
}

/** The name of a method, which a decorator may have replaced by a function. */
function wordOf(owner: NamedObject, method: NamedObject): string {
  const { prototype } = owner as { readonly prototype?: object };
  for (let one: object | null | undefined = prototype; one;
       one = Object.getPrototypeOf(one) as object | null) {
    for (const [name, { value }] of
      Object.entries(Object.getOwnPropertyDescriptors(one))) {
      if (value === method) return name;
    }
  }
  return method.name || 'method';
}

function plain(name: string): string {
  return String(name).replaceAll('*', '');
}
