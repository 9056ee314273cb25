// Times: nanoseconds in, milliseconds and seconds out.

/** LIMITREE_NEVER, as a number that need not be exact. */
const NEVER = 2 ** 63;

/** No timer of Node.js waits longer. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Milliseconds; -1 stays what it is, and "never" is Infinity. */
export function toMs(ns: number): number {
  if (ns === -1) return -1;
  return ns >= NEVER ? Infinity : ns / 1e6;
}

/** Seconds, rounded up: a nanosecond becomes a second. */
export function ceilSeconds(ns: number): number {
  const seconds = Math.floor(ns / 1e9);
  return ns > seconds * 1e9 ? seconds + 1 : seconds;
}

/** The same for a wait in the five fields: -1 also if there is none. */
export function waitSeconds(ns: number): number {
  return ns === -1 || ns >= NEVER ? -1 : ceilSeconds(ns);
}

const UNITS = [
  ['day', 86_400_000], ['hour', 3_600_000], ['minute', 60_000],
  ['second', 1000]] as const;

/** `60_000` as `"1 minute"`. */
export function wordsOf(ms: number): string {
  const [unit, size] = UNITS.find(([, least]) => ms >= least) ?? UNITS[3];
  const count = Math.max(1, Math.round(ms / size));
  return `${count} ${unit}${count === 1 ? '' : 's'}`;
}
