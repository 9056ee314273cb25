// What becomes of the cost of a request once its response has ended: what it
// holds is settled or cancelled, what it was charged is given back or stays.

import type { Cost } from '../cost.js';
import { LimitreeError, StoreError } from '../errors.js';
import { holdOf } from '../holds.js';
import { endHeld, isOpen, whenOver, type Reservation } from '../reservation.js';
import { messageOf } from '../words.js';
import { whenEnded, type Answer } from './ending.js';
import { isDeniedLater, isFree, type RateLimitInfo } from './info.js';
import type { WebOptions } from './options.js';
import type { Server } from './subject.js';
import { keepHeaders, readUsage, USAGE } from './usage.js';
import { warnSeldom, type WarningCode } from './warnings.js';

/** What is asked of the one who decides. */
interface Decider {
  /** Takes back what a request was charged. */
  refund(info: RateLimitInfo): Promise<unknown>;
  /** Called when the store has failed. */
  logFailure(): void;
}

/** How long closing waits for functions among the options, and the store. */
const PATIENCE_MS = 10_000;

/** The status of a response whose handler has failed. */
const FAILED = 500;

/** The responses to the requests of one middleware. */
export class Afterwards<A extends object, B> {
  readonly #options: WebOptions<A, B>;
  readonly #server: Server<A, B>;
  readonly #decider: Decider;
  /** Whether requests reserve. */
  readonly reserves: boolean;
  /** Whether their cost may be given back. */
  readonly #refunds: boolean;
  /** The time to hold, unless each limit says it. */
  readonly #hold: number | string | undefined;
  /** What is being settled or given back. */
  readonly #running = new Set<Promise<void>>();

  constructor(
    options: WebOptions<A, B>,
    server: Server<A, B>,
    decider: Decider,
  ) {
    const { reserve = false } = options;
    this.#options = options;
    this.#server = server;
    this.#decider = decider;
    this.reserves = reserve !== false;
    this.#hold = typeof reserve === 'boolean' ? undefined : reserve;
    this.#refunds = options.skipFailedRequests === true ||
      options.skipSuccessfulRequests === true;
  }

  /** The option of the call that reserves. */
  get callOptions(): { readonly hold?: number | string } {
    return this.#hold === undefined ? {} : { hold: this.#hold };
  }

