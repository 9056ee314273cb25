// Asks the limiter about paths, or the program's own store.

import type { AsyncReserveOptions } from '../call_options.js';
import type { Cost } from '../cost.js';
import type { Decision } from '../decision.js';
import { LimitreeError, StoreError, invalidArgument } from '../errors.js';
import type { Limiter } from '../limiter.js';
import type { Path } from '../paths.js';
import { messageOf } from '../words.js';
import { RateLimitInfo, type Charger } from './info.js';
import { KnownLimit } from './known.js';
import type { Maybe } from './maybe.js';
import type { WebOptions } from './options.js';
import { areSeveral, wellFormedPaths, type Paths } from './paths.js';
import { banOf, type Penalties } from './penalties.js';
import { StoreLog } from './store_log.js';
import type { Subject } from './subject.js';
import { warnSeldom, type Logger } from './warnings.js';

/** The options of a decision. */
interface Call extends AsyncReserveOptions {
  readonly cost: Cost;
  readonly levels: boolean;
}

/** How requests reserve, if they do. */
interface Reserving {
  readonly reserves: boolean;
  readonly callOptions: { readonly hold?: number | string };
}

/** Asks about the requests of one middleware. */
export class Asker<A, B> {
  readonly #subject: Subject<A, B>;
  readonly #charger: Charger;
  readonly #logger: Logger | undefined;  // of the store
  readonly #reserves: boolean;
  readonly #ban: number;
  readonly #passes: boolean;
  #limiter: Limiter | undefined;  // once it is needed
  #log: StoreLog | undefined;  // if its store can fail
  /** Set for a plain limit in memory, whose decisions need no levels. */
  #known: KnownLimit | undefined;
  #call: Call;

