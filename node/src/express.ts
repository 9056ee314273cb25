/**
 * Limits before an Express app, or a part of it.
 *
 *     import { rateLimit } from 'limitree/express';
 *     app.use(rateLimit({ limit: 100, windowMs: 60_000 }));
 */

import type { NextFunction, Request, RequestHandler, Response } from 'express';

import { forFramework } from './web/answer.js';
import { Gate, type Controls } from './web/gate.js';
import { RateLimitInfo } from './web/info.js';
import { isPromise } from './web/maybe.js';
import { checkObject, type WebOptions } from './web/options.js';
import { sendSoon, writeHeaders } from './web/response.js';
import type { Server } from './web/subject.js';
import { warnOnce } from './web/warnings.js';

export { canonicalIp, clientIp } from './address.js';
export type { StandardHeaders, WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';
export type { Check, Validate, WarningCode } from './web/warnings.js';

/** What a handler gets from the middleware. */
export interface HandlerOptions {
  readonly statusCode: number;
  /** The option `message`, or the members of `application/problem+json`. */
  readonly message: unknown;
}

export interface ExpressOptions extends WebOptions<Request, Response> {
  /** Answers a denial, in the place of `message`; headers are set already. */
  readonly handler?: ((
    request: Request,
    response: Response,
    next: NextFunction,
    options: HandlerOptions,
  ) => unknown) | undefined;
  /**
   * The property of the request with the decision, a RateLimitInfo.
   * Default `"rateLimit"`.
   */
  readonly requestPropertyName?: string | undefined;
}

declare global {
  namespace Express {
    interface Request {
      /** The last decision about the request, if there is one. */
      rateLimit?: RateLimitInfo;
    }
  }
}

/** A request after the middleware, for handlers in TypeScript. */
export interface LimitedRequest extends Request {
  rateLimit: RateLimitInfo;
}

/** The middleware. */
export interface RateLimit extends RequestHandler, Controls {}

const EXPRESS: Server<Request, Response> = {
  options: ['handler', 'requestPropertyName'],
  ipOf: (request) => request.ip,
  trustOf(request) {
    const trust: unknown = request.app?.get('trust proxy');
    return {
      headers: request.headers,
      believes: trust !== false && trust !== undefined,
      believesAll: trust === true,
      advice: 'set "trust proxy" to the number of proxies or to their networks',
    };
  },
  requestOf: (request) => request.socket === undefined ? undefined : request,
  responseOf: (_, response) => response,
  whyNoAddress: (request) => 'ip' in request ? undefined
    : 'Express has not made this request: use the middleware for your ' +
      'framework, or limitree/http',
};

/** Whether next(value) calls the next handler, and no error handler. */
function passes(value: unknown): boolean {
  return !value || value === 'route' || value === 'router';
}

/** Whether this is called while a request is being handled. */
function isInHandler(): boolean {
  return /[\\/](express|router)[\\/]lib[\\/]([\w-]+[\\/])?layer\.js/.test(
    new Error().stack ?? '');
}

function checkPlace(options: ExpressOptions): void {
  const { validate, limiter } = options;
  if (limiter !== undefined || validate === false) return;
  if (typeof validate === 'object' && validate.creationStack === false) return;
  if (!isInHandler()) return;
  warnOnce('LIMITREE_CREATED_PER_REQUEST',
    'a rate limit was made while a request was handled: it begins anew with ' +
      'every request, so it limits nobody; make it when the app starts');
}

/**
 * Returns a middleware that passes requests within the limits, and answers all
 * others, by default with 429 and `application/problem+json`.  Every response
 * gets headers.
 *
 * If the store fails, this process decides until it is back.  With
 * `onStoreError: "raise"` a StoreError goes to the app's error handlers, with
 * the `status` 503.  All other errors go there, too, such as a path that the
 * tree does not have.  A request whose client has gone is dropped.
 *
 * Throws ConfigError for unknown options.
 */
export function rateLimit(options: ExpressOptions): RateLimit {
  checkObject(options);
  const { handler } = options;
  const gate = new Gate(
    options, { ...EXPRESS, mayPass: handler !== undefined });
  const { answers } = gate;
  const property = options.requestPropertyName ?? 'rateLimit';
  checkPlace(options);

  /**
   * The `next` for a handler: a request that it does not pass on costs nothing.
   */
  function nextOf(
    response: Response,
    next: NextFunction,
    info: RateLimitInfo,
  ): NextFunction {
    response.once('close', () => {
      if (!info.hasPassed) gate.undoEarlier(info);
    });
    return (value?: unknown) => {
      info.hasPassed ||= passes(value);
      next(value);
    };
  }

  function deny(
    request: Request,
    response: Response,
    next: NextFunction,
    info: RateLimitInfo,
  ): unknown {
    const statusCode = answers.statusOf(info);
    if (handler !== undefined) {
      const message = answers.messageOf(info);
      return handler(request, response, nextOf(response, next, info),
                     { statusCode, message });
    }
    const body = answers.bodyOf(info, request, response);
    return sendSoon(response, statusCode, body);
  }

  function go(
    request: Request,
    response: Response,
    next: NextFunction,
    info: RateLimitInfo | undefined,
  ): unknown {
    if (info === undefined) return next();
    if (response.headersSent) return undefined;
    (request as unknown as Record<string, unknown>)[property] = info;
    writeHeaders(response, answers.headersOf(info), info);
    if (info.decision.limited) return deny(request, response, next, info);
    return next();
  }

  function fail(
    request: Request,
    response: Response,
    next: NextFunction,
    error: unknown,
  ): void {
    if (gate.hasGone(request, response)) response.destroy();
    else next(forFramework(error));
  }

  const middleware = (
    request: Request,
    response: Response,
    next: NextFunction,
  ): void => {
    try {
      const info = gate.decide(request, response);
      const done = info instanceof RateLimitInfo || info === undefined
        ? go(request, response, next, info)
        : info.then((one) => go(request, response, next, one));
      if (!isPromise(done)) return;
      done.then(undefined, (error) => fail(request, response, next, error));
    } catch (error) {
      fail(request, response, next, error);
    }
  };
  return Object.assign(middleware, gate.controls);
}

export default rateLimit;
