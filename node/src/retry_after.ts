// Servers that have asked to be left alone, by Retry-After.

import { LONGEST_TIMER_MS } from './time.js';

/** Callers choose hosts, and must not fill the memory. */
const MOST_HOSTS = 1000;

/** The milliseconds in Retry-After: seconds, or a date; 0 for anything else. */
function msOfHeader(text: string | null): number {
  if (text === null) return 0;
  if (/^\s*\d+\s*$/.test(text)) return Number(text) * 1000;
  const ms = Date.parse(text) - Date.now();
  return ms > 0 ? ms : 0;
}

export class RetryAfter {
  /** When each host may be asked again, by performance.now(). */
  readonly #until = new Map<string, number>();
  /** How many wait for each. */
  readonly #sleeping = new Map<string, number>();

  /** How long to leave the host alone. */
  msOf(host: string): number {
    const until = this.#until.get(host);
    if (until === undefined) return 0;
    const ms = until - performance.now();
    if (ms <= 0) this.#until.delete(host);
    return Math.max(0, ms);
  }

  read(host: string, { status, headers }: Response): void {
    if (status !== 429 && status !== 503) return;
    const ms = Math.min(
      msOfHeader(headers.get('retry-after')), LONGEST_TIMER_MS);
    if (ms === 0) return;
    const until = performance.now() + ms;
    const before = this.#until.get(host) ?? 0;
    this.#until.delete(host);  // the oldest come first
    this.#until.set(host, Math.max(before, until));
    if (this.#until.size <= MOST_HOSTS) return;
    const [oldest] = this.#until.keys();
    this.#until.delete(oldest!);
  }

  /** How many sleep until the host may be asked. */
  sleeping(host: string): number {
    return this.#sleeping.get(host) ?? 0;
  }

  sleep(host: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason as Error);
        return;
      }
      this.#sleeping.set(host, this.sleeping(host) + 1);
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        const others = this.sleeping(host) - 1;
        if (others > 0) this.#sleeping.set(host, others);
        else this.#sleeping.delete(host);
        if (signal.aborted) reject(signal.reason as Error);
        else resolve();
      };
      const timer = setTimeout(end, Math.ceil(ms));
      signal.addEventListener('abort', end);
    });
  }
}
