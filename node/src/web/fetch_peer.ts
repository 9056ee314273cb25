// The connection of a Request, which does not know it: runtimes pass it beside
// the request.

import type { IpRequest } from '../address.js';
import type { Answer } from './ending.js';

/** What runtimes pass to a handler, of which one or none is there. */
interface Beside {
  /** @hono/node-server. */
  readonly incoming?: IpRequest;
  readonly outgoing?: Answer;
  /** Deno.serve. */
  readonly remoteAddr?: { readonly hostname?: string };
  /** Bun.serve. */
  requestIP?(request: Request): { readonly address: string } | null;
  /** Others that pass the server of Bun on. */
  readonly server?: unknown;
}

function besideOf(where: unknown): Beside {
  return typeof where === 'object' && where !== null ? where : {};
}

/** The address of the client; undefined if the runtime does not tell. */
function addressOf(request: Request, where: unknown): string | undefined {
  const { remoteAddr, server } = besideOf(where);
  if (typeof remoteAddr?.hostname === 'string') return remoteAddr.hostname;
  for (const one of [where, server].map(besideOf)) {
    if (typeof one.requestIP === 'function') {
      return one.requestIP(request)?.address;
    }
  }
  return undefined;
}

/** The request of Node.js that @hono/node-server has, with its response. */
export const nodeOf:
  (where: unknown) => Pick<Beside, 'incoming' | 'outgoing'> = besideOf;

/** A request with its connection, as far as `where` tells it. */
export function connectionOf(request: Request, where: unknown): IpRequest {
  const { incoming } = nodeOf(where);
  if (incoming !== undefined) return incoming;
  return { socket: { remoteAddress: addressOf(request, where) },
           get headers() { return Object.fromEntries(request.headers); } };
}
