// The address that a request came from: the key of limits on anonymous callers.
// The core does the walk past proxies, so that a client has the same name in
// every language and framework.

import { invalidArgument } from './errors.js';
import { native } from './native.js';
import { checkNames, shown } from './words.js';

/** What Node's own requests have, and those of Express, Fastify and Koa. */
export interface IpRequest {
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly headers: {
    readonly [name: string]: string | readonly string[] | undefined;
  };
}

export interface ClientIpOptions {
  /**
   * The number of proxies, 0 to 100; safe only if every request passes that
   * many.
   */
  readonly trustedHops?: number | undefined;
  /**
   * The networks of the proxies, such as `"10.0.0.0/8"`, single addresses, and
   * `"unix"` for a server behind a Unix socket.
   */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * The header that they write; default `"x-forwarded-for"`.  `"forwarded"` is
   * read as in RFC 7239, any other as a list of addresses.
   */
  readonly header?: string | undefined;
  /** The number of bits that identify an IPv6 client; default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/**
 * Finds the address that a request came from; made by `clientIp`.
 *
 * Throws `LIMITREE_INVALID_ARGUMENT` if there is none: the peer has no address,
 * such as a Unix socket, and is not trusted or does not name its client.
 */
export interface ClientIp {
  (request: IpRequest): string;
  /**
   * The same for the address of the peer, empty or undefined if it has none,
   * and the header: its value, or the values of all its lines in order.
   */
  of(
    peer: string | undefined,
    lines?: string | readonly string[] | undefined,
  ): string;
  /** The name of the header, in lower case. */
  readonly header: string;
}

function checkNumber(value: unknown, name: string): void {
  if (Number.isInteger(value) && Math.abs(value as number) < 2 ** 31) return;
  throw invalidArgument(`${name} must be a whole number, is ${shown(value)}`);
}

/**
 * Returns a ClientIp that trusts certain proxies, by default none.  The header
 * of an untrusted peer is ignored.
 *
 * Throws ConfigError if a network is not valid, if both kinds of trust are
 * given, or if a number is out of range.
 */
export function clientIp(options: ClientIpOptions = {}): ClientIp {
  checkNames(options, ['trustedHops', 'trustedProxies', 'ipv6Prefix', 'header'],
             '{trustedHops: 1}');
  const { trustedHops = 0, trustedProxies = [], ipv6Prefix = 64 } = options;
  const header = String(options.header ?? 'x-forwarded-for').toLowerCase();
  checkNumber(trustedHops, 'trustedHops');
  checkNumber(ipv6Prefix, 'ipv6Prefix');
  if (!Array.isArray(trustedProxies)) {
    throw invalidArgument('trustedProxies must be an array of networks, is ' +
      shown(trustedProxies));
  }
  const client = native.proxies(header === 'forwarded', trustedHops,
                                trustedProxies, ipv6Prefix);
  const believes = trustedHops > 0 || trustedProxies.length > 0;
  const of: ClientIp['of'] = (peer, lines) => {
    if (lines === undefined || !believes) return client(peer ?? '');
    if (typeof lines === 'string') return client(peer ?? '', lines);
    return client(peer ?? '', ...lines);
  };
  const ofRequest = (request: IpRequest): string =>
    of(request.socket.remoteAddress,
       believes ? request.headers[header] : undefined);
  return Object.assign(ofRequest, { of, header });
}

/**
 * Returns an IP address in its canonical form, that of RFC 5952.
 *
 * Accepts a port, brackets, a zone, and IPv4 written as IPv6.  Keeps the first
 * `ipv6Prefix` bits (1 to 128) of an IPv6 address.  Throws
 * `LIMITREE_INVALID_ARGUMENT` for anything else, ConfigError for a prefix out
 * of range.
 */
export function canonicalIp(address: string, ipv6Prefix = 128): string {
  checkNumber(ipv6Prefix, 'ipv6Prefix');
  if (typeof address !== 'string') {
    throw invalidArgument(`address must be a string, is ${shown(address)}`);
  }
  return native.canonicalIp(address, ipv6Prefix);
}
