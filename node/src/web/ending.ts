// The end of a response: its last byte is sent, or nobody waits for it.

/** What is read of a response of Node.js, HTTP/1.1 or HTTP/2. */
export interface Answer {
  readonly statusCode: number;
  readonly headersSent: boolean;
  readonly writableFinished?: boolean;
  readonly closed?: boolean;
  readonly destroyed?: boolean;
  /** Of HTTP/2, where a stream that the client has reset finishes, too. */
  readonly stream?: { readonly aborted: boolean } | undefined;
  getHeader(name: string): unknown;
  setHeader?(name: string, value: string): unknown;
  removeHeader?(name: string): void;
}

interface Emitter {
  once(event: string, listener: () => void): unknown;
}

/** Called with whether the whole response was sent. */
export type Ended = (wasSent: boolean) => void;

/** Those who wait for the end of a response, or of a connection. */
const WAITING = new WeakMap<object, Set<Ended>>();

function isEmitter<T extends object>(
  value: T | undefined,
): value is T & Emitter {
  return typeof (value as Partial<Emitter> | undefined)?.once === 'function';
}

/** Adds one who waits for the end; returns a function that removes it. */
function wait(
  emitter: Emitter,
  one: Ended,
  wasSent?: () => boolean,
): () => void {
  let all = WAITING.get(emitter);
  if (all === undefined) {
    const waiting = all = new Set<Ended>();
    WAITING.set(emitter, waiting);
    const end = (sent: boolean) => {
      for (const ended of waiting) ended(sent);
    };
    if (wasSent !== undefined) emitter.once('finish', () => end(wasSent()));
    emitter.once('close', () => end(false));
  }
  const waiting = all.add(one);
  return () => waiting.delete(one);
}

/** Whether nobody waits for the response any more. */
export function isOver(response: Answer | undefined): boolean {
  return response !== undefined && (response.closed === true ||
    response.destroyed === true || response.writableFinished === true ||
    response.stream?.aborted === true);
}

/**
 * Calls `ended` once, when the response or its connection has ended.  Returns a
 * function that forgets it; undefined if there is nothing to wait for.
 */
export function whenEnded(
  response: Answer | undefined,
  socket: object | undefined,
  ended: Ended,
): (() => void) | undefined {
  const stops: (() => void)[] = [];
  const stop = () => {
    for (const one of stops) one();
  };
  const end = (sent: boolean) => {
    stop();
    ended(sent);
  };
  if (isEmitter(response)) {
    stops.push(wait(response, end,
                    () => response.stream?.aborted !== true));
  }
  // Responses that wait behind another one on their connection do not close
  // with it.  A connection of HTTP/2 has many, which do.
  if (isEmitter(socket) && response?.stream === undefined) {
    stops.push(wait(socket, end));
  }
  return stops.length === 0 ? undefined : stop;
}