  constructor(
    options: WebOptions<A, B>,
    subject: Subject<A, B>,
    charger: Charger,
    { reserves, callOptions }: Reserving,
    log: Logger | undefined,
  ) {
    this.#subject = subject;
    this.#charger = charger;
    this.#logger = options.logger ?? log;
    this.#reserves = reserves;
    this.#ban = banOf(options);
    this.#passes = options.passOnStoreError ??
      options.onStoreError === 'allow';
    const { cost = 1 } = options;
    // Headers name every limit, and so does the body of a denial.
    this.#call = { ...callOptions, levels: true,
                   cost: typeof cost === 'function' ? 1 : cost };
  }

  /** What a request costs, if that is no function. */
  get cost(): Cost {
    return this.#call.cost;
  }

  /** Asks a new limiter for data that stays the same for all requests. */
  #learn(limiter: Limiter): void {
    const { plain, penalties } = this.#subject;
    const path = plain?.fixedPath;
    if (path === undefined || limiter.isShared) return;
    if (!plain!.isEven || penalties !== undefined) return;
    if (this.#reserves) return;
    limiter.peek(path, { levels: true }).then((decision) => {
      if (decision.unlimited) return;  // in shadow: it is in no header
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

  /** Decides; undefined if the program's own store fails, and all pass. */
  ask(path: Paths, cost: Cost): Maybe<RateLimitInfo | undefined> {
    const call = cost === this.#call.cost ? this.#call
      : { ...this.#call, cost };
    const { penalties, own } = this.#subject;
    if (own !== undefined) return this.#count(path as Path);
    return penalties === undefined ? this.#authorize(path, call)
      : this.#punish(penalties, path as Path, call);
  }

  /** Looks at once, or not at all. */
  again({ path, known }: RateLimitInfo): Decision | undefined {
    if (this.#subject.own !== undefined || this.#reserves) return undefined;
    if (areSeveral(path) || this.limiter.isRemote) return undefined;
    try {
      return this.limiter.authorizeSync(
        path, { cost: 0, levels: known === undefined });
    } catch {
      return undefined;  // the limiter is closed
    }
  }

  /** Decides without charging. */
  async peek(given: Paths): Promise<RateLimitInfo> {
    const path = wellFormedPaths(given) ?? given;
    const info = this.#subject.plain === undefined ? undefined
      : await this.look(path as Path, true);
    if (info !== undefined) return info;
    const limiter = this.limiter;
    const call = { cost: this.#call.cost, levels: true };
    const decision = await (areSeveral(path) ? limiter.peekAll(path, call)
      : limiter.peek(path, call));
    return this.#infoOf(decision, path, call.cost);
  }

  /** What was used of a plain limit; with `all`, even if it is nothing. */
  async look(path: Path, all = false): Promise<RateLimitInfo | undefined> {
    const { own, plain, penalties } = this.#subject;
    if (own !== undefined) {
      const asked = plain!.asked(path);
      const counted = await own.look(asked) ??
        (all ? own.fresh(asked) : undefined);
      return counted &&
        this.#infoOf(counted.decision, path, 1, counted.hits);
    }
    const decision = await penalties?.look(this.limiter, path) ??
      await this.limiter.peek(path, { cost: 0, levels: true });
    return !all && decision.remaining === decision.limit ? undefined
      : this.#infoOf(decision, path, 0);
  }

  /** Decides about a request that may be blocked or banned. */
  async #punish(
    penalties: Penalties,
    path: Path,
    call: Call,
  ): Promise<RateLimitInfo> {
    let info: RateLimitInfo | undefined;
    const { decision, isBanned } = await penalties.decide(
      this.limiter, path, async () => {
        info = await this.#authorize(path, call);
        return info.decision;
      });
    return info?.decision === decision && !isBanned ? info
      : this.#infoOf(decision, path, call.cost, undefined, isBanned);
  }

  /** Has the program's own store count a request. */
  async #count(path: Path): Promise<RateLimitInfo | undefined> {
    const { own, plain } = this.#subject;
    const asked = plain!.asked(path);
    let counted;
    try {
      counted = await own!.count(asked);
    } catch (error) {
      if (!this.#passes) throw error;
      warnSeldom('LIMITREE_STORE_AWAY', 'the store fails, and requests pass: ' +
        messageOf(error), this.#logger);
      return undefined;
    }
    const { decision, hits } = counted;
    const isBanned = decision.limited && this.#ban >= 0 &&
      hits - asked.limit > this.#ban;
    return this.#infoOf(decision, path, 1, hits, isBanned);
  }

  /** Takes back what a request was charged. */
  async refund({ path, cost }: RateLimitInfo): Promise<unknown> {
    const { own, plain } = this.#subject;
    if (own !== undefined) return own.undo(plain!.asked(path as Path).key);
    return areSeveral(path) ? this.limiter.refundAll(path, { cost })
      : this.limiter.refund(path, { cost });
  }

  #authorize(path: Paths, call: Call): Maybe<RateLimitInfo> {
    const limiter = this.limiter;
    const reserves = this.#reserves;
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

  #infoOf(
    decision: Decision,
    path: Paths,
    cost: Cost,
    hits?: number,
    isBanned = false,
  ): RateLimitInfo {
    return new RateLimitInfo(decision, path, cost, undefined, this.#charger,
                             hits, isBanned);
  }

  #decided(path: Paths, call: Call, decision: Decision): RateLimitInfo {
    this.#log?.write(decision);
    return new RateLimitInfo(
      decision, path, call.cost, call.levels ? undefined : this.#known,
      this.#charger);
  }

  /** Decides about another form of the path, or throws if there is none. */
  #repair(path: Paths, call: Call, error: unknown): Maybe<RateLimitInfo> {
    if (error instanceof StoreError) this.#log?.write();
    const isRefused = error instanceof LimitreeError &&
      error.code === 'LIMITREE_INVALID_ARGUMENT';
    const repaired = !isRefused ? undefined
      : this.#subject.plain?.repaired(path as Path) ?? wellFormedPaths(path);
    if (repaired === undefined) throw withAdvice(error);
    return this.#authorize(repaired, call);
  }

  /** Logs that the store has failed after a decision. */
  logFailure(): void {
    this.#log?.write();
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
