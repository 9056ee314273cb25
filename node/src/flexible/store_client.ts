// The server of a client of ioredis or node-redis.  limitree has connections of
// its own, which are faster, where a URL says how to reach it.

import { wayOf } from '../client.js';
import type { ClientStore, RedisClient } from '../stores.js';
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
  readonly credentialsProvider?: unknown;
  readonly socket?: ClientOptions | undefined;
}

function encoded(value: unknown): string {
  return value === undefined || value === null ? ''
    : encodeURIComponent(String(value));
}

/** What node-redis has beside `tls: true` that is not about certificates. */
const OF_SOCKET = ['host', 'port', 'path', 'tls', 'family', 'connectTimeout',
  'socketTimeout', 'keepAlive', 'keepAliveInitialDelay', 'noDelay',
  'reconnectStrategy'];

/** Whether there is more to know of its server than a URL says. */
function isPlain(options: ClientOptions): boolean {
  const { tls, socket = {} } = options;
  const { tls: other = tls } = socket;
  const hasWays = typeof other === 'object' && other !== null
    ? Object.keys(other).length > 0
    : Boolean(other) &&
      Object.keys(socket).some((name) => !OF_SOCKET.includes(name));
  // node-redis makes a provider of a user and a password itself.
  const { username, password, credentialsProvider, sentinels } = options;
  const logsIn = credentialsProvider == null || username != null ||
    password != null;
  return !hasWays && sentinels == null && logsIn;
}

/**
 * The server of a client, as a URL; for others than a plain server, or where
 * the client does not tell it, the client itself.  `name` is that of the
 * option.
 */
export function storeOf(
  client: StoreClient | null | undefined,
  name = 'storeClient',
): string | ClientStore {
  if (client === undefined || client === null) {
    throw new ConfigError([`${name} is not set: give a client of ioredis or ` +
      'node-redis, or the URL of the server as store: "redis://..."']);
  }
  const { options, isCluster } = client as {
    readonly options?: ClientOptions; readonly isCluster?: boolean };
  if (typeof options !== 'object' || options === null || isCluster === true ||
      !isPlain(options)) {
    wayOf(client, name);
    return { client: client as RedisClient };
  }
  return urlOf(options);
}

function urlOf(options: ClientOptions): string {
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
