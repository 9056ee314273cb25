// Values that may still be to come.  Where nothing has to be waited for nothing
// is: a decision in memory costs less than the promise of one.

export type Maybe<T> = T | Promise<T>;

/** Whether `value` has to be waited for. */
export function isPromise<T>(value: Maybe<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null &&
    typeof (value as { then?: unknown }).then === 'function';
}
