// Values that may be promises.  Nothing is awaited without need: a decision in
// memory costs less than a promise.

export type Maybe<T> = T | Promise<T>;

/** Whether `value` has to be waited for. */
export function isPromise<T>(value: Maybe<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null &&
    typeof (value as { then?: unknown }).then === 'function';
}
