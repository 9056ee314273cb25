// The requests of one limiter: checks the arguments, writes them to the array,
// and calls the native limiter.
//
// Between writing and calling, no code of the caller may run, because it could
// make another request.  So everything is read before, even the clock and the
// segments.

import { timeOf, writeTime } from './clock.js';
import type { Clock } from './clock.js';
import { costOf, unitsOf } from './cost.js';
import type { Cost, Units } from './cost.js';
import { Decision, FORGOT, LIMITED } from './decision.js';
import { PendingRequests, startRequest } from './delivery.js';
import type { Signal } from './delivery.js';
import { LimitreeError, invalidArgument } from './errors.js';
import * as at from './layout.js';
import type { Names } from './names.js';
import { closed, native } from './native.js';
import type { Functions, NativeAnswer } from './native.js';
import { checkArray, sizesOf } from './paths.js';
import type { Path, PathList, Segment } from './paths.js';
import { noOption, shown } from './words.js';

export interface CallOptions {
  /**
   * What is asked for: a whole number, or `{ request: 1, tokens: 812 }`; 0 only
   * looks.  Default 1.
   */
  readonly cost?: Cost | undefined;
  /** Whether the decision carries its levels; default: as for the limiter. */
  readonly levels?: boolean | undefined;
}

export interface AsyncCallOptions extends CallOptions {
  /**
   * Stops waiting for the store.  If it is aborted before the call, nothing is
   * charged; if later, the request may have been charged.
   */
  readonly signal?: Signal | undefined;
}

export const NONE: AsyncCallOptions = {};

const numbers = native.numbers;

/** Refuses wrong options of a call, in one pass over their names. */
export function checkOptions(options: object, canWait: boolean): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidArgument(
      `options must be an object such as {cost: 2}, is ${shown(options)}`);
  }
  for (const name in options) {
    if (name === 'cost') continue;
    if (name === 'levels') {
      const { levels } = options as CallOptions;
      if (levels !== undefined) checkFlag(levels, name);
    } else if (name === 'signal' && canWait) {
      checkSignal((options as AsyncCallOptions).signal);
    } else {
      throw invalidArgument(noOption(name, canWait
        ? ['cost', 'levels', 'signal'] : ['cost', 'levels']));
    }
  }
}

export function checkFlag(value: unknown, name: string): void {
  if (typeof value !== 'boolean') {
    throw invalidArgument(`${name} must be true or false, is ${shown(value)}`);
  }
}

function checkSignal(signal: unknown): void {
  if (signal === undefined) return;
  const { aborted, addEventListener } = (signal ?? {}) as Partial<Signal>;
  if (typeof aborted === 'boolean' && typeof addEventListener === 'function') {
    return;
  }
  throw invalidArgument(`signal must be an AbortSignal, is ${shown(signal)}`);
}

/** The most first segments that are known by number. */
const MAX_ROOTS = 64;

/** The requests of one limiter. */
export class Requests {
  /** Numbers of first segments, and the one that was used last. */
  readonly #roots = new Map<string, number>();
  #root: unknown = undefined;
  #rootNumber = 0;
  #native: Functions;
  readonly #names: Names;
  readonly #pending: PendingRequests;
  readonly #isRemote: boolean;
  readonly #withLevels: boolean;
  readonly #clock: Clock | undefined;

  constructor(
    functions: Functions,
    names: Names,
    isRemote: boolean,
    withLevels: boolean,
    clock: Clock | undefined,
  ) {
    this.#native = functions;
    this.#names = names;
    this.#pending = new PendingRequests(names);
    this.#isRemote = isRemote;
    this.#withLevels = withLevels;
    this.#clock = clock;
  }

