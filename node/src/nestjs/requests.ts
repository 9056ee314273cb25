// Requests and responses of NestJS, whatever its platform and its transport.

import type { IpRequest } from '../address.js';
import type { Answer } from '../web/ending.js';
import { ipOfPeer } from '../web/peer.js';
import type { Server } from '../web/subject.js';

/** A request of Express or Fastify, or a client of ws or socket.io. */
export interface NestRequest {
  readonly ip?: string;
  /** Of Fastify, if it trusts proxies. */
  readonly ips?: unknown;
  /** Of Fastify. */
  readonly raw?: object;
  readonly socket?: IpRequest['socket'];
  readonly headers?: IpRequest['headers'];
  /** Of Express. */
  readonly app?: { get?(name: string): unknown };
  /** Of ws. */
  readonly _socket?: IpRequest['socket'];
  /** Of socket.io, the request of the upgrade. */
  readonly request?: Partial<IpRequest>;
}

/** A response of Express, or a reply of Fastify. */
export type NestResponse = (Answer & { readonly raw?: undefined }) |
  { readonly raw: Answer; header(name: string, value: string): unknown } |
  undefined;

function requestOf(request: NestRequest): IpRequest | undefined {
  const { socket, headers, _socket, request: upgrade } = request ?? {};
  if (socket !== undefined && headers !== undefined) {
    return request as IpRequest;
  }
  if (upgrade?.socket !== undefined) return upgrade as IpRequest;
  return _socket === undefined || _socket === null ? undefined
    : { socket: _socket, headers: {} };
}

/** What the platform was told about proxies. */
function trustOf(request: NestRequest) {
  const trust = request.app?.get?.('trust proxy');
  return {
    headers: requestOf(request)?.headers ?? {},
    believes: request.ips !== undefined && request.raw !== undefined ||
      (trust !== undefined && trust !== false),
    believesAll: trust === true,
    advice: 'set "trust proxy" of Express, or trustProxy of Fastify, to the ' +
      'networks of your proxies' };
}

/** The response of Node.js. */
export function answerOf(response: NestResponse): Answer | undefined {
  const answer = response?.raw ?? response;
  return typeof (answer as Partial<Answer> | undefined)?.getHeader ===
    'function' ? answer as Answer : undefined;
}

/** How a gate sees NestJS. */
export const NEST: Server<NestRequest, NestResponse> = {
  options: ['handler', 'perRoute', 'ttl'],
  ipOf: (request) => typeof request.ip === 'string' ? request.ip
    : ipOfPeer(requestOf(request)),
  trustOf,
  requestOf,
  responseOf: (_, response) => answerOf(response),
  whyNoAddress: (request) => requestOf(request) !== undefined ? undefined
    : 'the guard has found no connection in what it took for the request: ' +
      'override its getRequestResponse, or give keyGenerator',
};
