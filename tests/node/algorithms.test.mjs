// The vectors of all algorithms, made by tests/conformance/reference.py, and
// limits that are not hard.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { STORES } from './shared_files.mjs';

const NAMES = [
  'fixed_window', 'fixed_window_first', 'sliding_log', 'sliding_window',
  'sliding_tail', 'sliding_tail_up', 'leaky_step', 'token_bucket', 'calendar',
  'mixed', 'overrun', 'leased'];

function sameTime(ms, expected) {
  const ns = ms === -1 || ms === Infinity ? -1 : ms * 1e6;
  const wanted = Number(expected);
  assert.ok(Math.abs(ns - wanted) <= Math.abs(wanted) * 1e-15,
            `${ns} should be ${wanted}`);
}

function check(answer, expected) {
  for (const name of ['limited', 'limit', 'remaining', 'soft', 'charged']) {
    if (name in expected) assert.equal(answer[name], expected[name], name);
  }
  for (const name of ['retry', 'reset', 'next', 'grows']) {
    const ns = expected[`${name}_after_ns`];
    if (ns !== undefined) sameTime(answer[`${name}AfterMs`], ns);
  }
}

for (const name of NAMES) {
  const text = readFileSync(
    new URL(`../conformance/${name}.json`, import.meta.url), 'utf8');
  // As numbers, instants of that size are not exact: keep their digits.
  const file = JSON.parse(text.replace(/"(\w+_ns)": (\d{16,})/g, '"$1": "$2"'));
  const base = BigInt(file.base_ns);
  for (const [kind, urlOf] of Object.entries(STORES)) {
    describe(`${name}, ${kind}`, () => {
      for (const test of file.cases) {
        it(test.id, () => run(test, base, urlOf()));
      }
    });
  }
}

async function run(test, base, store) {
  let now = base;
  const limiter = new Limiter(
    { limits: test.limits, store, clock: () => now, levels: true });
  for (const step of test.steps) {
    now = base + BigInt(step.now_ns);
    if (step.op === 'pressure') {
      limiter.setPressure(step.millionths / 1e6);
      continue;
    }
    if (step.op === 'reset') {
      await limiter.reset(step.path);
      continue;
    }
    const { expect } = step;
    const decision = await limiter[step.op](step.path, { cost: step.cost });
    assert.deepEqual([...decision.cell], expect.decision.five);
    check(decision, expect.decision);
    assert.equal(decision.levels.length, expect.levels.length);
    decision.levels.forEach((one, i) => check(one, expect.levels[i]));
  }
  await limiter.close();
}

describe('an elastic limit', () => {
  const limits = { schema: { a: { limits: {
    count: 10, period: '1m', overrun: { percent: 20, when: 'idle' } } } } };

  it('admits more while the process is idle', async () => {
    const limiter = new Limiter({ limits });
    const ask = () => limiter.authorizeSync(['a']);
    const hard = Array.from({ length: 20 }, ask);
    assert.equal(hard.filter((one) => one.allowed).length, 10);
    limiter.setPressure(0);
    const more = Array.from({ length: 4 }, ask);
    assert.deepEqual(more.map((one) => one.soft), [true, true, false, false]);
    assert.equal(limiter.stats().soft, 2);
    assert.equal(limiter.limitStats()[0].soft, 2);
    limiter.setPressure(1);
    assert.equal(ask().soft, false);
    await limiter.close();
  });

  it('takes a pressure from 0 to 1', async () => {
    const limiter = new Limiter({ limits });
    for (const wrong of [-0.1, 1.1, NaN, Infinity, '0.5', undefined]) {
      assert.throws(() => limiter.setPressure(wrong), {
        code: 'LIMITREE_INVALID_ARGUMENT',
        message: /pressure must be .*from 0 to 1/,
      });
    }
    await limiter.close();
    assert.throws(() => limiter.setPressure(0), { code: 'LIMITREE_CANCELLED' });
  });
});
