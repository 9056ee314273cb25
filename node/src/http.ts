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

import { clientIp } from './address.js';
import type { CloseOptions, Limiter } from './limiter.js';
import type { Segment } from './requests.js';
import { Answers, UNAVAILABLE } from './web/answer.js';
import { Gate, RateLimitInfo, isStoreTrouble } from './web/gate.js';
import { isPromise } from './web/maybe.js';
import type { Maybe } from './web/maybe.js';
import type { WebOptions } from './web/options.js';
import { send, whenOver, writeHeaders } from './web/response.js';
import type { Framework } from './web/subject.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/gate.js';
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
 * Returns whether the request was limited.  A limited request has been
 * answered; an allowed one has headers, and the caller answers it.
 *
 * If the store failed and `onStoreError` is `"raise"`, the answer is 503.
 * Rejects or throws for all other errors, such as a path that the tree does not
 * have, and answers nothing then.
 */
export interface RateLimit {
  (request: IncomingMessage, response: ServerResponse): Maybe<boolean>;
  readonly limiter: Limiter;
  /** The decision about a request; undefined if there is none. */
  infoOf(request: IncomingMessage): RateLimitInfo | undefined;
  /** Gives the client with this key a full bucket; for plain limits. */
  resetKey(key: Segment): Promise<void>;
  /** Closes the limiter, unless it was passed in. */
  close(options?: CloseOptions): Promise<void>;
}

const peer = clientIp();

const HTTP: Framework<IncomingMessage> = {
  options: ['handler'],
  ipOf: (request) => request.socket.remoteAddress === undefined
    ? undefined : peer.of(request.socket.remoteAddress),
  trustOf: (request) => ({
    headers: request.headers, believes: false, believesAll: false,
    advice: 'give clientIp: clientIp({trustedProxies: [...]})' }),
  requestOf: (request) => request,
};

/**
 * Returns a function that decides about requests.
 *
 * Throws ConfigError for unknown options.
 */
export function rateLimit(options: HttpOptions): RateLimit {
  const gate = new Gate(options, HTTP);
  const answers = new Answers(options, 'epoch');
  const infos = new WeakMap<IncomingMessage, RateLimitInfo>();
  const { handler } = options;

  function deny(
    request: IncomingMessage,
    response: ServerResponse,
    info: RateLimitInfo,
  ): Maybe<true> {
    if (handler !== undefined) {
      const done = handler(request, response, info);
      return isPromise(done) ? done.then(() => true as const) : true;
    }
    const body = answers.bodyOf(info, request, response);
    if (isPromise(body)) {
      return body.then((one) => {
        send(response, answers.statusCode, one);
        return true as const;
      });
    }
    send(response, answers.statusCode, body);
    return true;
  }

  function go(
    request: IncomingMessage,
    response: ServerResponse,
    info: RateLimitInfo | undefined,
  ): Maybe<boolean> {
    if (info === undefined) return false;
    infos.set(request, info);
    if (response.headersSent) return info.decision.limited;
    writeHeaders(response, answers.headersOf(info));
    if (info.decision.limited) return deny(request, response, info);
    if (gate.refunds) {
      whenOver(response, (isComplete) => void gate.settle(
        info, request, response, isComplete ? response.statusCode : undefined));
    }
    return false;
  }

  function refuse(response: ServerResponse, error: unknown): true {
    if (!isStoreTrouble(error)) throw error;
    response.setHeader('Retry-After', '1');
    send(response, 503, UNAVAILABLE);
    return true;
  }

  const limited = (
    request: IncomingMessage,
    response: ServerResponse,
  ): Maybe<boolean> => {
    let info;
    try {
      info = gate.decide(request, response);
    } catch (error) {
      return refuse(response, error);
    }
    if (!isPromise(info)) return go(request, response, info);
    return info.then((one) => go(request, response, one),
                     (error) => refuse(response, error));
  };
  return Object.assign(limited, {
    limiter: gate.limiter,
    infoOf: (request: IncomingMessage) => infos.get(request),
    resetKey: (key: Segment) => gate.resetKey(key),
    close: (options?: CloseOptions) => gate.close(options),
  });
}

export default rateLimit;
