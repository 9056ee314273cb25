// Which address a request came from: the key of limits on callers that have not
// said who they are.  The walk past proxies is the core's own, so that every
// language and framework gives one client one name.

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
   * How many proxies are passed, 0 to 100: right only if every request passes
   * that many of them.
   */
  readonly trustedHops?: number | undefined;
  /**
   * The networks that proxies are in, such as `"10.0.0.0/8"`, single addresses,
   * and `"unix"` for a server behind a Unix socket.
   */
  readonly trustedProxies?: readonly string[] | undefined;
  /**
   * The header that they write; default `"x-forwarded-for"`.  `"forwarded"` is
   * read as RFC 7239 has it, any other as a list of addresses.
   */
  readonly header?: string | undefined;
  /** Clients with IPv6 are told apart by the first bits; default 64. */
  readonly ipv6Prefix?: number | undefined;
}

/**
 * Says which address a request came from; made by `clientIp`.
 *
 * Throws `LIMITREE_INVALID_ARGUMENT` where there is none: a peer without an
 * address, such as a Unix socket, that is not trusted or does not say who is
 * behind it.
 */
export interface ClientIp {
  (request: IpRequest): string;
  /**
   * The same of the peer's address, empty or undefined if it has none, and of
   * the header: its value, or those of all its lines in order.
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
 * Returns what says which address a request came from, believing certain
 * proxies, and by default none: what an untrusted peer writes into the header
 * is ignored.
 *
 * Throws ConfigError for what is no network, both kinds of trust at once, or
 * numbers out of range.
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
 * Returns an IP address in its one canonical form, that of RFC 5952.
 *
 * Understands a port, brackets, a zone, and IPv4 written as IPv6.  Of an IPv6
 * address the first `ipv6Prefix` bits (1 to 128) are kept.  Throws
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
