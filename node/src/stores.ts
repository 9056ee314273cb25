// What a program names as its store: a URL, or a client of its own.

/** A client of ioredis, also of a cluster. */
export interface IoredisClient {
  readonly call: (...args: never[]) => Promise<unknown>;
  readonly isCluster?: boolean;
}

/** A client, pool, cluster or sentinel of node-redis. */
export interface NodeRedisClient {
  readonly sendCommand: (...args: never[]) => Promise<unknown>;
}

/** A client that sends the commands of the store. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** A store that a client of the program asks. */
export interface ClientStore {
  readonly client: RedisClient;
}

/** The URL of a store, or a client. */
export type StoreName = string | ClientStore;

/** Whether each process keeps the buckets for itself. */
export function isMemory(store: StoreName | undefined): boolean {
  return store === undefined ||
    (typeof store === 'string' && store.startsWith('memory:'));
}

/** The URL of a store without what may be secret. */
export function shownStore(store: StoreName | undefined): string {
  if (!store) return 'memory://';
  if (typeof store === 'object') {
    return `a client, ${store.client.constructor.name}`;
  }
  const scheme = /^[^:/?@]*:\/\//.exec(store)?.[0] ?? '';
  const at = scheme === 'shm://' ? 0 : store.lastIndexOf('@') + 1;
  const rest = store.slice(Math.max(at, scheme.length));
  return scheme + rest.replace(/\?.*$/s, '');
}
