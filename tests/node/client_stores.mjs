// Stores whose commands a client of Redis sends, on a server of their own.

import { after, before } from 'node:test';

import Redis from 'ioredis';
import { createClient } from 'redis';

import { RedisServer } from './servers.mjs';

export const server = new RedisServer();
export let ioredis;
export let nodeRedis;

before(async () => {
  await server.start();
  ioredis = new Redis(server.path);
  nodeRedis = await createClient({ socket: { path: server.path } }).connect();
});
after(async () => {
  ioredis.disconnect();
  nodeRedis.destroy();
  await server.stop();
});

let count = 0;

/** Functions that return the options of an empty store of each kind. */
export const CLIENT_STORES = Object.entries({
  ioredis: () => ({ store: { client: ioredis }, prefix: `${++count}:` }),
  'node-redis': () => ({ store: { client: nodeRedis },
                         prefix: `${++count}:` }),
});
