/**
 * Limits for WebSockets of the package `ws`: connections, and each message.
 *
 *     import { isRefused, limitMessages, rateLimit } from 'limitree/ws';
 *     const connections = rateLimit({ limit: 10, windowMs: 60_000 });
 *     const messages = limitMessages({ limit: 20, windowMs: 1000 });
 *     server.on('upgrade', async (request, socket, head) => {
 *       if (await isRefused(connections, request, socket)) return;
 *       sockets.handleUpgrade(request, socket, head, (ws) => {
 *         messages(ws, request, (data) => ws.send(`you said ${data}`));
 *       });
 *     });
 */

import type { IncomingMessage } from 'node:http';

import { LimitreeError, StoreError } from './errors.js';
import { isOpen } from './reservation.js';
import { textOf } from './words.js';
import { Gate, type Controls } from './web/gate.js';
import { startOver, type RateLimitInfo } from './web/info.js';
import { isPromise, type Maybe } from './web/maybe.js';
import { checkObject, type WebOptions } from './web/options.js';
import { ofIncoming } from './web/peer.js';
import { refuse } from './web/refuse.js';
import type { Server } from './web/subject.js';
import { warnSeldom } from './web/warnings.js';

export { canonicalIp, clientIp } from './address.js';
export { isRefused, rateLimit } from './http.js';
export type { HttpOptions, RateLimit } from './http.js';
export type { WebOptions } from './web/options.js';
export { RateLimitInfo } from './web/info.js';

/** A WebSocket of the package `ws`, as far as it is used. */
export interface Socket {
  on(event: 'message', listener: (data: any, isBinary: boolean) => void):
    unknown;
  on(event: 'error', listener: (error: any) => void): unknown;
  close(code: number, reason: string): void;
  /** Since ws 8.3. */
  pause?(): void;
  resume?(): void;
}

type Words = 'message' | 'statusCode' | 'standardHeaders' | 'legacyHeaders' |
  'headerNames';

/** Functions among the options get the request of the upgrade. */
export interface MessageOptions<S extends Socket = Socket>
  extends Omit<WebOptions<IncomingMessage, S>, Words> {
  /**
   * Answers a denied message, which is dropped.  Default: the connection is
   * closed with 1008.
   */
  readonly handler?: ((
    request: IncomingMessage, socket: S, info: RateLimitInfo) => unknown) |
    undefined;
}

/** Called with each message that is allowed, in the order they came. */
export type OnMessage = (data: any, isBinary: boolean) => unknown;

/** Limits the messages of one WebSocket. */
export interface MessageLimit<S extends Socket = Socket> extends Controls {
  (socket: S, request: IncomingMessage, onMessage: OnMessage): void;
}

const WS: Server<IncomingMessage, Socket> =
  { ...ofIncoming, responseOf: () => undefined };

const NOT_FOR_MESSAGES: readonly string[] = [
  'message', 'statusCode', 'standardHeaders', 'legacyHeaders', 'headerNames'];

/** The reason of a close frame; it has room for 123 bytes. */
function reasonOf({ decision }: RateLimitInfo): string {
  const seconds = Math.max(1, Math.ceil(decision.retryAfterMs / 1000));
  return Number.isFinite(seconds)
    ? `too many messages, try again in ${seconds} s` : 'too many messages';
}

/** Codes of RFC 6455 and its registry. */
const POLICY_VIOLATION = 1008;
const INTERNAL_ERROR = 1011;
const TRY_AGAIN_LATER = 1013;

/**
 * Returns a function that limits the messages of WebSockets, by default those
 * of each client.  A denied message costs nothing, and closes its connection
 * unless there is a `handler`.
 *
 * While a decision is under way, which takes a store on another machine, the
 * connection is not read.  With `reserve`, a message holds what it costs until
 * what `onMessage` returns has resolved.
 *
 * No error leaves here, because nobody could catch it: if the store fails and
 * `onStoreError` is `"raise"`, the connection is closed with 1013; after all
 * other errors, also those of `onMessage`, it is closed with 1011, and the
 * error is logged.  A client that breaks the protocol ends its connection only.
 *
 * Throws ConfigError for unknown options.
 */
