// Decides about the requests of one middleware, from the data of a framework to
// the ruling; at once if nothing has to be awaited.

import type { ServerResponse } from 'node:http';

import type { Cost } from '../cost.js';
import type { Decision } from '../decision.js';
import { StoreError } from '../errors.js';
import type { Limiter } from '../limiter.js';
import type { CloseOptions } from '../limiter_options.js';
import type { Costly, Path, PathList, Segment } from '../paths.js';
import { KnownLimit } from './known.js';
import { isPromise } from './maybe.js';
import type { Maybe } from './maybe.js';
import { checkKinds, checkNames, refuse } from './options.js';
import type { WebOptions } from './options.js';
import { StoreLog } from './store_log.js';
import { hasGone } from './peer.js';
import { subjectOf } from './subject.js';
import type { Framework, Paths, Subject } from './subject.js';
import { Checks, checkTrust, warnSeldom } from './warnings.js';
import type { Logger } from './warnings.js';

function areSeveral(paths: Paths): paths is PathList {
  return Array.isArray(paths) && typeof paths[0] === 'object' &&
    paths[0] !== null;
}

/** With HTTP/2, a stream that the client has reset finishes, too. */
interface Answer extends ServerResponse {
  readonly stream?: { readonly aborted: boolean } | undefined;
}

/** The options of a decision. */
interface Call {
  readonly cost: Cost;
  readonly levels: boolean;
}

/** Where a request keeps the last decision about it. */
const LAST = Symbol('limitree');

interface Request {
  [LAST]?: RateLimitInfo;
}

/** An object that undoes a charge. */
interface Charger {
  readonly identity: object;
  giveBack(info: RateLimitInfo): Promise<void>;
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
  #resetTime: Date | undefined;

  /** @internal */
  constructor(
    decision: Decision,
    path: Paths,
    cost: Cost,
    known: KnownLimit | undefined,
    charger: Charger,
  ) {
    this.decision = decision;
    this.path = path;
    this.cost = cost;
    this.known = known;
    this.charger = charger;
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
    return this.decision.limit - this.decision.remaining;
  }

  /** When that bucket is full again; counted from when it is first read. */
  get resetTime(): Date {
    this.#resetTime ??=
      new Date(Date.now() + this.decision.bindingResetAfterMs);
    return this.#resetTime;
  }

  /** What a client may see, for JSON.stringify and response.json. */
  toJSON(): object {
    const { limit, used, remaining, resetTime } = this;
    return { limit, used, remaining, resetTime };
  }
}

/** What every middleware offers besides deciding. */
export interface Controls {
  readonly limiter: Limiter;
  /** Gives the client with this key a full bucket; for plain limits. */
  resetKey(key: Segment): Promise<void>;
  /** Closes the limiter, unless it was passed in. */
  close(options?: CloseOptions): Promise<void>;
}

/** Decides about the requests of one middleware. */
export class Gate<A extends object, B> {
  /** Whether the cost of requests may be given back. */
  readonly refunds: boolean;
  /** The same for all gates that count in the same buckets. */
  readonly identity: object;
  readonly #options: WebOptions<A, B>;
  readonly #framework: Framework<A>;
  readonly #subject: Subject<A, B>;
  #limiter: Limiter | undefined;  // once it is needed
  #log: StoreLog | undefined;  // if its store can fail
  readonly #checks: Checks;
  readonly #logger: Logger | undefined;  // of the store
  readonly #seen = new WeakSet<A>();
  /** Set for a plain limit in memory, whose decisions need no levels. */
  #known: KnownLimit | undefined;
  #call: Call;

  constructor(
    options: WebOptions<A, B>,
    framework: Framework<A>,
    subject?: Subject<A, B>,
    log?: Logger,
  ) {
    checkNames(options, framework.options);
    checkKinds(options);
    this.#options = options;
    this.#framework = framework;
    this.#subject = subject ?? subjectOf(options, framework);
    this.identity = this.#subject.identity;
    this.#logger = options.logger ?? log;
    this.#checks = new Checks(options.validate ?? true, options.logger);
    this.refunds = options.skipFailedRequests === true ||
      options.skipSuccessfulRequests === true;
    const { cost = 1 } = options;
    // Headers name every limit, and so does the body of a denial.
    this.#call = { cost: typeof cost === 'function' ? 1 : cost, levels: true };
  }

