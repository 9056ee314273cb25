// The decision about a request, for handlers, and what was decided before.

import type { Cost } from '../cost.js';
import type { Decision } from '../decision.js';
import type { Headers } from '../headers.js';
import type { Segment } from '../paths.js';
import { Reservation } from '../reservation.js';
import type { KnownLimit } from './known.js';
import { areSeveral, type Paths } from './paths.js';

/** An object that undoes a charge. */
export interface Charger {
  readonly identity: object;
  giveBack(info: RateLimitInfo): Promise<void>;
  /** What the client has now; undefined if another machine would know. */
  again(info: RateLimitInfo): Decision | undefined;
}

/** Who writes the headers about a decision. */
interface Writer {
  headersOf(info: RateLimitInfo): Headers;
}

/** The decision about a request, for handlers. */
export class RateLimitInfo {
  /** Has its levels, except for a plain limit in memory. */
  readonly decision: Decision;
  /** The path, or the paths, that were asked for. */
  readonly path: Paths;
  readonly cost: Cost;
  /** @internal The plain limit, if it is known. */
  readonly known: KnownLimit | undefined;
  /** @internal Who has charged the request. */
  readonly charger: Charger;
  /** @internal The decision before this one about the same request. */
  before: RateLimitInfo | undefined = undefined;
  /** @internal Whether its cost was given back. */
  isGivenBack = false;
  /** @internal What the client has since its cost was given back. */
  after: Decision | undefined = undefined;
  /** @internal Who has written headers about it. */
  writer: Writer | undefined = undefined;
  /** @internal Whether a handler has let it pass although it was denied. */
  hasPassed = false;
  /** @internal Forgets the response, if somebody waits for its end. */
  stopWatching: (() => void) | undefined = undefined;
  /** @internal Those that a store of the program has counted. */
  readonly hits: number | undefined;
  /** Whether the client was denied so often that it is banned. */
  readonly isBanned: boolean;
  #resetTime: Date | undefined;

  /** @internal */
  constructor(
    decision: Decision,
    path: Paths,
    cost: Cost,
    known: KnownLimit | undefined,
    charger: Charger,
    hits?: number,
    isBanned = false,
  ) {
    this.decision = decision;
    this.path = path;
    this.cost = cost;
    this.known = known;
    this.charger = charger;
    this.hits = hits;
    this.isBanned = isBanned;
  }

  /** The client: what follows the first name of the path, if it is one path. */
  get key(): Segment | undefined {
    return areSeveral(this.path) ? undefined : this.path[1];
  }

  /** Tokens in a full bucket of the binding limit; -1 if there is no limit. */
  get limit(): number {
    return this.decision.limit;
  }

  /** Tokens left there; -1 if there is no limit. */
  get remaining(): number {
    return this.decision.remaining;
  }

  /** Tokens that are used. */
  get used(): number {
    return this.hits ?? this.decision.limit - this.decision.remaining;
  }

  /** Another name for `used`, as in express-rate-limit. */
  get totalHits(): number {
    return this.used;
  }

  /** The same, as in older versions of it. */
  get current(): number {
    return this.used;
  }

  /** When that bucket is full again; counted from when it is first read. */
  get resetTime(): Date {
    this.#resetTime ??=
      new Date(Date.now() + this.decision.bindingResetAfterMs);
    return this.#resetTime;
  }

  /**
   * The decision of a middleware with `reserve`.  What a handler does not
   * settle is settled when the response has ended.
   */
  get reservation(): Reservation | undefined {
    const { decision } = this;
    return decision instanceof Reservation ? decision : undefined;
  }

  /** What a client may see, for JSON.stringify and response.json. */
  toJSON(): object {
    const { limit, used, remaining, resetTime } = this;
    return { limit, used, remaining, resetTime };
  }
}

/**
 * Whether the request costs nothing, as a denied one does, but not in a store
 * of the program.
 */
export function isFree({ decision, hits }: RateLimitInfo): boolean {
  return decision.limited && hits === undefined;
}

/** Where a request keeps the last decision about it. */
const LAST = Symbol('limitree');

interface Request {
  [LAST]?: RateLimitInfo;
}

/** The last decision about a request, if there is one. */
export function lastOf(request: object): RateLimitInfo | undefined {
  return (request as Request)[LAST];
}

/**
 * Keeps a decision with its request.  One who decides again about a request,
 * such as for each message of it, begins anew: what was charged before stays.
 */
export function keepWith(request: object, info: RateLimitInfo): void {
  const last = lastOf(request);
  (request as Request)[LAST] = info;
  let one = last;
  while (one && one.charger !== info.charger) one = one.before;
  if (one === undefined) info.before = last;
}

/**
 * Begins anew with a request that stays the same for much that is decided, such
 * as the messages of a connection: what was charged before stays.
 */
export function startOver(request: object): void {
  (request as { [LAST]?: RateLimitInfo | undefined })[LAST] = undefined;
}

/** Whether a decision after this one has denied the request. */
export function isDeniedLater(request: object, info: RateLimitInfo): boolean {
  const last = lastOf(request);
  if (last?.decision.limited !== true || last.hasPassed) return false;
  let one = last.before;
  while (one && one !== info) one = one.before;
  return one === info;
}
