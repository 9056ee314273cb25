// The requests of one limiter: checks the arguments, writes them to the array,
// and calls the native limiter.
//
// Between writing and calling, no code of the caller may run, because it could
// make another request.  So everything is read before, even the clock and the
// segments.

import { NONE, checkOptions } from './call_options.js';
import type { AsyncCallOptions, CallOptions } from './call_options.js';
import { timeOf, writeTime, type Clock } from './clock.js';
import { costOf, unitsOf, type Units } from './cost.js';
import { Decision, FORGOT, LIMITED, rowsOf } from './decision.js';
import { PendingRequests, readDecision, startRequest } from './delivery.js';
import type { Read, Signal } from './delivery.js';
import { readRequest, responseOf, type EnvoyResponse } from './envoy.js';
import { LimitreeError } from './errors.js';
import * as at from './layout.js';
import type { Names } from './names.js';
import { closed, native, type Functions } from './native.js';
import { checkArray, sizesOf } from './paths.js';
import type { Path, PathList, Segment } from './paths.js';

const numbers = native.numbers;

/** A request of any form. */
export interface Call {
  readonly operation: number;
  /** A path or several, or a receipt. */
  readonly segments: readonly unknown[];
  /** For at.PATHS. */
  readonly paths: number;
  readonly options: AsyncCallOptions;
  /** In place of the cost in the options. */
  readonly units: Units | undefined;
  /** Of several paths. */
  readonly sizes?: readonly number[];
  readonly holdNs?: number;
}

/** The request about one path. */
export function callOfPath(
  operation: number,
  path: Path,
  options: AsyncCallOptions,
): Call {
  checkArray(path, 'path');
  return { operation, segments: [...path], paths: at.ONE_PATH, options,
           units: unitsOf(options.cost) };
}

