// The server of a client of ioredis or node-redis.  limitree has connections of
// its own.

import { ConfigError } from '../errors.js';

/** What is read of a client. */
export interface StoreClient {
  readonly options?: object | undefined;
  readonly isCluster?: boolean | undefined;
}

interface ClientOptions {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
  readonly username?: unknown;
  readonly password?: unknown;
  readonly db?: unknown;
  readonly database?: unknown;
  readonly tls?: unknown;
  readonly url?: unknown;
  readonly sentinels?: unknown;
  readonly socket?: ClientOptions | undefined;
}

function encoded(value: unknown): string {
  return value === undefined || value === null ? ''
    : encodeURIComponent(String(value));
}

/** The URL of the server of a client; `name` is that of the option. */
export function urlOf(
  client: StoreClient | null | undefined,
  name = 'storeClient',
): string {
  const refuse = (why: string): never => {
    throw new ConfigError([`${name} ${why}: give the URL of the server as ` +
      'store: "redis://..."']);
  };
  if (client === undefined || client === null) return refuse('is not set');
  const { options, isCluster } = client as StoreClient & {
    readonly options?: ClientOptions };
  if (isCluster === true) refuse('is a client of a cluster');
  if (typeof options !== 'object' || options === null) {
    return refuse('does not tell its server');
  }
  if (options.sentinels !== undefined && options.sentinels !== null) {
    refuse('has sentinels');
  }
  const socket = options.socket ?? options;
  // node-redis adds to its other options what the URL says.
  if (typeof options.url === 'string' && socket === options) return options.url;
  const { host = '127.0.0.1', port = 6379, path } = socket;
  const user = encoded(options.username);
  const password = encoded(options.password);
  const auth = password === '' ? '' : `${user}:${password}@`;
  const db = encoded(options.db ?? options.database ?? 0);
  if (typeof path === 'string' && path !== '') {
    return `redis+unix://${auth}${path}${db === '0' ? '' : `?db=${db}`}`;
  }
  const address =
    String(host).includes(':') ? `[${String(host)}]` : String(host);
  const scheme = socket.tls ? 'rediss' : 'redis';
  return `${scheme}://${auth}${address}:${String(port)}/${db}`;
}
