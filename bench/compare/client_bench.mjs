// Decisions through clients of Node.js, beside those of a URL.
//
// On one private server, in turns.  Prints microseconds of each decision, the
// median of the rounds: one at a time, and 64 at a time.
//
// Usage: node bench/compare/client_bench.mjs [rounds] [seconds]  (5, 1)

import { loadavg } from 'node:os';

import { Redis } from 'ioredis';
import { Limiter } from 'limitree';
import { createClient } from 'redis';

import { RedisServer } from '../../tests/node/servers.mjs';

const [rounds = 5, seconds = 1] = process.argv.slice(2).map(Number);
const limits = { schema: { user: { children: { '*': {
  limits: '1000000 per 1m' } } } } };
const server = await new RedisServer().start();
const ioredis = new Redis(server.path);
const nodeRedis =
  await createClient({ socket: { path: server.path } }).connect();
const stores = { URL: server.url, ioredis: { client: ioredis },
                 'node-redis': { client: nodeRedis } };

async function measure(store, callers) {
  const limiter = new Limiter({ limits, store, timeout: '5s' });
  await limiter.authorize(['user', '0']);
  let count = 0;
  const begin = performance.now();
  await Promise.all(Array.from({ length: callers }, async () => {
    while (performance.now() - begin < seconds * 1000) {
      await limiter.authorize(['user', String(count++ % 1000)]);
    }
  }));
  const ms = performance.now() - begin;
  await limiter.close();
  return ms / count * 1000;
}

const found = new Map();
for (let i = 0; i < rounds; ++i) {
  for (const callers of [1, 64]) {
    for (const [kind, store] of Object.entries(stores)) {
      const name = `${callers} at a time, ${kind}`;
      found.set(name, [...found.get(name) ?? [],
                       await measure(store, callers)]);
    }
  }
}
for (const [name, times] of found) {
  const median = times.sort((a, b) => a - b)[times.length >> 1];
  console.log(name.padEnd(26), median.toFixed(1).padStart(7), 'us');
}
console.log('load', ...loadavg().map((load) => load.toFixed(2)));
ioredis.disconnect();
nodeRedis.destroy();
await server.stop();
