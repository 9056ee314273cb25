// The requests of one limiter: checks the arguments, writes them to the array,
// and calls the native limiter.
//
// Between writing and calling, no code of the caller may run, because it could
// make another request.  So everything is read before, even the clock and the
// segments.

import { timeOf, writeTime } from './clock.js';
import type { Clock } from './clock.js';
import { Decision, FORGOT, LIMITED } from './decision.js';
import { PendingRequests, startRequest } from './delivery.js';
import type { Signal } from './delivery.js';
import { LimitreeError, invalidArgument } from './errors.js';
import * as at from './layout.js';
import type { Names } from './names.js';
import { closed, native } from './native.js';
import type { Functions, NativeAnswer } from './native.js';
import { checkNames, noOption, shown } from './words.js';

/** A part of a path.  A whole number stands for its decimal digits. */
export type Segment = string | number | bigint;

/** The path of a request, from the root: `['user', 'alex', 'trade']`. */
export type Path = readonly Segment[];

/**
 * What a call does with the limits of a path: `charge` counts and charges them,
 * `check` only counts them, `spend_if_fits` only charges, those that fit.
 */
export type Part = 'charge' | 'check' | 'spend_if_fits';

/** One of several paths, with its own cost and part. */
export interface Costly {
  readonly path: Path;
  /** Default: that of the call. */
  readonly cost?: number | undefined;
  /** Default: `charge`. */
  readonly part?: Part | undefined;
}

/** Several paths. */
export type PathList = readonly (Path | Costly)[];

export interface CallOptions {
  /** Tokens asked for, a whole number; 0 only looks.  Default 1. */
  readonly cost?: number | undefined;
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

function checkArray(value: unknown, name: string): void {
  if (!Array.isArray(value)) {
    throw invalidArgument(`${name} must be an array, is ${shown(value)}`);
  }
}

function costOf(options: CallOptions, usual = 1): number {
  const cost = options.cost;
  if (cost === undefined) return usual;
  if (!Number.isSafeInteger(cost)) {
    throw invalidArgument(`cost must be a whole number, is ${shown(cost)}`);
  }
  return cost;
}

function partOf(one: Costly): number {
  const part: unknown = one.part === undefined ? 'charge' : one.part;
  const number = at.PARTS.indexOf(part as Part);
  if (number >= 0) return number;
  throw invalidArgument(
    `part must be charge, check or spend_if_fits, is ${shown(part)}`);
}

/** Appends the segments of `paths`; returns at.PATH_SIZE numbers of each. */
function sizesOf(paths: PathList, cost: number, segments: Segment[]): number[] {
  checkArray(paths, 'paths');
  if (paths.length === 0) throw invalidArgument('there are no paths');
  if (paths.length > at.MAX_PATHS) {
    throw invalidArgument(
      `there are ${paths.length} paths, the most is ${at.MAX_PATHS}`);
  }
  const sizes: number[] = [];
  paths.forEach((one, i) => {
    const isCostly = typeof one === 'object' && one !== null && 'path' in one;
    const path = isCostly ? one.path : one;
    if (isCostly) {
      checkNames(one, ['path', 'cost', 'part'], '{path: [...], cost: 2}');
    }
    checkArray(path, `paths[${i}]${isCostly ? '.path' : ''}`);
    segments.push(...path);
    sizes.push(path.length, isCostly ? costOf(one, cost) : cost,
               isCostly ? partOf(one) : 0);
  });
  return sizes;
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
      return this.#start(operation, [...path], at.ONE_PATH, options);
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
      const cost = costOf(options);
      const segments: Segment[] = [];
      const sizes = sizesOf(paths, cost, segments);
      const count = paths.length + at.ONE_PATH;
      if (this.#isRemote) {
        return this.#start(operation, segments, count, options, sizes);
      }
      const withLevels = options.levels ?? this.#withLevels;
      this.#write(operation, options, count);
      numbers.set(sizes, at.INPUT_SIZE);
      this.#native.decide(...segments);
      return Promise.resolve(
        new Decision(numbers, at.INPUT_SIZE, withLevels, this.#names));
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
      if (this.#isRemote) {
        return this.#start(at.AUTHORIZE, ['user', user, action],
                           at.USER_AND_ACTION, options).then(denialOnly);
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
    const cost = costOf(options);
    const withLevels = options.levels ?? this.#withLevels;
    if (this.#clock !== undefined) writeTime(timeOf(this.#clock));
    numbers[at.OPERATION] = operation;
    numbers[at.COST] = cost;
    numbers[at.WITH_LEVELS] = withLevels ? 1 : 0;
    numbers[at.PATHS] = paths;
    numbers[at.ROOT] = root;
  }

  #start(
    operation: number,
    segments: readonly Segment[],
    paths: number,
    options: AsyncCallOptions,
    sizes: readonly number[] = [],
  ): Promise<Decision> {
    const withLevels = options.levels ?? this.#withLevels;
    return startRequest(() => {
      this.#write(operation, options, paths);
      if (sizes.length > 0) numbers.set(sizes, at.INPUT_SIZE);
      if (segments.length === 3) {
        // Spreading the segments would copy them once more.
        this.#native.start(segments[0]!, segments[1]!, segments[2]!);
      } else {
        this.#native.start(...segments);
      }
    }, withLevels, this.#pending, options.signal);
  }
}

function denialOnly(decision: Decision): Decision | undefined {
  return decision.limited ? decision : undefined;
}
