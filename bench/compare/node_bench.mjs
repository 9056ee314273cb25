// limitree from Node.js beside rate-limiter-flexible and express-rate-limit, in
// memory and with a private redis-server.
//
//     ./dev bench, or
//     node --expose-gc bench/compare/node_bench.mjs <folder of the peers>
//
// limitree decides two levels, or one where a row says so; the peers count in
// one window.  Each measurement has its own process, except for one caller,
// where all take turns in one process.  Times are lower quartiles, because the
// machine may be shared.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Limiter } from 'limitree';

const peers = resolve(process.argv[2] ?? '.');
const require = createRequire(join(peers, 'package.json'));

// No request is denied, and a charged bucket is not full again for a minute: a
// full bucket would take no memory.
const MOST = 10_000_000;
const LIMIT = { burst: MOST, count: 1, period: '1m' };
const LIMITS = {
  schema: {
    user: { children: { '*': {
      limits: LIMIT, children: { trade: { limits: LIMIT } } } } },
    one: { children: { '*': { limits: LIMIT } } },
  },
};

function memoryLimiter() {
  return new Limiter({ limits: LIMITS, maxBuckets: 4_000_000 });
}

function flexible() {
  const { RateLimiterMemory } = require('rate-limiter-flexible');
  return new RateLimiterMemory({ points: MOST, duration: 3600 });
}

function express() {
  const { MemoryStore } = require('express-rate-limit');
  const store = new MemoryStore();
  store.init({ windowMs: 3_600_000 });
  return store;
}

function quartile(numbers, part = 0.25) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)];
}

const now = () => Number(process.hrtime.bigint());

// ---- One caller -------------------------------------------------------------

async function measureHot() {
  const limiter = memoryLimiter();
  const [rlf, erl] = [flexible(), express()];
  const levels = { levels: true };
  const calls = 4000;
  let sum = 0;
  const cases = {
    'authorizeSync, 1 level': () => {
      for (let i = 0; i < calls; ++i) {
        sum += limiter.authorizeSync(['one', 'alex']).remaining;
      }
    },
    'authorizeSync, 1 level, a number': () => {
      for (let i = 0; i < calls; ++i) {
        sum += limiter.authorizeSync(['one', 4711]).remaining;
      }
    },
    'authorizeSync, 2 levels': () => {
      for (let i = 0; i < calls; ++i) {
        sum += limiter.authorizeSync(['user', 'alex', 'trade']).remaining;
      }
    },
    'authorizeSync, 2 levels, IETF headers': () => {
      for (let i = 0; i < calls; ++i) {
        sum += limiter.authorizeSync(['user', 'alex', 'trade'], levels)
          .headers().RateLimit.length;
      }
    },
    'await authorize, 1 level': async () => {
      for (let i = 0; i < calls; ++i) {
        sum += (await limiter.authorize(['one', 'alex'])).remaining;
      }
    },
    'await authorize, 2 levels': async () => {
      for (let i = 0; i < calls; ++i) {
        sum += (await limiter.authorize(['user', 'alex', 'trade'])).remaining;
      }
    },
    'await authorizeActionForUser, 2 levels': async () => {
      for (let i = 0; i < calls; ++i) {
        sum += await limiter.authorizeActionForUser('alex', 'trade') ? 1 : 0;
      }
    },
    'await rate-limiter-flexible consume': async () => {
      for (let i = 0; i < calls; ++i) {
        sum += (await rlf.consume('alex')).remainingPoints;
      }
    },
    'await express-rate-limit increment': async () => {
      for (let i = 0; i < calls; ++i) {
        sum += (await erl.increment('alex')).totalHits;
      }
    },
  };
  const times = {};
  for (let round = 0; round < 150; ++round) {
    for (const [name, run] of Object.entries(cases)) {
      const start = now();
      await run();
      if (round >= 20) (times[name] ??= []).push((now() - start) / calls);
    }
  }
  const found = {};
  for (const name in times) found[name] = quartile(times[name]);
  return { ...found, sum };
}

// ---- A million callers ------------------------------------------------------

const MANY = {
  limitree: () => {
    const limiter = memoryLimiter();
    return (name) => limiter.authorizeSync(['one', name]);
  },
  'limitree, 2 levels': () => {
    const limiter = memoryLimiter();
    return (name) => limiter.authorizeSync(['user', name, 'trade']);
  },
  'limitree, await': () => {
    const limiter = memoryLimiter();
    return (name) => limiter.authorize(['one', name]);
  },
  'rate-limiter-flexible': () => {
    const limiter = flexible();
    return (name) => limiter.consume(name);
  },
  'express-rate-limit': () => {
    const store = express();
    return (name) => store.increment(name);
  },
};

