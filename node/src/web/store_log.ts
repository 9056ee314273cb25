// Logs that the store has failed and is back: one line each, however many
// requests come in between.  The native module has the lines.

import type { Decision } from '../decision.js';
import { takeLog } from '../limiter.js';
import type { Limiter } from '../limiter.js';
import { warn } from './warnings.js';
import type { Logger } from './warnings.js';

/** As in limitree.h. */
const STORE_AWAY = 1;

/** The log of the store of one limiter. */
export class StoreLog {
  static readonly #all = new WeakMap<Limiter, StoreLog>();
  readonly #limiter: Limiter;
  readonly #logger: Logger | undefined;
  #isAway = false;

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
    if (decision?.degraded !== false) this.#isAway = true;
    if (!this.#isAway) return;
    for (const [event, text] of takeLog(this.#limiter)) {
      this.#isAway = event === STORE_AWAY;
      warn(this.#isAway ? 'LIMITREE_STORE_AWAY' : 'LIMITREE_STORE_BACK', text,
        this.#logger);
    }
  }
}
