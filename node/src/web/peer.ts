// The connection of a request: whether the client is still there, and why the
// client has no address.

import type { IncomingMessage } from 'node:http';

import { clientIp, type IpRequest } from '../address.js';

/** A socket of Node.js; without a connection it has none of these. */
interface Peer {
  readonly destroyed?: boolean;
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
}

function peerOf(request: IpRequest | undefined): Peer | undefined {
  return request?.socket as Peer | undefined;
}

// Whole addresses: the limit knows how many bits are one client.
const peer = clientIp({ ipv6Prefix: 128 });

/** The address at the other end of a connection, if there is one. */
export function ipOfPeer(request: IpRequest | undefined): string | undefined {
  const address = peerOf(request)?.remoteAddress;
  return address === undefined ? undefined : peer.of(address);
}

/** What a server says that believes no proxy. */
export function trustOfNobody(headers: IpRequest['headers']) {
  return { headers, believes: false, believesAll: false,
           advice: 'give clientIp: clientIp({trustedProxies: [...]})' };
}

/** What servers of requests of node:http have in common. */
export const ofIncoming = {
  options: ['handler'],
  ipOf: ipOfPeer,
  trustOf: (request: IncomingMessage) => trustOfNobody(request.headers),
  requestOf: (request: IncomingMessage) =>
    request.socket === undefined ? undefined : request,
};

/** Whether the client has gone, so that nobody waits for an answer. */
export function hasGone(request: IpRequest | undefined): boolean {
  const socket = peerOf(request);
  if (socket === undefined || socket === null) return false;
  if (socket.destroyed === true) return true;
  // Before Node.js reads that a connection was reset, the system no longer
  // knows its other end.  A Unix socket has no address at either end.
  return socket.remoteAddress === undefined &&
    socket.localAddress !== undefined;
}

const TELL = 'where keyGenerator, or clientIp with trustedProxies ' +
  '["unix", ...], can tell clients apart';

/** Why a request has no address, for a message. */
export function whyNoAddress(request: IpRequest | undefined): string {
  const socket = peerOf(request);
  if (socket === undefined || socket === null) {
    return 'there is no connection of Node.js, as in tests without a server, ' +
      'or this is a middleware for another framework';
  }
  if (hasGone(request)) return 'its connection is gone';
  return `it came by a Unix socket, ${TELL}`;
}
