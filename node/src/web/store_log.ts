// Logs that the store has failed and is back: one line each, however many
// requests come in between.  The native module has the lines.

import type { Decision } from '../decision.js';
import { partsOf, type Limiter } from '../limiter.js';
import { warn, type Logger } from './warnings.js';

/** As in limitree.h. */
const STORE_AWAY = 1;

/** A store that is back says so within this time, when decisions go on. */
const BACK_WITHIN_MS = 6000;

/** The log of the store of one limiter. */
export class StoreLog {
  static readonly #all = new WeakMap<Limiter, StoreLog>();
  readonly #limiter: Limiter;
  readonly #logger: Logger | undefined;
  #isAway = false;
  #answersSince: number | undefined;  // without a failure

  /** One for each limiter, however many middlewares ask it. */
  static of(limiter: Limiter, logger: Logger | undefined): StoreLog {
    const there = StoreLog.#all.get(limiter);
    if (there !== undefined) return there;
    const made = new StoreLog(limiter, logger);
    StoreLog.#all.set(limiter, made);
    return made;
  }

  private constructor(limiter: Limiter, logger: Logger | undefined) {
    this.#limiter = limiter;
    this.#logger = logger;
  }

  /** Called after each decision; without one if the store could not decide. */
  write(decision?: Decision): void {
    const isFailure = decision?.degraded !== false;
    if (isFailure) {
      this.#isAway = true;
      this.#answersSince = undefined;
    }
    if (!this.#isAway) return;
    const messages = partsOf(this.#limiter)[0].takeLog();
    for (const [event, text] of messages) {
      this.#isAway = event === STORE_AWAY;
      warn(this.#isAway ? 'LIMITREE_STORE_AWAY' : 'LIMITREE_STORE_BACK', text,
        this.#logger);
    }
    if (!isFailure && messages.length === 0) this.#stopLooking();
  }

  /** Another thread may have taken the message that the store is back. */
  #stopLooking(): void {
    const now = performance.now();
    this.#answersSince ??= now;
    if (now - this.#answersSince > BACK_WITHIN_MS) this.#isAway = false;
  }
}
