// Logs that the store has failed and is back: one line each, however many
// requests come in between.

import type { Decision } from '../decision.js';
import type { Limiter } from '../limiter.js';
import { warn } from './warnings.js';
import type { Logger } from './warnings.js';

/**
 * The store is back when it has answered, without failures, for this many
 * milliseconds, so that a store that fails now and then does not fill the log.
 */
const QUIET_MS = 5000;

/** As in python/limitree/outage.py. */
const UNTIL_THEN = {
  local: 'limits are decided in this process',
  allow: 'requests are let through unchecked',
  deny: 'requests are denied unchecked', raise: 'requests fail',
} as const;

const SINCE_THEN = {
  local: 'decided in this process', allow: 'let through unchecked',
  deny: 'denied unchecked', raise: 'not decided',
} as const;

type How = keyof typeof SINCE_THEN;

/** The requests while the store failed. */
interface Away {
  readonly since: number;
  readonly how: How;
  readonly reasons: ReadonlyMap<string, number>;
  requests: number;
  limited: number;
  back: NodeJS.Timeout | undefined;
}

/** The failures of the store of one limiter. */
export class Outage {
  static readonly #all = new WeakMap<Limiter, Outage>();
  readonly #limiter: Limiter;
  readonly #logger: Logger | undefined;
  #away: Away | undefined;
  #reasons: ReadonlyMap<string, number> = new Map();

  /** One for each limiter, however many middlewares ask it. */
  static of(limiter: Limiter, logger: Logger | undefined): Outage {
    const there = Outage.#all.get(limiter);
    if (there !== undefined) return there;
    const made = new Outage(limiter, logger);
    Outage.#all.set(limiter, made);
    return made;
  }

  private constructor(limiter: Limiter, logger: Logger | undefined) {
    this.#limiter = limiter;
    this.#logger = logger;
  }

  /** After each decision of a limiter whose store is another machine. */
  note(decision: Decision): void {
    if (decision.degraded) {
      this.#failed(decision.source as How, decision.limited);
    } else if (this.#away !== undefined && decision.source === 'store') {
      this.#answered(this.#away);
    }
  }

  /** After each request that the store could not decide. */
  noteError(): void {
    this.#failed('raise', false);
  }

  #failed(how: How, limited: boolean): void {
    const away = this.#away ??= this.#begin(how);
    clearTimeout(away.back);
    away.back = undefined;
    ++away.requests;
    if (limited) ++away.limited;
  }

  #begin(how: How): Away {
    const reasons = this.#counts();
    warn('LIMITREE_STORE_AWAY', `the store ${this.#limiter.store} fails in ` +
      `process ${process.pid}${text(this.#reasons, reasons, false)}, ` +
      `onStoreError=${how}: ${UNTIL_THEN[how]} until it is back`,
      this.#logger);
    const before = this.#reasons;
    return { since: Date.now(), how, reasons: before, requests: 0, limited: 0,
             back: undefined };
  }

  #answered(away: Away): void {
    if (away.back !== undefined) return;
    const seconds = (Date.now() - away.since) / 1000;
    away.back = setTimeout(() => this.#end(away, seconds), QUIET_MS);
    away.back.unref?.();
  }

  #end(away: Away, seconds: number): void {
    this.#away = undefined;
    this.#reasons = this.#counts();
    const denied = away.limited > 0 ? `, ${away.limited} of them limited` : '';
    warn('LIMITREE_STORE_BACK', `the store ${this.#limiter.store} is back in ` +
      `process ${process.pid} after ${seconds.toFixed(1)} s, ` +
      `onStoreError=${away.how}: ${away.requests} requests were ` +
      `${SINCE_THEN[away.how]}${denied}${
        text(away.reasons, this.#reasons, true)}`, this.#logger);
  }

  /** How often calls have failed by each reason; none once it is closed. */
  #counts(): ReadonlyMap<string, number> {
    if (this.#limiter.closed) return this.#reasons;
    return new Map(this.#limiter.reasonStats().map(
      ({ reason, errors }) => [reason, errors]));
  }
}

/** ` (refused 3, timeout 1)`: the failures between two counts. */
function text(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
  withCounts: boolean,
): string {
  const news = [...after].map(([reason, count]) =>
    [reason, count - (before.get(reason) ?? 0)] as const)
    .filter(([, count]) => count > 0);
  if (news.length === 0) return '';
  return ` (${news.map(([reason, count]) =>
    withCounts ? `${reason} ${count}` : reason).join(', ')})`;
}
