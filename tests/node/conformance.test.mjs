// The vectors that every store and every language must answer alike.
//
// Each step reloads limits in which every key is a top-level name, and asks for
// all of them in one request, as the runner for the C interface does.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { CLIENT_STORES } from './client_stores.mjs';
import { MemcachedServer, PATIENT } from './servers.mjs';
import { STORES } from './shared_files.mjs';

const VECTORS = JSON.parse(
  readFileSync(new URL('../conformance/gcra.json', import.meta.url)));
// A number of that size is not exact: keep its digits.
const BASE_NS = BigInt(VECTORS.base_ns);
const MODES = { spend: 'shadow' };
const CHARGES = { ind: 'independent', aon: 'all_or_nothing' };

function limitOf({ capacity, count, period_ns: ns, mode = 'enforce' }) {
  return { burst: capacity, count, period: `${ns}ns`,
           mode: MODES[mode] ?? mode };
}

function limitsOf({ rule }, levels) {
  const schema = Object.fromEntries(levels.map((level) => [
    level.key, { charge: CHARGES[rule], limits: limitOf(level) }]));
  return { schema: levels.length > 0 ? schema : { free: {} } };
}

/** Compares milliseconds with the vectors' nanoseconds, -1 for no wait. */
function sameTime(ms, expected) {
  const ns = ms === -1 || ms === Infinity ? -1 : ms * 1e6;
  assert.ok(Math.abs(ns - expected) <= Math.abs(expected) * 1e-15,
            `${ns} should be ${expected}`);
}

function checkLevel(level, expected) {
  assert.equal(level.limited, Boolean(expected.limited));
  if ('charged' in expected) {  // a refund has none
    assert.equal(level.charged, Boolean(expected.charged));
  }
  assert.equal(level.limit, expected.limit);
  assert.equal(level.remaining, expected.remaining);
  sameTime(level.retryAfterMs, expected.retry_after_ns);
  sameTime(level.resetAfterMs, expected.reset_after_ns);
  sameTime(level.nextAfterMs, expected.next_in_ns);
}

function checkAggregate(decision, expected) {
  assert.equal(decision.limited, Boolean(expected.limited));
  assert.deepEqual([...decision.cell], expected.five);
  assert.equal(decision.limit, expected.limit);
  assert.equal(decision.remaining, expected.remaining);
  sameTime(decision.retryAfterMs, expected.retry_after_ns);
  sameTime(decision.resetAfterMs, expected.reset_after_ns);
}

async function decide(limiter, test, { op, levels }) {
  await limiter.reload(limitsOf(test, levels));
  const options = { cost: levels[0]?.cost ?? 1, levels: true };
  if (op === 'spend') {
    const paths = levels.map(({ key, cost }) => ({ path: [key], cost }));
    return limiter.authorizeAll(paths.length > 0 ? paths : [['free']], options);
  }
  const call = { check: 'peek', refund: 'refund' }[op];
  return limiter[call]([levels[0].key], options);
}

/** Whether each step can be one call in JavaScript. */
function isSayable({ steps }) {
  return steps.every(({ op, levels = [] }) =>
    levels.every(({ cost }) => Number.isSafeInteger(cost)) &&
    op !== 'set_state' && op !== 'reset' &&
    (op === 'spend' || levels.length === 1) &&
    new Set(levels.map(({ key }) => key)).size === levels.length);
}

const CASES = VECTORS.cases.filter(isSayable);

it('most are sayable', () => assert.ok(CASES.length >= 75, `${CASES.length}`));

function runAll(kind, newStore) {
  describe(`vector, ${kind}`, () => {
    for (const test of CASES) it(test.id, () => run(test, newStore()));
  });
}

for (const [kind, urlOf] of Object.entries(STORES)) {
  runAll(kind, () => ({ store: urlOf() }));
}

const memcached = new MemcachedServer();
before(() => memcached.start());
after(() => memcached.stop());
runAll('memcached', () => memcached.newStore());
for (const [kind, newStore] of CLIENT_STORES) runAll(kind, newStore);

async function run(test, store) {
  let now = BASE_NS;
  const limiter = new Limiter({
    limits: { schema: { free: {} } }, ...store, timeout: PATIENT,
    clock: () => now });
  for (const step of test.steps) {
    now = BASE_NS + BigInt(step.now_ns ?? 0);
    const { expect } = step;
    if ('error' in expect) {
      await assert.rejects(decide(limiter, test, step), /./);
      continue;
    }
    const decision = await decide(limiter, test, step);
    assert.equal(decision.levels.length, expect.levels.length);
    decision.levels.forEach((level, i) =>
      checkLevel(level, expect.levels[i]));
    checkAggregate(decision, expect.aggregate);
  }
  await limiter.close();
}
