// Decides about the requests of one middleware, from the data of a framework to
// the ruling; at once if nothing has to be awaited.

import type { Cost } from '../cost.js';
import type { Decision } from '../decision.js';
import { LimitreeError } from '../errors.js';
import type { Limiter } from '../limiter.js';
import type { CloseOptions } from '../limiter_options.js';
import type { Costly, Path, Segment } from '../paths.js';
import { isOpen } from '../reservation.js';
import { Afterwards } from './afterwards.js';
import { Answers } from './answer.js';
import { Asker } from './asker.js';
import { Delays } from './delays.js';
import { isOver } from './ending.js';
import { keepWith, lastOf, type RateLimitInfo } from './info.js';
import { isPromise, type Maybe } from './maybe.js';
import { checkKinds, checkNames, type WebOptions } from './options.js';
import { refuse } from './refuse.js';
import type { Asked } from './own_store.js';
import type { Paths } from './paths.js';
import { hasGone } from './peer.js';
import { Exempt } from './plain.js';
import { subjectOf, type Server, type Subject } from './subject.js';
import { Checks, checkTrust, type Logger } from './warnings.js';

/** What every middleware offers besides deciding. */
export interface Controls extends KeyControls {
  /** There is none if the program has a store of its own. */
  readonly limiter: Limiter;
  /** Closes the limiter, unless it was passed in. */
  close(options?: CloseOptions): Promise<void>;
}

/** What can be done about one client. */
export interface KeyControls {
  /** Gives the client with this key a full bucket; for plain limits. */
  resetKey(key: Segment): Promise<void>;
  /**
   * What the client with this key has used; undefined if that is nothing; for
   * plain limits.
   */
  getKey(key: Segment): Promise<RateLimitInfo | undefined>;
}

/** Decides about the requests of one middleware. */
export class Gate<A extends object, B> {
  /** The same for all gates that count in the same buckets. */
  readonly identity: object;
  /** The headers and the body of responses. */
  readonly answers: Answers<A, B>;
  /** What it does when responses have ended. */
  readonly afterwards: Afterwards<A, B>;
  readonly #options: WebOptions<A, B>;
  readonly #server: Server<A, B>;
  readonly #subject: Subject<A, B>;
  readonly #asker: Asker<A, B>;
  readonly #checks: Checks;
  readonly #delays: Delays<A, B> | undefined;
  readonly #seen = new WeakSet<A>();
  readonly #tells: boolean;

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
    this.#delays = Delays.of(options);
    this.#checks = new Checks(options.validate ?? true, options.logger);
    this.answers = new Answers(options, server.reset ?? 'epoch');
    // The last that may throw: it takes a name, which others then cannot have.
    this.#subject = subject ?? subjectOf(options, server);
    this.identity = this.#subject.identity;
    // The two need each other.
    this.afterwards = new Afterwards(options, server, {
      refund: (info) => this.#asker.refund(info),
      logFailure: () => this.#asker.logFailure() });
    this.#asker =
      new Asker(options, this.#subject, this, this.afterwards, log);
    const { onExceeding, onExceeded, onBanReach } = options;
    this.#tells = (onExceeding ?? onExceeded ?? onBanReach) !== undefined;
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

  #decideAndKeep(a: A, b: B): Maybe<RateLimitInfo | undefined> {
    const info = this.#delays === undefined ? this.#decide(a, b)
      : this.#decideAndWait(this.#delays, a, b);
    return isPromise(info) ? info.then((one) => this.#keep(a, b, one))
      : this.#keep(a, b, info);
  }

  async #decideAndWait(
    delays: Delays<A, B>,
    a: A,
    b: B,
  ): Promise<RateLimitInfo | undefined> {
    const info = await this.#decide(a, b);
    const ms = info === undefined ? 0 : delays.msOf(info, a, b);
    if (ms === 0) return info;
    const server = this.#server;
    return delays.wait(info!, ms, {
      response: server.responseOf(a, b), socket: server.requestOf(a)?.socket,
      signal: server.signalOf?.(a), hasGone: this.hasGone(a, b) }, this);
  }

  #keep(
    a: A,
    b: B,
    info: RateLimitInfo | undefined,
  ): Maybe<RateLimitInfo | undefined> {
    if (info === undefined) return undefined;
    keepWith(a, info);
    if (this.#server.mayPass !== true) this.undoEarlier(info);
    const { reservation } = info;
    if (reservation && isOpen(reservation) && this.hasGone(a, b)) {
      void this.giveBack(info);
      throw new LimitreeError('LIMITREE_CANCELLED', 'the client has gone');
    }
    this.afterwards.watch(info, a, b);
    return this.#tells ? this.#tell(a, b, info) : info;
  }

  /** Tells the program about a decision, before the request goes on. */
  #tell(a: A, b: B, info: RateLimitInfo): Maybe<RateLimitInfo> {
    const { onExceeding, onExceeded, onBanReach } = this.#options;
    const more = this.#server.takesKey ? info.key as B : b;
    const tell = info.decision.limited ? onExceeded : onExceeding;
    const told = [tell?.(a, more, info),
                  info.isBanned ? onBanReach?.(a, more, info) : undefined];
    return told.some((one) => isPromise(one))
      ? Promise.all(told).then(() => info) : info;
  }

  /**
   * Decides without an answer to the client.  Without `counts`, nothing is
   * charged.
   */
  async inspect(
    a: A,
    b: B,
    counts: boolean,
  ): Promise<RateLimitInfo | Exempt> {
    const path = await this.#subject.pathOf(a, b);
    if (path instanceof Exempt) return path;
    if (counts) {
      const { cost = 1 } = this.#options;
      const info = await this.#decidePath(
        a, path, typeof cost === 'function' ? await cost(a, b) : cost);
      return info ?? new Exempt('');
    }
    return this.#asker.peek(path);
  }

