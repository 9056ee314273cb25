// The connection of a request: whether the client is still there, and why the
// client has no address.

import type { IpRequest } from '../address.js';

/** A socket of Node.js; nothing of it where there is no connection. */
interface Peer {
  readonly destroyed?: boolean;
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
}

function peerOf(request: IpRequest | undefined): Peer | undefined {
  return request?.socket as Peer | undefined;
}

/** Whether the client has gone, so that nobody waits for an answer. */
export function hasGone(request: IpRequest | undefined): boolean {
  const peer = peerOf(request);
  if (peer === undefined || peer === null) return false;
  if (peer.destroyed === true) return true;
  // Before Node.js reads that a connection was reset, the system no longer
  // knows its other end.  A Unix socket has no address at either end.
  return peer.remoteAddress === undefined && peer.localAddress !== undefined;
}

const TELL = 'where keyGenerator, or clientIp with trustedProxies ' +
  '["unix", ...], can tell clients apart';

/** Why a request has no address, for a message. */
export function whyNoAddress(request: IpRequest | undefined): string {
  const peer = peerOf(request);
  if (peer === undefined || peer === null) {
    return 'there is no connection of Node.js, as in tests without a server, ' +
      'or this is a middleware for another framework';
  }
  if (hasGone(request)) return 'its connection is gone';
  return `it came by a Unix socket, ${TELL}`;
}