async function measureMany(peer) {
  const callers = 1_000_000;
  const names = Array.from({ length: callers }, (_, i) => `user-${i}`);
  const memory = () => {
    globalThis.gc();
    const { heapUsed, rss } = process.memoryUsage();
    return { heap: heapUsed, rss };
  };
  // V8 keeps about 15 MB for young objects once there have been many.
  const young = new Array(100);
  for (let i = 0; i < 10_000_000; ++i) young[i % 100] = { i };
  const before = memory();
  const call = MANY[peer]();
  const isSync = !(call(names[0]) instanceof Promise);
  for (let i = 0; i < callers; ++i) {
    if (isSync) call(names[i]);
    else await call(names[i]);
  }
  const after = memory();
  const times = [];
  let at = 0;  // in an order that no cache predicts
  for (let slice = 0; slice < 100; ++slice) {
    const start = now();
    for (let i = 0; i < 10_000; ++i) {
      at = (at + 7919 * 131) % callers;
      if (isSync) call(names[at]);
      else await call(names[at]);
    }
    times.push((now() - start) / 10_000);
  }
  process.stdout.write(JSON.stringify({
    ns: quartile(times), heap: (after.heap - before.heap) / callers,
    rss: (after.rss - before.rss) / callers }));
  process.exit(0);
}

// ---- Redis ------------------------------------------------------------------

const REDIS = {
  limitree: (socket) => {
    const limiter = new Limiter({
      limits: LIMITS, store: `redis+unix://${socket}`, timeout: '10s' });
    return (name) => limiter.authorize(['user', name, 'trade']);
  },
  'limitree, 1 level': (socket) => {
    const limiter = new Limiter({
      limits: LIMITS, store: `redis+unix://${socket}`, timeout: '10s' });
    return (name) => limiter.authorize(['one', name]);
  },
  'rate-limiter-flexible + ioredis': (socket) => {
    const Redis = require('ioredis');
    const { RateLimiterRedis } = require('rate-limiter-flexible');
    const limiter = new RateLimiterRedis({
      storeClient: new Redis(socket), points: MOST, duration: 3600 });
    return (name) => limiter.consume(name);
  },
};

async function measureRedis(peer, inFlight, socket) {
  const call = REDIS[peer](socket);
  const names = Array.from({ length: 5000 }, (_, i) => `u${i}`);
  let next = 0;
  const latencies = [];
  const run = async (until) => {
    for (let start = performance.now(); start < until;) {
      await call(names[next = (next + 1) % names.length]);
      const end = performance.now();
      latencies.push(end - start);
      start = end;
    }
  };
  const load = async (ms) => {
    const until = performance.now() + ms;
    await Promise.all(Array.from({ length: inFlight }, () => run(until)));
  };
  await load(1000);
  latencies.length = 0;
  const cpu = process.cpuUsage();
  const start = now();
  await load(2000);
  const { user, system } = process.cpuUsage(cpu);
  const count = latencies.length;
  process.stdout.write(JSON.stringify({
    rate: count / ((now() - start) / 1e9), p50: quartile(latencies, 0.5) * 1e3,
    p99: quartile(latencies, 0.99) * 1e3, cpu: (user + system) / count }));
  process.exit(0);
}

async function withRedis(action) {
  const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  const socket = join(folder, 'redis.sock');
  const server = spawn('redis-server', [
    '--port', '0', '--unixsocket', socket, '--save', '', '--dir', folder],
    { stdio: 'ignore' });
  const isUp = () => new Promise((done) => {
    const connection = createConnection(socket);
    connection.on('connect', () => { connection.destroy(); done(true); });
    connection.on('error', () => setTimeout(done, 20, false));
  });
  try {
    while (!await isUp());
    return await action(socket);
  } finally {
    server.kill();
    rmSync(folder, { recursive: true });
  }
}

// ---- Everything -------------------------------------------------------------

function child(...args) {
  const self = fileURLToPath(import.meta.url);
  return JSON.parse(execFileSync(
    process.execPath, ['--expose-gc', self, peers, ...args.map(String)]));
}

function table(title, rows) {
  console.log(`\n${title}`);
  for (const [name, ...cells] of rows) {
    console.log(name.padEnd(42) + cells.map((cell) => cell.padStart(12))
      .join(''));
  }
}

async function main() {
  const { sum, ...hot } = await measureHot();
  table(`One caller: ns for each call${sum ? '' : '!'}`,
        Object.entries(hot).map(([name, ns]) => [name, ns.toFixed(0)]));
  table('A million callers: ns for each call, bytes for each of them', [
    ['', 'ns', 'heap', 'resident'],
    ...Object.keys(MANY).map((peer) => {
      const { ns, heap, rss } = child('many', peer);
      return [peer, ...[ns, heap, rss].map((number) => number.toFixed(0))];
    })]);
  for (const inFlight of [1, 64, 1024]) {
    const rows = await withRedis((socket) => {
      const found = {};
      for (let round = 0; round < 5; ++round) {
        for (const peer of Object.keys(REDIS)) {
          (found[peer] ??= []).push(child('redis', peer, inFlight, socket));
        }
      }
      return Object.entries(found).map(([peer, runs]) => {
        const middle = (name) =>
          quartile(runs.map((run) => run[name]), 0.5);
        return [peer, middle('rate').toFixed(0), middle('p50').toFixed(0),
                middle('p99').toFixed(0), middle('cpu').toFixed(2)];
      });
    });
    table(`Redis, ${inFlight} in flight: medians of 5`,
          [['', 'per second', 'p50 us', 'p99 us', 'CPU us'], ...rows]);
  }
  process.exit(0);
}

const [, , , kind, ...args] = process.argv;
if (kind === 'many') await measureMany(args[0]);
else if (kind === 'redis') {
  await measureRedis(args[0], Number(args[1]), args[2]);
} else await main();
