// Limits before handlers that take a Request and return a Response.

import type { Cost } from './cost.js';
import { StoreError } from './errors.js';
import { isOpen } from './reservation.js';
import { UNAVAILABLE } from './web/answer.js';
import {
  answerOf, toNobody, toResponse, watched, withHeaders,
} from './web/fetch_body.js';
import { connectionOf } from './web/fetch_peer.js';
import { Gate, type Controls } from './web/gate.js';
import type { RateLimitInfo } from './web/info.js';
import type { Maybe } from './web/maybe.js';
import type { WebOptions } from './web/options.js';
import { ipOfPeer, trustOfNobody } from './web/peer.js';
import type { Server } from './web/subject.js';

/**
 * Functions among the options get the request, and what the runtime passes
 * beside it, `B`: the server of Bun, the info of Deno, the context of Next.js.
 */
export interface FetchOptions<B = unknown>
  extends Omit<WebOptions<Request, B>, 'settle' | 'requestWasSuccessful'> {
  /** As in WebOptions, with the response. */
  readonly settle?: ((
    request: Request, response: Response) => Maybe<Cost | undefined>) |
    undefined;
  /** Whether a request succeeded; default: its status is below 400. */
  readonly requestWasSuccessful?:
    ((request: Request, response: Response) => Maybe<boolean>) | undefined;
  /** Answers a denial, in the place of `message`; headers are added to it. */
  readonly handler?: ((
    request: Request, info: RateLimitInfo) => Maybe<Response>) | undefined;
}

/**
 * Resolves to the answer if the request was limited, and to undefined if it may
 * go on.
 *
 * If the store fails and `onStoreError` is `"raise"`, the answer is 503.
 * Rejects with all other errors, such as a path that the tree does not have;
 * runtimes then answer 500.
 */
export interface RateLimit<B = unknown> extends Controls {
  (request: Request, where?: B): Promise<Response | undefined>;
  /** Adds the headers to the response to an allowed request, and settles it. */
  finish(request: Request, response: Response): Promise<Response>;
  /** A handler that is limited: both of the above, and a handler between. */
  wrap<R extends Request, M extends readonly unknown[]>(
    handler: (request: R, ...more: M) => Maybe<Response>,
  ): (request: R, ...more: M) => Promise<Response>;
  /** The decision about a request; undefined if there is none. */
  infoOf(request: Request): RateLimitInfo | undefined;
}

/** What a handler that has thrown is taken for. */
const FAILED = 500;

/** What runtimes have passed beside requests that are being handled. */
class Places<B> implements Server<Request, B> {
  readonly options = ['handler'];
  readonly #where = new WeakMap<Request, B>();

  keep(request: Request, where: B): void {
    if (where !== undefined) this.#where.set(request, where);
  }

  ipOf(request: Request): string | undefined {
    return ipOfPeer(this.requestOf(request));
  }

  trustOf(request: Request) {
    return trustOfNobody(this.requestOf(request).headers);
  }

  requestOf(request: Request) {
    return connectionOf(request, this.#where.get(request));
  }

  /** There is none yet; but the client may have gone. */
  responseOf(): undefined {}

  signalOf({ signal }: Request): AbortSignal | undefined {
    return signal;
  }

  whyNoAddress(request: Request): string | undefined {
    if (this.requestOf(request).socket.remoteAddress !== undefined) {
      return undefined;
    }
    return 'a Request does not tell it: pass the server of Bun, or the info ' +
      'of Deno, as the second argument, or give clientIp or keyGenerator';
  }
}

/**
 * Returns a function that decides about requests.
 *
 * Throws ConfigError for unknown options.
 */
export function rateLimit<B = unknown>(
  given: FetchOptions<B>,
): RateLimit<B> {
  const places = new Places<B>();
  const options = given as WebOptions<Request, B> & FetchOptions<B>;
  const gate = new Gate<Request, B>(options, places);
  const { answers } = gate;
  const infos = new WeakMap<Request, RateLimitInfo>();
  const { handler } = given;

  async function deny(
    request: Request,
    where: B,
    info: RateLimitInfo,
  ): Promise<Response> {
    const response = handler !== undefined ? await handler(request, info)
      : toResponse(await answers.bodyOf(info, request, where),
                   answers.statusOf(info));
    return withHeaders(response, answers.headersOf(info));
  }

  const limited = async (
    request: Request,
    where?: B,
  ): Promise<Response | undefined> => {
    places.keep(request, where as B);
    try {
      const info = await gate.decide(request, where as B);
      if (info === undefined) return undefined;
      infos.set(request, info);
      return info.decision.limited ? await deny(request, where as B, info)
        : undefined;
    } catch (error) {
      if (gate.hasGone(request, where as B)) return toNobody();
      if (!(error instanceof StoreError)) throw error;
      const answer = toResponse(UNAVAILABLE, 503);
      return withHeaders(answer, { 'Retry-After': '1' });
    }
  };

  /**
   * Settles what a request costs, or does so when its body has ended.  The
   * headers know what is given back before.
   */
  async function finish(
    request: Request,
    response: Response,
  ): Promise<Response> {
    const info = infos.get(request);
    if (info === undefined || info.decision.limited) return response;
    // `settle` and `requestWasSuccessful` get the response.
    const end = (wasSent: boolean) => gate.afterwards.end(
      info, request, response as never, wasSent, answerOf(response));
    const { reservation } = info;
    if (reservation && isOpen(reservation)) {
      return withHeaders(watched(response, (wasSent) => void end(wasSent)),
                         answers.headersOf(info));
    }
    await end(true);
    if (info.isGivenBack) info.after ??= gate.again(info);
    return withHeaders(response, answers.headersOf(info));
  }

  const wrap: RateLimit<B>['wrap'] = (serve) => async (request, ...more) => {
    const denial = await limited(request, more[0] as B);
    if (denial !== undefined) return denial;
    let response;
    try {
      response = await serve(request, ...more);
    } catch (error) {
      await finish(request, new Response(null, { status: FAILED }));
      throw error;
    }
    try {
      return await finish(request, response);
    } catch (error) {  // it is no response, or its body is taken
      const info = infos.get(request);
      if (info?.reservation !== undefined) await gate.giveBack(info);
      throw error;
    }
  };
  const infoOf = (request: Request) => infos.get(request);
  return Object.assign(limited, gate.controls, { finish, wrap, infoOf });
}
