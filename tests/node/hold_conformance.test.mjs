// The vectors of holds that every store and every language must answer alike,
// run as conformance.test.mjs runs the others.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { HOLD_STORES } from './hold_stores.mjs';
import { CLIENT_STORES } from './client_stores.mjs';
import { MemcachedServer, PATIENT } from './servers.mjs';

const VECTORS = JSON.parse(
  readFileSync(new URL('../conformance/holds.json', import.meta.url)));
// A number of that size is not exact: keep its digits.
const BASE_NS = BigInt(VECTORS.base_ns);

function limitOf(level) {
  const { kind, capacity, count, period_ns: ns, hold_ns: holdNs, unit,
          cost = 1, mode = 'enforce', unsettled } = level;
  const limit = { unit, cost, mode };
  if (holdNs !== undefined) Object.assign(limit, { hold: `${holdNs}ns` });
  if (kind === 'concurrent') return { ...limit, concurrent: capacity };
  const window = kind === 'gcra' ? { burst: capacity }
    : { algorithm: 'fixed_window' };
  return { ...limit, ...window, count, period: `${ns}ns`, unsettled };
}

/** Compares milliseconds with the vectors' nanoseconds, -1 for no wait. */
function sameTime(ms, expected) {
  const ns = ms === -1 || ms === Infinity ? -1 : ms * 1e6;
  assert.ok(Math.abs(ns - expected) <= Math.abs(expected) * 1e-15,
            `${ns} should be ${expected}`);
}

function check(answer, expected) {
  assert.equal(answer.limited, Boolean(expected.limited));
  assert.equal(answer.limit, expected.limit);
  assert.equal(answer.remaining, expected.remaining);
  sameTime(answer.retryAfterMs, expected.retry_after_ns);
  sameTime(answer.resetAfterMs, expected.reset_after_ns);
}

function checkLevel(level, expected) {
  check(level, expected);
  assert.equal(level.charged, Boolean(expected.charged));
  sameTime(level.nextAfterMs, expected.next_in_ns);
}

/** The cost without units that no level counts; undefined if it is empty. */
function costOf({ units = {}, levels }) {
  const counted = levels.map(({ unit = 'request' }) => unit);
  const named = Object.entries(units).filter(([unit]) =>
    counted.includes(unit));
  return named.length > 0 ? Object.fromEntries(named) : undefined;
}

/** Windows are whole microseconds. */
const hasWholeWindows = ({ steps }) => steps.every(({ levels = [] }) =>
  levels.every(({ kind, period_ns: ns }) =>
    kind !== 'fixed_window' || ns % 1000 === 0));

const CASES = VECTORS.cases.filter(hasWholeWindows);

it('most are sayable', () => assert.ok(CASES.length >= 60, `${CASES.length}`));

class Runner {
  #now = BASE_NS;
  #limiter;
  /** The last parameters of each key, and the receipt of each id. */
  #levels = new Map();
  #receipts = new Map();

  constructor(store) {
    this.#limiter = new Limiter({
      limits: { schema: { free: {} } }, ...store, levels: true,
      timeout: PATIENT, clock: () => this.#now });
  }

  async run(steps) {
    for (const step of steps) {
      this.#now = BASE_NS + BigInt(step.now_ns);
      const { levels = [] } = step;
      for (const level of levels) this.#levels.set(level.key, level);
      if (levels.length > 0) await this.#limiter.reload(this.#limits());
      await this[step.op](step);
    }
    await this.#limiter.close();
  }

  #limits() {
    return { schema: Object.fromEntries([...this.#levels].map(
      ([key, level]) => [key, { limits: limitOf(level) }])) };
  }

  async #decide(call, step) {
    const { expect, levels, hold_ns: ns } = step;
    const options = { cost: costOf(step) };
    if (ns !== undefined) options.hold = ns / 1e6;
    const decision = await this.#limiter[call](
      levels.map(({ key }) => [key]), options);
    assert.equal(decision.levels.length, expect.levels.length);
    decision.levels.forEach((level, i) => checkLevel(level, expect.levels[i]));
    check(decision, expect.aggregate);
    return decision;
  }

  async reserve(step) {
    const { allowed, receipt } = await this.#decide('reserveAll', step);
    // Vectors use an id again where nothing is held.
    if (allowed || !this.#receipts.has(step.id)) {
      this.#receipts.set(step.id, receipt);
    }
  }

  authorize(step) {
    return this.#decide('authorizeAll', step);
  }

  peek(step) {
    return this.#decide('peekAll', step);
  }

  async settle(step) {
    assert.equal(
      await this.#limiter.settle(this.#receipts.get(step.id), costOf(step)),
      step.expect.settled);
  }

  async extend(step) {
    assert.equal(
      await this.#limiter.extend(
        this.#receipts.get(step.id), step.hold_ns / 1e6),
      step.expect.extended);
  }

  async reset({ keys }) {
    for (const key of keys) {
      if (this.#levels.has(key)) await this.#limiter.reset([key]);
    }
  }
}

function runAll(kind, newStore) {
  describe(`vector, ${kind}`, () => {
    for (const { id, steps } of CASES) {
      it(id, () => new Runner(newStore()).run(steps));
    }
  });
}

for (const [kind, urlOf] of HOLD_STORES) {
  runAll(kind, () => ({ store: urlOf() }));
}

const memcached = new MemcachedServer();
before(() => memcached.start());
after(() => memcached.stop());
runAll('memcached', () => memcached.newStore());
for (const [kind, newStore] of CLIENT_STORES) runAll(kind, newStore);