export function limitMessages<S extends Socket = Socket>(
  options: MessageOptions<S>,
): MessageLimit<S> {
  checkObject(options);
  for (const name of NOT_FOR_MESSAGES) {
    if ((options as Record<string, unknown>)[name] === undefined) continue;
    refuse(`${name} is for responses: messages have none; say handler`);
  }
  // Each message of a connection has the same request.
  const { validate = true, handler, logger } = options ?? {};
  const checks = validate === false ? false
    : { ...validate === true ? {} : validate, singleCount: false };
  const gate = new Gate<IncomingMessage, S>(
    { ...options, validate: checks }, WS as Server<IncomingMessage, S>);

  function limit(
    socket: S,
    request: IncomingMessage,
    onMessage: OnMessage,
  ): void {
    startOver(request);  // a denied message gives back no connection
    let isOver = false;
    let last: Promise<void> | undefined;  // if one is being decided

    function close(code: number, reason: string): void {
      isOver = true;
      socket.close(code, reason);
    }

    function fail(error: unknown): void {
      if (error instanceof LimitreeError &&
          error.code === 'LIMITREE_CANCELLED' &&
          gate.hasGone(request, socket)) {
        isOver = true;
        return;
      }
      if (error instanceof StoreError) {
        close(TRY_AGAIN_LATER, 'try again later');
        return;
      }
      close(INTERNAL_ERROR, 'internal error');
      warnSeldom('LIMITREE_REQUEST_FAILED',
                 `a message failed: ${textOf(error)}`, logger);
    }

    /** Runs `onMessage`, and then settles what the message costs. */
    async function run(
      info: RateLimitInfo | undefined,
      data: unknown,
      isBinary: boolean,
    ): Promise<void> {
      let status = 200;
      try {
        await onMessage(data, isBinary);
      } catch (error) {
        status = 500;
        fail(error);
      }
      if (info === undefined) return;
      const { reservation } = info;
      if (reservation && !isOpen(reservation)) return;
      await gate.afterwards.end(info, request, socket, true, {
        statusCode: status, headersSent: true, getHeader: () => undefined });
    }

    async function deny(info: RateLimitInfo): Promise<void> {
      if (handler === undefined) close(POLICY_VIOLATION, reasonOf(info));
      else await handler(request, socket, info);
    }

    function go(
      info: RateLimitInfo | undefined,
      data: unknown,
      isBinary: boolean,
    ): void {
      if (isOver) return;
      if (info?.decision.limited) deny(info).catch(fail);
      else void run(info, data, isBinary);
    }

    function decide(data: unknown, isBinary: boolean): Maybe<void> {
      if (isOver) return undefined;
      try {
        const info = gate.decide(request, socket);
        if (!isPromise(info)) return go(info, data, isBinary);
        return info.then((one) => go(one, data, isBinary), fail);
      } catch (error) {
        return fail(error);
      }
    }

    /** Those that have been read already wait for this one. */
    function wait(done: Promise<void>): void {
      socket.pause?.();
      const mine = last = done.then(() => {
        if (last !== mine) return;
        last = undefined;
        socket.resume?.();
      });
    }

    // Of a client that breaks the protocol: ws closes its connection, but an
    // error without a listener would end the process.
    socket.on('error', () => undefined);
    socket.on('message', (data, isBinary) => {
      if (last !== undefined) {
        wait(last.then(() => decide(data, isBinary)));
        return;
      }
      const done = decide(data, isBinary);
      if (isPromise(done as Maybe<unknown>)) wait(done as Promise<void>);
    });
  }
  return Object.assign(limit, gate.controls);
}

export default limitMessages;
