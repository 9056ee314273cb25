/**
 * Limits for a server of node:http, or for any framework that has its requests.
 *
 *     import { rateLimit } from 'limitree/http';
 *     const limited = rateLimit({ limit: 100, windowMs: 60_000 });
 *     createServer(async (request, response) => {
 *       if (await limited(request, response)) return;
 *       response.end('hello');
 *     });
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

import { http } from './builtins.js';
import { StoreError } from './errors.js';
import { textOf } from './words.js';
import { FAILED, UNAVAILABLE } from './web/answer.js';
import { Gate, type Controls } from './web/gate.js';
import type { RateLimitInfo } from './web/info.js';
import { isPromise, type Maybe } from './web/maybe.js';
import type { WebOptions } from './web/options.js';
import { ofIncoming } from './web/peer.js';
import { send, sendSoon, writeHeaders } from './web/response.js';
import type { Server } from './web/subject.js';
import { warnSeldom } from './web/warnings.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

export interface HttpOptions
  extends WebOptions<IncomingMessage, ServerResponse> {
  /**
   * Answers a denial, in the place of `message`; headers are set already.  It
   * must end the response.
   */
  readonly handler?: ((
    request: IncomingMessage,
    response: ServerResponse,
    info: RateLimitInfo,
  ) => unknown) | undefined;
}

/**
 * Returns whether the request has been answered, because it was limited.  An
 * allowed one has headers, and the caller answers it.
 *
 * Never throws or rejects, because that would end the process of a caller who
 * does not catch it.  If the store failed and `onStoreError` is `"raise"`, the
 * answer is 503.  After all other errors, such as a path that the tree does not
 * have, it is 500, and the error is logged.  A request whose client has gone is
 * dropped.
 */
export interface RateLimit extends Controls {
  (request: IncomingMessage, response: ServerResponse): Maybe<boolean>;
  /** The decision about a request; undefined if there is none. */
  infoOf(request: IncomingMessage): RateLimitInfo | undefined;
}

const HTTP: Server<IncomingMessage, ServerResponse> = {
  ...ofIncoming, responseOf: (_, response) => response,
};

/**
 * Returns a function that decides about requests.
 *
 * Throws ConfigError for unknown options.
 */
export function rateLimit(options: HttpOptions): RateLimit {
  const gate = new Gate(options, HTTP);
  const { answers } = gate;
  const infos = new WeakMap<IncomingMessage, RateLimitInfo>();
  const { handler } = options;

  function deny(
    request: IncomingMessage,
    response: ServerResponse,
    info: RateLimitInfo,
  ): Maybe<true> {
    const done = handler !== undefined ? handler(request, response, info)
      : sendSoon(response, answers.statusOf(info),
                 answers.bodyOf(info, request, response));
    return isPromise(done) ? done.then(() => true as const) : true;
  }

  function go(
    request: IncomingMessage,
    response: ServerResponse,
    info: RateLimitInfo | undefined,
  ): Maybe<boolean> {
    if (info === undefined) return false;
    infos.set(request, info);
    if (response.headersSent) return info.decision.limited;
    writeHeaders(response, answers.headersOf(info), info);
    if (info.decision.limited) return deny(request, response, info);
    return false;
  }

  /** Answers a request that could not be decided. */
  function fail(
    request: IncomingMessage,
    response: ServerResponse,
    error: unknown,
  ): true {
    const hasGone = gate.hasGone(request, response);
    if (hasGone || response.headersSent) {
      if (!response.writableEnded) response.destroy();
    } else if (error instanceof StoreError) {
      response.setHeader('Retry-After', '1');
      send(response, 503, UNAVAILABLE);
    } else {
      send(response, 500, FAILED);
    }
    if (!hasGone && !(error instanceof StoreError)) {
      warnSeldom('LIMITREE_REQUEST_FAILED', 'a request was answered with 500 ' +
        `because it could not be decided: ${textOf(error)}`, options.logger);
    }
    return true;
  }

  const limited = (
    request: IncomingMessage,
    response: ServerResponse,
  ): Maybe<boolean> => {
    try {
      const info = gate.decide(request, response);
      const done = isPromise(info)
        ? info.then((one) => go(request, response, one))
        : go(request, response, info);
      return isPromise(done)
        ? done.catch((error) => fail(request, response, error)) : done;
    } catch (error) {
      return fail(request, response, error);
    }
  };
  const infoOf = (request: IncomingMessage) => infos.get(request);
  return Object.assign(limited, gate.controls, { infoOf });
}

/**
 * Limits connections that become WebSockets, for the event `upgrade` of any
 * server: resolves to true if the connection was refused, with the answer that
 * `limited` gives to a request.  With `reserve`, a connection holds its slot
 * until it closes.
 *
 *     const limited = rateLimit({ limit: 10 });
 *     server.on('upgrade', async (request, socket, head) => {
 *       if (await isRefused(limited, request, socket)) return;
 *       sockets.handleUpgrade(request, socket, head, ...);
 *     });
 */
export async function isRefused(
  limited: RateLimit,
  request: IncomingMessage,
  socket: Duplex,
): Promise<boolean> {
  // Nobody else listens yet, nor before a program has decided what becomes of
  // the connection: an error without a listener would end the process.
  socket.on('error', () => undefined);
  const response = new (http().ServerResponse)(request);
  response.shouldKeepAlive = false;
  try {
    response.assignSocket(socket as Socket);
  } catch {  // the answer to an earlier request is still due
    socket.destroy();
    return true;
  }
  // The client may never close its half.
  response.once('finish', () => { (socket as Socket).destroySoon(); });
  const isOver = await limited(request, response);
  if (!isOver) response.detachSocket(socket as Socket);
  return isOver;
}

export default rateLimit;