/** The request about several paths. */
export function callOfPaths(
  operation: number,
  paths: PathList,
  options: AsyncCallOptions,
): Call {
  const units = unitsOf(options.cost);
  const cost = units === undefined ? costOf(options.cost) : units.request;
  const segments: Segment[] = [];
  const sizes = sizesOf(paths, cost, segments);
  return { operation, segments, paths: paths.length + at.ONE_PATH, options,
           units, sizes };
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

  /** Throws unless the store answers at once; `name` is that of the call. */
  needMemory(name: string): void {
    if (!this.#isRemote) return;
    throw new LimitreeError('LIMITREE_NOT_SYNC',
      `${name}Sync would wait for another machine: use ${name}`);
  }

  /** Decides about one path, at once. */
  decide(operation: number, path: Path, options: CallOptions): Decision {
    if (typeof options.cost === 'object') {
      return this.now(callOfPath(operation, path, options), readDecision);
    }
    const withLevels = options.levels ?? this.#withLevels;
    this.#decide(operation, path, options);
    return readDecision(at.INPUT_SIZE, withLevels, this.#names, undefined);
  }

  /** Charges one at once, at `now`; the decision stays in the array. */
  chargeOne(root: string, key: string, now: number | bigint): void {
    const number = this.#numberOf(root);
    writeTime(now);
    numbers[at.OPERATION] = at.AUTHORIZE;
    numbers[at.COST] = 1;
    numbers[at.FLAGS] = 0;
    numbers[at.PATHS] = at.ONE_PATH;
    numbers[at.ROOT] = number;
    if (number !== 0) {
      this.#native.decide(key);
    } else {
      this.#native.decide(root, key);
      this.#learn(root);
    }
    rowsOf(numbers, at.INPUT_SIZE, false, this.#names);
  }

  /** The same with the decision in the array. */
  #decide(operation: number, path: Path, options: CallOptions): void {
    checkArray(path, 'path');
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
      if (options !== NONE) {
        checkOptions(options, true);
        const { signal } = options;
        if (signal?.aborted) return Promise.reject(signal.reason);
      }
      if (this.#isRemote || typeof options.cost === 'object') {
        const call = callOfPath(operation, path, options);
        return this.#isRemote ? this.#start(call, readDecision)
          : Promise.resolve(this.now(call, readDecision));
      }
      const withLevels = options.levels ?? this.#withLevels;
      this.#decide(operation, path, options);
      const rows = rowsOf(numbers, at.INPUT_SIZE, withLevels, this.#names);
      // Made here, where the engine sees that it has no then() to look for.
      return Promise.resolve(new Decision(numbers, at.INPUT_SIZE, rows));
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
    return this.later(() => {
      checkOptions(options, true);
      return callOfPaths(operation, paths, options);
    }, readDecision);
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
      if (this.#isRemote || units !== undefined) {
        const call = { operation: at.AUTHORIZE, options, units,
                       segments: ['user', user, action],
                       paths: at.USER_AND_ACTION };
        return this.#isRemote
          ? this.#start(call, readDecision).then(denialOnly)
          : Promise.resolve(denialOnly(this.now(call, readDecision)));
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
        readDecision(at.INPUT_SIZE, withLevels, this.#names, undefined);
      return Promise.resolve(decision.limited ? decision : undefined);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Asks a request of any form at once. */
  now<Answer>(call: Call, read: Read<Answer>): Answer {
    const withLevels = call.options.levels ?? this.#withLevels;
    const receipt = this.#native.decide(...this.#writeAll(call));
    return read(at.INPUT_SIZE, withLevels, this.#names, receipt);
  }

  /**
   * The same for what `make` returns, without blocking.  If the signal is
   * aborted before the answer comes, asks for what `undo` makes of that, even
   * while the limiter closes.
   */
  async later<Answer>(
    make: () => Call,
    read: Read<Answer>,
    undo?: (answer: Answer) => Call | undefined,
  ): Promise<Answer> {
    const call = make();
    const { signal } = call.options;
    if (signal?.aborted) throw signal.reason;
    if (!this.#isRemote) return this.now(call, read);
    return undo === undefined || signal === undefined
      ? await this.#start(call, read)
      : await this.#startUndoably(call, read, undo, signal);
  }

  /** Forgets buckets, as `what` says: at.LAST_NODE ...; or blocks. */
  reset(path: Path, what: number, holdNs = 0): Promise<void> {
    const options = { cost: what, levels: false };
    return this.later(
      () => ({ ...callOfPath(at.FORGET, path, options), holdNs }),
      () => undefined);
  }

  /** Which limits lie on a path, as text for people. */
  explain(path: Path): string {
    checkArray(path, 'path');
    const segments = [...path];
    this.#write(at.AUTHORIZE, NONE, at.ONE_PATH);
    return this.#native.explain(...segments);
  }

  /** Answers a request of Envoy; the answer to a reset means nothing. */
  async askEnvoy(
    ...request: Parameters<typeof readRequest>
  ): Promise<EnvoyResponse> {
    const read = readRequest(...request);
    if (this.#clock !== undefined) writeTime(timeOf(this.#clock));
    return responseOf(await this.wait(this.#native.shouldRateLimit(...read)));
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
  #writeAll(call: Call): readonly unknown[] {
    const { operation, segments, paths, options, units, sizes = [] } = call;
    this.#write(operation, units === undefined ? options
      : { cost: units.request, levels: options.levels }, paths);
    numbers[at.HOLD_NS] = call.holdNs ?? 0;
    if (sizes.length > 0) numbers.set(sizes, at.INPUT_SIZE);
    if (units === undefined || units.names.length === 0) return segments;
    numbers[at.FLAGS]! += at.WITH_UNITS;
    numbers[at.UNITS] = units.names.length;
    numbers.set(units.costs, at.UNIT_COSTS);
    return [...segments, ...units.names];
  }

  #start<Answer>(
    call: Call,
    read: Read<Answer>,
    native = this.#native,
  ): Promise<Answer> {
    const { signal, levels: withLevels = this.#withLevels } = call.options;
    return startRequest(() => {
      const all = this.#writeAll(call);
      // Spreading the segments would copy them once more.
      return all.length === 3 ? native.start(all[0], all[1], all[2])
        : native.start(...all);
    }, read, withLevels, this.#pending, signal);
  }

  #startUndoably<Answer>(
    call: Call,
    read: Read<Answer>,
    undo: (answer: Answer) => Call | undefined,
    signal: Signal,
  ): Promise<Answer> {
    const native = this.#native;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const onAbort = () => {
        isLate = true;
        reject(signal.reason);
      };
      const take = async (answer: Answer) => {
        if (!isLate) return resolve(answer);
        const undone = undo(answer);
        if (undone !== undefined) {
          await this.#start(undone, readDecision, native);
        }
      };
      signal.addEventListener('abort', onAbort);
      this.#pending.begin();
      const options = { ...call.options, signal: undefined };
      this.#start({ ...call, options }, read, native).then(take).catch(reject)
        .finally(() => {
          signal.removeEventListener('abort', onAbort);
          this.#pending.end();
        });
    });
  }
}

function denialOnly(decision: Decision): Decision | undefined {
  return decision.limited ? decision : undefined;
}