  /**
   * A denied request costs nothing, so a denial undoes what earlier gates have
   * charged.
   */
  undoEarlier(info: RateLimitInfo): void {
    if (!info.decision.limited) return;
    for (let one = info.before; one; one = one.before) {
      void one.charger.giveBack(one);
      one.after = one.charger.again(one);
    }
  }

  /** What the client has now; undefined if another machine would know. */
  again(info: RateLimitInfo): Decision | undefined {
    return this.#asker.again(info);
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
      isOver(this.#server.responseOf(a, b)) ||
      this.#server.signalOf?.(a)?.aborted === true;
  }

  #decide(a: A, b: B): Maybe<RateLimitInfo | undefined> {
    const path = this.#subject.pathOf(a, b);
    const costOf = this.#options.cost;
    if (typeof costOf !== 'function' && Array.isArray(path)) {
      return this.#decidePath(a, path, this.#asker.cost);
    }
    const cost = typeof costOf === 'function' ? costOf(a, b) : this.#asker.cost;
    if (isPromise(path) || isPromise(cost)) {
      return Promise.all([path, cost]).then(([paths, tokens]) =>
        paths instanceof Exempt ? undefined
          : this.#decidePath(a, paths, tokens as Cost));
    }
    return path instanceof Exempt ? undefined
      : this.#decidePath(a, path, cost as Cost);
  }

  #decidePath(
    a: A,
    path: Paths,
    cost: Cost,
  ): Maybe<RateLimitInfo | undefined> {
    if (!this.#checks.isOver) this.#check(a, path);
    return this.#asker.ask(path, cost);
  }

  /** Looks for mistakes in the first requests. */
  #check(a: A, path: Paths): void {
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

  /** The limit and the window of a request, if it is a plain limit. */
  askedOf({ path }: RateLimitInfo): Asked | undefined {
    return this.#subject.plain?.asked(path as Path);
  }

  /** The controls of the middleware. */
  get controls(): Controls {
    const limiter = this.#subject.own === undefined ? this.#asker.limiter
      : undefined as never;
    return { limiter, ...this.keyControls, close: async (options) => {
      await this.afterwards.settled();
      await this.#subject.close(options);
    } };
  }

  get keyControls(): KeyControls {
    const { plain, penalties, own } = this.#subject;
    return {
      resetKey: async (key) => {
        if (plain === undefined) {
          refuse('resetKey is for plain limits: here limiter.reset(path) does' +
            ' it');
        }
        if (own !== undefined) return own.reset(plain.keyOf(key));
        const { limiter } = this.#asker;
        await Promise.all([
          ...plain.pathsOfKey(key).map((path) => limiter.reset(path)),
          penalties?.forget(limiter, key)]);
      },
      getKey: async (key) => {
        if (plain === undefined) {
          refuse('getKey is for plain limits: here limiter.peek(path) does it');
        }
        const all = await Promise.all(
          plain.pathsOfKey(key).map((path) => this.#asker.look(path)));
        return all.find((info) => info !== undefined);
      },
    };
  }
}
