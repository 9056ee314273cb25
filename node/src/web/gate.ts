// Decides about the requests of one middleware, from the data of a framework to
// the ruling; at once if nothing has to be awaited.

import type { AsyncReserveOptions } from '../call_options.js';
import type { Cost } from '../cost.js';
import type { Decision } from '../decision.js';
import { LimitreeError, StoreError, invalidArgument } from '../errors.js';
import type { Limiter } from '../limiter.js';
import type { CloseOptions } from '../limiter_options.js';
import type { Costly, Path, Segment } from '../paths.js';
import { isOpen } from '../reservation.js';
import { Afterwards } from './afterwards.js';
import { isOver } from './ending.js';
import { RateLimitInfo, keepWith, lastOf } from './info.js';
import { KnownLimit } from './known.js';
import { isPromise } from './maybe.js';
import type { Maybe } from './maybe.js';
import { checkKinds, checkNames, refuse } from './options.js';
import type { WebOptions } from './options.js';
import { StoreLog } from './store_log.js';
import { hasGone } from './peer.js';
import { areSeveral, subjectOf } from './subject.js';
import type { Paths, Server, Subject } from './subject.js';
import { Checks, checkTrust } from './warnings.js';
import type { Logger } from './warnings.js';

/** The options of a decision. */
interface Call extends AsyncReserveOptions {
  readonly cost: Cost;
  readonly levels: boolean;
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
  /** The same for all gates that count in the same buckets. */
  readonly identity: object;
  /** What it does when responses have ended. */
  readonly afterwards: Afterwards<A, B>;
  readonly #options: WebOptions<A, B>;
  readonly #server: Server<A, B>;
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
    server: Server<A, B>,
    subject?: Subject<A, B>,
    log?: Logger,
  ) {
    checkNames(options, server.options);
    checkKinds(options);
    this.#options = options;
    this.#server = server;
    this.#subject = subject ?? subjectOf(options, server);
    this.identity = this.#subject.identity;
    this.#logger = options.logger ?? log;
    this.#checks = new Checks(options.validate ?? true, options.logger);
    this.afterwards = new Afterwards(options, server, this);
    const { cost = 1 } = options;
    // Headers name every limit, and so does the body of a denial.
    this.#call = { ...this.afterwards.callOptions, levels: true,
                   cost: typeof cost === 'function' ? 1 : cost };
  }

  /** Asks a new limiter for data that stays the same for all requests. */
  #learn(limiter: Limiter): void {
    const path = this.#subject.plain?.fixedPath;
    if (path === undefined || limiter.isShared) return;
    if (this.afterwards.reserves) return;
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
    return isPromise(info) ? info.then((one) => this.#keep(a, b, one))
      : this.#keep(a, b, info);
  }

  #keep(a: A, b: B, info: RateLimitInfo): RateLimitInfo {
    keepWith(a, info);
    if (this.#server.mayPass !== true) this.undoEarlier(info);
    const { reservation } = info;
    if (reservation && isOpen(reservation) && this.hasGone(a, b)) {
      void this.giveBack(info);
      throw new LimitreeError('LIMITREE_CANCELLED', 'the client has gone');
    }
    this.afterwards.watch(info, a, b);
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
    let one = lastOf(a);
    while (one && one.charger.identity !== this.identity) one = one.before;
    return one !== undefined;
  }

  /** Whether the client has gone, so that nobody needs an answer. */
  hasGone(a: A, b: B): boolean {
    return hasGone(this.#server.requestOf(a)) ||
      isOver(this.#server.responseOf(a, b));
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
      : { ...this.#call, cost };
    return this.#authorize(path, call);
  }

  #authorize(path: Paths, call: Call): Maybe<RateLimitInfo> {
    const limiter = this.limiter;
    const { reserves } = this.afterwards;
    const several = areSeveral(path);
    if (!several && !limiter.isRemote) {
      let decision;
      try {
        decision = reserves ? limiter.reserveSync(path, call)
          : limiter.authorizeSync(path, call);
      } catch (error) {
        return this.#repair(path, call, error);
      }
      return this.#decided(path, call, decision);
    }
    const answer: Promise<Decision> = reserves
      ? several ? limiter.reserveAll(path, call) : limiter.reserve(path, call)
      : several ? limiter.authorizeAll(path, call)
      : limiter.authorize(path, call);
    return answer.then((decision) => this.#decided(path, call, decision),
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
    if (repaired === undefined) throw withAdvice(error);
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
    const ip = this.#server.ipOf(a);
    if (ip === undefined || !segments.includes(ip)) return;
    checkTrust(checks, this.#server.trustOf(a));
    if (this.#options.keyGenerator !== undefined && ip.includes(':')) {
      checks.warn('ipv6Key', 'LIMITREE_IPV6_KEY',
        'keyGenerator returns whole IPv6 addresses, of which one client has ' +
        'as many as it likes: return canonicalIp(ip, 64), or leave ' +
        'keyGenerator away');
    }
  }

  /** Gives back, or cancels, the cost of a request, once. */
  giveBack(info: RateLimitInfo): Promise<void> {
    return this.afterwards.giveBack(info);
  }

  /** Logs that the store has failed after a decision. */
  logFailure(): void {
    this.#log?.write();
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
      close: async (options) => {
        await this.afterwards.settled();
        await this.#subject.close(options);
      },
    };
  }
}

/** Names the option that a limit needs, where the core names the call. */
function withAdvice(error: unknown): unknown {
  if (!(error instanceof LimitreeError)) return error;
  const [, limit] = /^(.*) limits what is held at once: /.exec(error.message) ??
    [];
  return limit === undefined ? error : invalidArgument(
    `${limit} limits what is held at once: give the option reserve: true`);
}
