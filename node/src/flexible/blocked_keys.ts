// Keys that one process refuses without asking the store.

/** A flood of keys must not fill the memory. */
const MOST_KEYS = 100_000;

export class BlockedKeys {
  /** When each key is free again, the oldest first. */
  readonly #until = new Map<string, number>();
  readonly #blockMs: number;

  /** 0: a key is blocked as long as its window lasts. */
  constructor(blockMs: number) {
    this.#blockMs = blockMs;
  }

  /** Returns for how long the key is blocked. */
  add(key: string, windowMs: number): number {
    const ms = this.#blockMs > 0 ? this.#blockMs : windowMs;
    if (this.#until.size >= MOST_KEYS) this.#shrink();
    this.#until.set(key, ms < 0 ? Infinity : Date.now() + ms);
    return ms;
  }

  leftMs(key: string): number {
    const until = this.#until.get(key);
    if (until === undefined) return 0;
    const left = until - Date.now();
    if (left > 0) return left;
    this.#until.delete(key);
    return 0;
  }

  delete(key: string): void {
    this.#until.delete(key);
  }

  clear(): void {
    this.#until.clear();
  }

  /** Forgets what is over, and else the oldest half. */
  #shrink(): void {
    const now = Date.now();
    for (const [key, until] of this.#until) {
      if (until <= now) this.#until.delete(key);
    }
    for (const key of this.#until.keys()) {
      if (this.#until.size <= MOST_KEYS / 2) break;
      this.#until.delete(key);
    }
  }
}
