// What a call in memory costs beside the same call of a peer: pairs that take
// turns in one process, and the median of their ratios, so that whatever else
// the machine does meets both.
//
//     node bench/compare/node_pairs.mjs <folder of the peers> [name of a pair]
//
// The times are CPU time of the process, all its threads included: a machine
// that does something else does not count.  Both count in windows or buckets of
// one limit, and deny nobody.

import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

import { Limiter } from 'limitree';
import { LimitreeStore } from 'limitree/express-rate-limit';

const require = createRequire(join(resolve(process.argv[2] ?? '.'), 'x.js'));
const { RateLimiterMemory } = require('rate-limiter-flexible');
const { MemoryStore } = require('express-rate-limit');

const ROUNDS = 31;
const CALLS = 100_000;
const MOST = 40_000_000;
const WINDOW_MS = 3_600_000;

const limiter = new Limiter({ limits: { schema: { one: { children: { '*': {
  limits: { burst: MOST, count: 1, period: '1m' } } } } } } });
const flexible = new RateLimiterMemory({ points: MOST, duration: 3600 });

function started(store) {
  store.init({ windowMs: WINDOW_MS });
  return store;
}

const ours = started(new LimitreeStore());
const theirs = started(new MemoryStore());

/** Loops, so that no call through a function is measured with them. */
const PAIRS = {
  'authorizeSync / rate-limiter-flexible': [
    async (keys) => {
      let sum = 0;
      for (let i = 0; i < CALLS; ++i) {
        sum += limiter.authorizeSync(['one', keys[i % keys.length]]).remaining;
      }
      return sum;
    },
    runFlexible,
  ],
  'await authorize / rate-limiter-flexible': [
    async (keys) => {
      let sum = 0;
      for (let i = 0; i < CALLS; ++i) {
        const path = ['one', keys[i % keys.length]];
        sum += (await limiter.authorize(path)).remaining;
      }
      return sum;
    },
    runFlexible,
  ],
  'LimitreeStore / MemoryStore of express-rate-limit': [
    async (keys) => {
      let sum = 0;
      for (let i = 0; i < CALLS; ++i) {
        sum += (await ours.increment(keys[i % keys.length])).totalHits;
      }
      return sum;
    },
    async (keys) => {
      let sum = 0;
      for (let i = 0; i < CALLS; ++i) {
        sum += (await theirs.increment(keys[i % keys.length])).totalHits;
      }
      return sum;
    },
  ],
};

async function runFlexible(keys) {
  let sum = 0;
  for (let i = 0; i < CALLS; ++i) {
    sum += (await flexible.consume(keys[i % keys.length])).remainingPoints;
  }
  return sum;
}

/** Nanoseconds of CPU for each call. */
async function costOf(run, keys) {
  const before = process.cpuUsage();
  if (!(await run(keys) > 0)) throw new Error('nothing was counted');
  const { user, system } = process.cpuUsage(before);
  return (user + system) * 1000 / CALLS;
}

const median = (numbers) =>
  [...numbers].sort((a, b) => a - b)[numbers.length >> 1];

for (const count of [1, 100_000]) {
  const keys = Array.from({ length: count }, (_, i) => `caller-${i}`);
  for (const [name, [one, other]] of Object.entries(PAIRS)) {
    if (!name.includes(process.argv[3] ?? '')) continue;
    const rounds = [];
    for (let round = -3; round < ROUNDS; ++round) {
      const pair = [await costOf(one, keys), await costOf(other, keys)];
      if (round >= 0) rounds.push(pair);
    }
    const [a, b] = [0, 1].map((i) => median(rounds.map((pair) => pair[i])));
    const ratio = median(rounds.map(([x, y]) => x / y));
    console.log(`${count} keys, ${name}: ${a.toFixed(0)} ns, ` +
      `${b.toFixed(0)} ns, ${ratio.toFixed(2)}`);
  }
}
process.exit(0);  // timers of express-rate-limit would keep the process alive