  /** Asks a new limiter for data that stays the same for all requests. */
  #learn(limiter: Limiter): void {
    const path = this.#subject.plain?.fixedPath;
    if (path === undefined || limiter.isShared) return;
    limiter.peek(path, { levels: true }).then((decision) => {
      this.#known = new KnownLimit(decision);
      this.#call = { cost: this.#call.cost, levels: false };
    }, () => undefined);
  }

  get limiter(): Limiter {
    if (this.#limiter === undefined) {
      this.#limiter = this.#subject.limiter;
      if (this.#limiter.isShared) {
        this.#log = StoreLog.of(this.#limiter, this.#logger);
      }
      this.#learn(this.#limiter);
    }
    return this.#limiter;
  }

  /**
   * Decides; undefined if the request is to be skipped.  Throws and rejects as
   * Limiter.authorize does, and with what functions among the options throw.
   */
  decide(a: A, b: B): Maybe<RateLimitInfo | undefined> {
    const skip = this.#options.skip;
    if (skip === undefined) return this.#decideAndKeep(a, b);
    const skips = skip(a, b);
    if (isPromise(skips)) {
      return skips.then((yes) => yes ? undefined : this.#decideAndKeep(a, b));
    }
    return skips ? undefined : this.#decideAndKeep(a, b);
  }

  #decideAndKeep(a: A, b: B): Maybe<RateLimitInfo> {
    const info = this.#decide(a, b);
    return isPromise(info) ? info.then((one) => this.#keep(a, one))
      : this.#keep(a, info);
  }

  /**
   * Keeps a decision with its request.  A gate that asks again about a request,
   * such as for each message of it, begins anew: what was charged before stays.
   */
  #keep(a: A, info: RateLimitInfo): RateLimitInfo {
    const request = a as Request;
    const last = request[LAST];
    request[LAST] = info;
    if (last === undefined) return info;
    let one: RateLimitInfo | undefined = last;
    while (one && one.charger !== this) one = one.before;
    if (one === undefined) info.before = last;
    if (this.#framework.mayPass !== true) this.undoEarlier(info);
    return info;
  }

  /**
   * A denied request costs nothing, so a denial undoes what earlier gates have
   * charged.
   */
  undoEarlier(info: RateLimitInfo): void {
    if (!info.decision.limited) return;
    for (let one = info.before; one; one = one.before) {
      void one.charger.giveBack(one);
    }
  }

  /** Whether a gate for the same buckets has counted the request. */
  hasCounted(a: A): boolean {
    let one = (a as Request)[LAST];
    while (one && one.charger.identity !== this.identity) one = one.before;
    return one !== undefined;
  }

  /** Whether the client has gone, so that nobody needs the error. */
  hasGone(a: A): boolean {
    return hasGone(this.#framework.requestOf(a));
  }

  #decide(a: A, b: B): Maybe<RateLimitInfo> {
    const path = this.#subject.pathOf(a, b);
    const costOf = this.#options.cost;
    if (typeof costOf !== 'function' && Array.isArray(path)) {
      return this.#decidePath(a, path, this.#call.cost);
    }
    const cost = typeof costOf === 'function' ? costOf(a, b) : this.#call.cost;
    if (isPromise(path) || isPromise(cost)) {
      return Promise.all([path, cost]).then(
        ([paths, tokens]) => this.#decidePath(a, paths, tokens as Cost));
    }
    return this.#decidePath(a, path, cost as Cost);
  }

  #decidePath(a: A, path: Paths, cost: Cost): Maybe<RateLimitInfo> {
    if (!this.#checks.isOver) this.#look(a, path);
    const call = cost === this.#call.cost ? this.#call
      : { cost, levels: this.#call.levels };
    return this.#authorize(path, call);
  }

  #authorize(path: Paths, call: Call): Maybe<RateLimitInfo> {
    const limiter = this.limiter;
    const several = areSeveral(path);
    if (!several && !limiter.isRemote) {
      let decision;
      try {
        decision = limiter.authorizeSync(path, call);
      } catch (error) {
        return this.#repair(path, call, error);
      }
      return this.#decided(path, call, decision);
    }
    return (several ? limiter.authorizeAll(path, call)
      : limiter.authorize(path, call)).then(
      (decision) => this.#decided(path, call, decision),
      (error) => this.#repair(path, call, error));
  }

  #decided(path: Paths, call: Call, decision: Decision): RateLimitInfo {
    this.#log?.write(decision);
    return new RateLimitInfo(decision, path, call.cost,
                             call.levels ? undefined : this.#known, this);
  }

  /** Decides about another form of the path, or throws if there is none. */
  #repair(path: Paths, call: Call, error: unknown): Maybe<RateLimitInfo> {
    if (error instanceof StoreError) this.#log?.write();
    const repaired = this.#subject.plain?.repaired(path as Path, error);
    if (repaired === undefined) throw error;
    return this.#authorize(repaired, call);
  }

  /** Looks for mistakes in the first requests. */
  #look(a: A, path: Paths): void {
    const checks = this.#checks;
    checks.countRequest();
    if (this.#seen.has(a)) {
      checks.warn('singleCount', 'LIMITREE_COUNTED_TWICE',
        'a request was counted twice by one middleware: it is used in two ' +
        'places that both see the request, such as an app and a router of it');
    }
    this.#seen.add(a);
    if (this.#options.clientIp !== undefined || !Array.isArray(path)) return;
    const segments: readonly unknown[] = path.flatMap(
      (one: Segment | Path | Costly) =>
        typeof one === 'object' && 'path' in one ? one.path : one);
    const ip = this.#framework.ipOf(a);
    if (ip === undefined || !segments.includes(ip)) return;
    checkTrust(checks, this.#framework.trustOf(a));
    if (this.#options.keyGenerator !== undefined && ip.includes(':')) {
      checks.warn('ipv6Key', 'LIMITREE_IPV6_KEY',
        'keyGenerator returns whole IPv6 addresses, of which one client has ' +
        'as many as it likes: return canonicalIp(ip, 64), or leave ' +
        'keyGenerator away');
    }
  }

  /**
   * Calls settle() when the answer was sent; not if the client went away
   * before: the handler of its request has run.
   */
  settleWhenSent(response: Answer, info: RateLimitInfo, a: A, b: B): void {
    if (!this.refunds) return;
    response.once('finish', () => {
      if (response.stream?.aborted === true) return;
      void this.settle(info, a, b, response.statusCode);
    });
  }

  /** Gives back the cost of a request that was answered, if options say so. */
  async settle(info: RateLimitInfo, a: A, b: B, status: number): Promise<void> {
    const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } =
      this.#options;
    try {
      const succeeded = requestWasSuccessful === undefined ? status < 400
        : await requestWasSuccessful(a, b);
      const refunds = succeeded ? skipSuccessfulRequests : skipFailedRequests;
      if (refunds === true) await this.giveBack(info);
    } catch (error) {
      this.#warnOfRefund(error);
    }
  }

  /** Gives back the cost of a request, once. */
  async giveBack(info: RateLimitInfo): Promise<void> {
    const { decision, path, cost } = info;
    if (info.isGivenBack || decision.limited || decision.unlimited) return;
    if (decision.source === 'allow') return;  // nothing was charged
    info.isGivenBack = true;
    try {
      await (areSeveral(path) ? this.limiter.refundAll(path, { cost })
        : this.limiter.refund(path, { cost }));
    } catch (error) {
      this.#warnOfRefund(error);
    }
  }

  #warnOfRefund(error: unknown): void {
    warnSeldom('LIMITREE_REFUND_FAILED', 'a request was not given back what ' +
      `it cost: ${(error as Error).message}`, this.#options.logger);
  }

  /** The controls of the middleware. */
  get controls(): Controls {
    const { plain } = this.#subject;
    return {
      limiter: this.limiter,
      resetKey: async (key) => {
        if (plain === undefined) {
          refuse('resetKey is for plain limits: here limiter.reset(path) does' +
            ' it');
        }
        await this.limiter.reset(await plain.pathOfKey(key));
      },
      close: (options) => this.#subject.close(options),
    };
  }
}
