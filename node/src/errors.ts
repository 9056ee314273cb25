// The errors of limitree.  A denied action is a Decision, never an error.

/**
 * The kind of an error, by the names of limitree.h:
 *
 * - `LIMITREE_INVALID_ARGUMENT`: a segment, a cost or another argument
 * - `LIMITREE_UNKNOWN_ROOT`: the tree has no such top-level name
 * - `LIMITREE_INVALID_CONFIG`: limits or options; see ConfigError
 * - `LIMITREE_STORE_UNAVAILABLE`, `LIMITREE_STORE_TIMEOUT`,
 *   `LIMITREE_STORE_PROTOCOL`: the store; see StoreError
 * - `LIMITREE_CANCELLED`: the limiter is closed, or was while this waited
 * - `LIMITREE_OUT_OF_MEMORY`, `LIMITREE_INTERNAL`
 *
 * and two kinds that only JavaScript has:
 *
 * - `LIMITREE_NOT_SYNC`: `authorizeSync`, ... of a store on another machine
 * - `LIMITREE_NO_NATIVE`: there is no native module for this machine
 */
export type ErrorCode =
  | 'LIMITREE_INVALID_ARGUMENT'
  | 'LIMITREE_UNKNOWN_ROOT'
  | 'LIMITREE_INVALID_CONFIG'
  | 'LIMITREE_STORE_UNAVAILABLE'
  | 'LIMITREE_STORE_TIMEOUT'
  | 'LIMITREE_STORE_PROTOCOL'
  | 'LIMITREE_CANCELLED'
  | 'LIMITREE_OUT_OF_MEMORY'
  | 'LIMITREE_INTERNAL'
  | 'LIMITREE_NOT_SYNC'
  | 'LIMITREE_NO_NATIVE';

/** The base of limitree's errors. */
export class LimitreeError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  static {
    this.prototype.name = 'LimitreeError';
  }
}

/** Limits or options are not valid. */
export class ConfigError extends LimitreeError {
  /** One line for each mistake, in the order of the file. */
  readonly messages: readonly string[];
  /** The place of the first one; undefined for a mistake in an option. */
  readonly file: string | undefined;
  /** From 1. */
  readonly line: number | undefined;
  /** From 1. */
  readonly column: number | undefined;

  constructor(messages: readonly string[], file?: string) {
    super('LIMITREE_INVALID_CONFIG', messages.join('\n'));
    this.messages = messages;
    const place = /^(.*?):(\d+):(\d+): /.exec(messages[0] ?? '');
    this.file = place?.[1] ?? file;
    this.line = place ? Number(place[2]) : undefined;
    this.column = place ? Number(place[3]) : undefined;
  }

  static {
    this.prototype.name = 'ConfigError';
  }
}

/**
 * The store is down, refused, or did not answer.  After
 * `LIMITREE_STORE_TIMEOUT` the request may have been charged, else it was not.
 */
export class StoreError extends LimitreeError {
  /** The kind of failure in one word, such as `"readonly"` or `"timeout"`. */
  readonly reason: string;

  constructor(code: ErrorCode, message: string, reason: string) {
    super(code, message);
    this.reason = reason;
  }

  static {
    this.prototype.name = 'StoreError';
  }
}

/** The error for a status of the C interface, by its name. */
export function makeError(
  status: string,
  reason: string,
  messages: string[],
): LimitreeError {
  const message = messages[0] ?? status;
  const code = `LIMITREE_${status.toUpperCase()}` as ErrorCode;
  if (status === 'invalid_config') return new ConfigError(messages);
  if (status.startsWith('store_')) return new StoreError(code, message, reason);
  return new LimitreeError(code, message);
}

export function invalidArgument(message: string): LimitreeError {
  return new LimitreeError('LIMITREE_INVALID_ARGUMENT', message);
}

/** Whether the store has done it; rejects with errors of others. */
export async function isDone(change: Promise<unknown>): Promise<boolean> {
  try {
    await change;
    return true;
  } catch (error) {
    if (error instanceof StoreError) return false;
    throw error;
  }
}