  /** Throws unless the store answers at once. */
  needMemory(): void {
    if (!this.#isRemote) return;
    throw new LimitreeError('LIMITREE_NOT_SYNC',
      'authorizeSync would wait for another machine: use authorize');
  }

  /** Decides about one path, at once. */
  decide(operation: number, path: Path, options: CallOptions): Decision {
    checkArray(path, 'path');
    const units = unitsOf(options.cost);
    if (units !== undefined) {
      return this.#decide(operation, [...path], at.ONE_PATH, options, units);
    }
    const withLevels = options.levels ?? this.#withLevels;
    const decide = this.#native.decide;
    const root = this.#numberOf(path[0]);
    if (root !== 0 && path.length === 3) {
      const second = path[1];
      const third = path[2];
      this.#write(operation, options, at.ONE_PATH, root);
      decide(second, third);
    } else if (root !== 0 && path.length === 2) {
      const second = path[1];
      this.#write(operation, options, at.ONE_PATH, root);
      decide(second);
    } else {
      const segments = [...path];
      this.#write(operation, options, at.ONE_PATH);
      decide(...segments);
      this.#learn(segments[0]);
    }
    return new Decision(numbers, at.INPUT_SIZE, withLevels, this.#names);
  }

  /** The number of a first segment, or 0. */
  #numberOf(first: unknown): number {
    if (first === this.#root) return this.#rootNumber;
    const number = this.#roots.get(first as string);
    if (number === undefined) return 0;
    this.#root = first;
    this.#rootNumber = number;
    return number;
  }

  /** Gives a number to a first segment that the tree has. */
  #learn(first: unknown): void {
    if (typeof first !== 'string' || this.#roots.has(first)) return;
    if (this.#roots.size === MAX_ROOTS) return;
    this.#roots.set(first, this.#native.root(first));
  }

  /** Decides about one path. */
  decideAsync(
    operation: number,
    path: Path,
    options: AsyncCallOptions = NONE,
  ): Promise<Decision> {
    try {
      if (options !== NONE) checkOptions(options, true);
      if (options.signal?.aborted) return Promise.reject(options.signal.reason);
      if (!this.#isRemote) {
        return Promise.resolve(this.decide(operation, path, options));
      }
      checkArray(path, 'path');
      return this.#start(operation, [...path], at.ONE_PATH, options,
                         unitsOf(options.cost));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Decides about several paths. */
  decideAll(
    operation: number,
    paths: PathList,
    options: AsyncCallOptions = NONE,
  ): Promise<Decision> {
    try {
      checkOptions(options, true);
      if (options.signal?.aborted) return Promise.reject(options.signal.reason);
      const units = unitsOf(options.cost);
      const cost = units === undefined ? costOf(options.cost) : units.request;
      const segments: Segment[] = [];
      const sizes = sizesOf(paths, cost, segments);
      const count = paths.length + at.ONE_PATH;
      if (this.#isRemote) {
        return this.#start(operation, segments, count, options, units, sizes);
      }
      return Promise.resolve(
        this.#decide(operation, segments, count, options, units, sizes));
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Authorizes a user's action; undefined if it is allowed. */
  decideForUser(
    user: Segment,
    action: Segment,
    options: AsyncCallOptions = NONE,
  ): Promise<Decision | undefined> {
    try {
      if (options !== NONE) checkOptions(options, true);
      if (options.signal?.aborted) return Promise.reject(options.signal.reason);
      const units = unitsOf(options.cost);
      if (this.#isRemote) {
        return this.#start(at.AUTHORIZE, ['user', user, action],
                           at.USER_AND_ACTION, options, units).then(denialOnly);
      }
      if (units !== undefined) {
        return Promise.resolve(denialOnly(this.#decide(
          at.AUTHORIZE, ['user', user, action], at.USER_AND_ACTION, options,
          units)));
      }
      const withLevels = options.levels ?? this.#withLevels;
      const root = this.#numberOf('user');
      this.#write(at.AUTHORIZE, options, at.USER_AND_ACTION, root);
      if (root !== 0) {
        this.#native.decide(user, action);
      } else {
        this.#native.decide('user', user, action);
        this.#learn('user');
      }
      const bits = numbers[at.INPUT_SIZE + at.BITS]!;
      if ((bits & (LIMITED | FORGOT)) === 0) return Promise.resolve(undefined);
      const decision =
        new Decision(numbers, at.INPUT_SIZE, withLevels, this.#names);
      return Promise.resolve(decision.limited ? decision : undefined);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Forgets buckets, of the last node alone if `leaf`. */
  async reset(path: Path, leaf: boolean): Promise<void> {
    checkArray(path, 'path');
    const segments = [...path];
    this.#write(at.AUTHORIZE, { cost: leaf ? 0 : 1 }, at.ONE_PATH);
    await this.wait(this.#native.reset(...segments));
  }

  /** Answers a request of Envoy. */
  async shouldRateLimit(
    ...request: Parameters<Functions['shouldRateLimit']>
  ): Promise<NativeAnswer> {
    if (this.#clock !== undefined) writeTime(timeOf(this.#clock));
    return await this.wait(this.#native.shouldRateLimit(...request));
  }

  /** Makes drained() wait for a call on a thread of libuv's pool, too. */
  async wait<T>(answer: T | Promise<T>): Promise<T> {
    this.#pending.begin();
    try {
      return await answer;
    } finally {
      this.#pending.end();
    }
  }

  /** Refuses new requests, and resolves once none is running. */
  drained(ms: number): Promise<void> {
    this.#native = closed(this.#native);
    return this.#pending.drained(ms);
  }

  #write(
    operation: number,
    options: CallOptions,
    paths: number,
    root = 0,
  ): void {
    const cost = costOf(options.cost);
    const withLevels = options.levels ?? this.#withLevels;
    if (this.#clock !== undefined) writeTime(timeOf(this.#clock));
    numbers[at.OPERATION] = operation;
    numbers[at.COST] = cost;
    numbers[at.FLAGS] = withLevels ? at.WITH_LEVELS : 0;
    numbers[at.PATHS] = paths;
    numbers[at.ROOT] = root;
  }

  /** Writes a request of any form; returns the arguments of the call. */
  #writeAll(
    operation: number,
    segments: readonly Segment[],
    paths: number,
    options: CallOptions,
    units: Units | undefined,
    sizes: readonly number[],
  ): readonly Segment[] {
    this.#write(operation, units === undefined ? options
      : { cost: units.request, levels: options.levels }, paths);
    if (sizes.length > 0) numbers.set(sizes, at.INPUT_SIZE);
    if (units === undefined) return segments;
    numbers[at.FLAGS]! += at.WITH_UNITS;
    numbers[at.UNITS] = units.names.length;
    numbers.set(units.costs, at.UNIT_COSTS);
    return [...segments, ...units.names];
  }

  /** Decides about a request of any form, at once. */
  #decide(
    operation: number,
    segments: readonly Segment[],
    paths: number,
    options: CallOptions,
    units: Units | undefined,
    sizes: readonly number[] = [],
  ): Decision {
    const withLevels = options.levels ?? this.#withLevels;
    this.#native.decide(
      ...this.#writeAll(operation, segments, paths, options, units, sizes));
    return new Decision(numbers, at.INPUT_SIZE, withLevels, this.#names);
  }

  #start(
    operation: number,
    segments: readonly Segment[],
    paths: number,
    options: AsyncCallOptions,
    units: Units | undefined,
    sizes: readonly number[] = [],
  ): Promise<Decision> {
    const withLevels = options.levels ?? this.#withLevels;
    return startRequest(() => {
      const all = this.#writeAll(
        operation, segments, paths, options, units, sizes);
      if (all.length === 3) {
        // Spreading the segments would copy them once more.
        this.#native.start(all[0]!, all[1]!, all[2]!);
      } else {
        this.#native.start(...all);
      }
    }, withLevels, this.#pending, options.signal);
  }
}

function denialOnly(decision: Decision): Decision | undefined {
  return decision.limited ? decision : undefined;
}
