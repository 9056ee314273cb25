// Leases: a hot caller asks Redis now and then.

import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';

import { Limiter } from 'limitree';

import { PATIENT, RedisServer } from './servers.mjs';

const LIMITS = `
schema:
  user: {children: {"*": {limits: {count: 500, period: 1s, lease: 100ms}}}}
`;
const PATH = ['user', 'alex'];

const server = new RedisServer();
before(() => server.start());
after(() => server.stop());

async function use(options, requests) {
  let now = 1_750_000_000_000;
  const limiter = new Limiter({ limits: LIMITS, store: server.url,
                                timeout: PATIENT, clock: () => now,
                                ...options });
  await limiter.reset(PATH);
  const sources = [];
  for (let i = 0; i < requests; ++i) {
    now += 4;
    const { allowed, source } = await limiter.authorize(PATH);
    assert.ok(allowed);
    sources.push(source);
  }
  const stats = limiter.stats();
  await limiter.close();
  return { leased: sources.filter((source) => source === 'lease').length,
           stats };
}

it('spare a hot caller most round trips', async () => {
  const { leased, stats } = await use({}, 500);
  assert.ok(leased > 400, `${leased}`);
  assert.ok(stats.roundTrips < 100);
  assert.equal(stats.fromLease, leased);
  assert.equal(stats.leaseUsed, leased);
  assert.ok(stats.leased >= leased + stats.leaseLost);
});

it('can be turned off', async () => {
  assert.equal((await use({ leases: 'off' }, 200)).leased, 0);
});
