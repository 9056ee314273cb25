// Warnings about the configuration of a program.  Each is given once, as a
// warning of Node.js with a code.

/** The checks that `validate` can turn off one by one. */
export const CHECKS = [
  'trustProxy', 'xForwardedForHeader', 'forwardedHeader', 'ipv6Key',
  'singleCount', 'creationStack'] as const;

export type Check = typeof CHECKS[number];

export type Validate = boolean | Readonly<Partial<Record<Check, boolean>>>;

/** The codes of the warnings. */
export type WarningCode =
  | 'LIMITREE_PERMISSIVE_TRUST_PROXY'
  | 'LIMITREE_UNTRUSTED_X_FORWARDED_FOR'
  | 'LIMITREE_UNTRUSTED_FORWARDED'
  | 'LIMITREE_IPV6_KEY'
  | 'LIMITREE_COUNTED_TWICE'
  | 'LIMITREE_CREATED_PER_REQUEST'
  | 'LIMITREE_REFUND_FAILED'
  | 'LIMITREE_REQUEST_FAILED'
  | 'LIMITREE_SETTLE_FAILED'
  | 'LIMITREE_USAGE_UNREADABLE'
  | 'LIMITREE_ROUTE_BEFORE_PLUGIN'
  | 'LIMITREE_STORE_AWAY'
  | 'LIMITREE_STORE_BACK';

/** A logger such as console, or one of pino or winston. */
export interface Logger {
  warn(message: string): void;
}

/** Writes to `logger`, or else to the warnings of the process. */
export function warn(
  code: WarningCode,
  message: string,
  logger?: Logger,
): void {
  if (logger === undefined) {
    process.emitWarning(message, { type: 'LimitreeWarning', code });
  } else {
    logger.warn(`limitree: ${message} [${code}]`);
  }
}

/** The warnings that were given, by code. */
const SELDOM = new Map<WarningCode, { readonly at: number; more: number }>();
const SELDOM_MS = 10_000;

/**
 * Warns of what any request may cause: once in ten seconds for each code, with
 * the number of those in between, so that clients cannot fill the log.  Never
 * throws: where requests are handled, nobody could catch what a logger throws.
 */
export function warnSeldom(
  code: WarningCode,
  message: string,
  logger?: Logger,
): void {
  const now = performance.now();
  const last = SELDOM.get(code);
  if (last !== undefined && now - last.at < SELDOM_MS) {
    ++last.more;
    return;
  }
  SELDOM.set(code, { at: now, more: 0 });
  try {
    warn(code, last === undefined || last.more === 0 ? message
      : `${message} (and ${last.more} more before)`, logger);
  } catch {
    // There is nobody to tell.
  }
}

const SAID = new Set<string>();
const MOST_SAID = 1000;

/** Forgets the warnings that were given; for tests. */
export function forgetWarnings(): void {
  SELDOM.clear();
  SAID.clear();
}

/** Warns of a mistake in a program, once in the process. */
export function warnOnce(
  code: WarningCode,
  message: string,
  logger?: Logger,
): void {
  const text = `${code} ${message}`;
  if (SAID.has(text) || SAID.size === MOST_SAID) return;
  SAID.add(text);
  warn(code, message, logger);
}

/** The checks end after this many requests, as nothing new is expected. */
const REQUESTS = 100;

/** The checks of the first requests of one middleware. */
export class Checks {
  readonly #off: ReadonlySet<string>;
  readonly #logger: Logger | undefined;
  #left: number;

  constructor(validate: Validate, logger: Logger | undefined) {
    this.#logger = logger;
    const named = typeof validate === 'object' ? Object.entries(validate) : [];
    this.#off = new Set(
      named.filter(([, isOn]) => isOn === false).map(([name]) => name));
    this.#left = validate === false ? 0 : REQUESTS;
  }

  /** Whether enough requests were checked. */
  get isOver(): boolean {
    return this.#left === 0;
  }

  /** Counts a request that was checked. */
  countRequest(): void {
    --this.#left;
  }

  /** Warns, unless the process has warned before or the check is off. */
  warn(check: Check, code: WarningCode, message: string): void {
    if (!this.#off.has(check)) warnOnce(code, message, this.#logger);
  }
}

/** How a framework finds the address of a client. */
export interface Trust {
  /** The headers of the request, by their names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  /** Whether the address may come from a header. */
  readonly believes: boolean;
  /** Whether it may do so no matter who wrote that header. */
  readonly believesAll: boolean;
  /** How to correct the configuration. */
  readonly advice: string;
}

/** Checks a request that is limited by its address. */
export function checkTrust(checks: Checks, trust: Trust): void {
  const { headers, believes, believesAll, advice } = trust;
  if (believesAll) {
    checks.warn('trustProxy', 'LIMITREE_PERMISSIVE_TRUST_PROXY',
      'every proxy is trusted, so a client can make up its address, and get ' +
      `around its limits, by sending X-Forwarded-For: ${advice}`);
    return;
  }
  if (believes) return;
  if (headers['x-forwarded-for'] !== undefined) {
    checks.warn('xForwardedForHeader', 'LIMITREE_UNTRUSTED_X_FORWARDED_FOR',
      'a request has X-Forwarded-For, but no proxy is trusted; behind a ' +
      `proxy all clients would share one limit, the proxy's: ${advice}; ` +
      'without a proxy a client has made it up, and this can be ignored');
  } else if (headers['forwarded'] !== undefined) {
    checks.warn('forwardedHeader', 'LIMITREE_UNTRUSTED_FORWARDED',
      'a request has the header Forwarded, which nobody reads: if it is your ' +
      'proxy that writes it, give clientIp: clientIp({header: "forwarded", ' +
      'trustedProxies: [...]})');
  }
}