  /** Waits for the end of the response to a request that may go on. */
  watch(info: RateLimitInfo, a: A, b: B): void {
    if (!this.#isOpen(info)) return;
    const { reservation } = info;
    const response = this.#server.responseOf(a, b);
    // What was charged is not given back if the connection breaks.
    const socket = reservation && this.#server.requestOf(a)?.socket;
    const stop = whenEnded(response, socket, (wasSent) => {
      void this.end(info, a, b, wasSent, response);
    });
    if (reservation === undefined) return;
    if (response !== undefined) keepHeaders(response);
    const over = stopper(stop, this.#renewing(reservation, new WeakRef(a)));
    info.stopWatching = over;
    whenOver(reservation, over);
    this.#server.signalOf?.(a)?.addEventListener('abort', over, { once: true });
  }

  /** Whether the end of the response can change anything. */
  #isOpen(info: RateLimitInfo): boolean {
    const { reservation } = info;
    if (isFree(info)) return false;
    return reservation === undefined ? this.#refunds : isOpen(reservation);
  }

  /**
   * Extends the hold when half of it has passed, as long as somebody has the
   * request: without a connection, nobody else may tell that it has ended.
   */
  #renewing(
    reservation: Reservation,
    request: WeakRef<A>,
  ): NodeJS.Timeout | undefined {
    const hold = this.#hold;
    if (hold === undefined) return undefined;
    const half = holdOf(hold) / 2e6;
    const timer = setInterval(() => {
      if (request.deref() === undefined) return clearInterval(timer);
      reservation.extend(hold).then((count) => {
        if (count === 0) clearInterval(timer);
      }, (error) => this.#fail('not extended', error));
    }, half);
    timer.unref();
    return timer;
  }

  /** Settles or gives back, by how a response has ended.  Never rejects. */
  end(
    info: RateLimitInfo,
    a: A,
    b: B,
    wasSent: boolean,
    response: Answer | undefined,
  ): Promise<void> {
    info.stopWatching?.();
    const run = this.#end(info, a, b, wasSent, response)
      .catch((error) => this.#fail('not settled', error))
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
    return run;
  }

  async #end(
    info: RateLimitInfo,
    a: A,
    b: B,
    wasSent: boolean,
    response: Answer | undefined,
  ): Promise<void> {
    if (isDeniedLater(a, info) ||
        (wasSent && await this.#skips(a, b, response))) {
      await this.giveBack(info);
    }
    if (info.isGivenBack) return;
    const { reservation } = info;
    if (reservation === undefined) return;
    const isKnown = wasSent || response?.headersSent === true;
    const used = isKnown ? await this.#usedOf(a, b, response) : undefined;
    try {
      await endHeld(reservation, used);
    } catch (error) {
      if (used === undefined || !isRefused(error)) throw error;
      this.#warn('LIMITREE_USAGE_UNREADABLE', 'a request was settled as held ' +
        `because what it has used was refused: ${messageOf(error)}`);
      await endHeld(reservation);
    }
  }

  /** Whether options say that the request costs nothing. */
  async #skips(a: A, b: B, response: Answer | undefined): Promise<boolean> {
    if (!this.#refunds) return false;
    const { skipFailedRequests, skipSuccessfulRequests, requestWasSuccessful } =
      this.#options;
    try {
      const succeeded = requestWasSuccessful === undefined
        ? (response?.statusCode ?? 0) < 400 : await requestWasSuccessful(a, b);
      return (succeeded ? skipSuccessfulRequests : skipFailedRequests) === true;
    } catch (error) {
      this.#fail('not given back', error);
      return false;
    }
  }

  /** What a request has used: undefined for as much as it held. */
  async #usedOf(
    a: A,
    b: B,
    response: Answer | undefined,
  ): Promise<Cost | undefined> {
    const { settle } = this.#options;
    try {
      if (settle !== undefined) return await settle(a, b);
      const used = readUsage(response?.getHeader(USAGE));
      const hasFailed = (response?.statusCode ?? 0) >= FAILED;
      return used ?? (hasFailed ? 0 : undefined);
    } catch (error) {
      this.#warn('LIMITREE_USAGE_UNREADABLE', 'a request was settled as held ' +
        `because nobody knows what it has used: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** Cancels, or gives back, what a request costs, once.  Never rejects. */
  async giveBack(info: RateLimitInfo): Promise<void> {
    const { decision, reservation } = info;
    if (info.isGivenBack || isFree(info) || decision.unlimited) return;
    info.isGivenBack = true;
    info.stopWatching?.();
    try {
      if (reservation !== undefined) {
        await endHeld(reservation, 0);
      } else if (decision.source !== 'allow') {  // which charges nothing
        await this.#decider.refund(info);
      }
    } catch (error) {
      this.#fail('not given back', error);
    }
  }

  /** Resolves when all that has ended is settled, or after some seconds. */
  async settled(): Promise<void> {
    if (this.#running.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      void Promise.all(this.#running).then(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** Logs what could not be done. */
  #fail(what: string, error: unknown): void {
    if (error instanceof StoreError) {
      try {
        this.#decider.logFailure();
      } catch {
        // The logger has failed: there is nobody to tell.
      }
    }
    if (what === 'not given back') {
      this.#warn('LIMITREE_REFUND_FAILED',
        `a request was not given back what it cost: ${messageOf(error)}`);
    } else {
      this.#warn('LIMITREE_SETTLE_FAILED', `a request was ${what}, and its ` +
        `hold ends by itself: ${messageOf(error)}`);
    }
  }

  #warn(code: WarningCode, message: string): void {
    warnSeldom(code, message, this.#options.logger);
  }
}

/** Ends both; holds nothing else, so not the request. */
function stopper(
  stop: (() => void) | undefined,
  timer: NodeJS.Timeout | undefined,
): () => void {
  return () => {
    stop?.();
    clearInterval(timer);
  };
}

/** Whether the core has refused an argument. */
function isRefused(error: unknown): boolean {
  return error instanceof LimitreeError &&
    error.code === 'LIMITREE_INVALID_ARGUMENT';
}
