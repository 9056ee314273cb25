// Reservations that two languages share, that are in several slots of a
// cluster, whose receipts are changed, or for which nobody waits any more.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { after, before, describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { HOLD_STORES } from './hold_stores.mjs';
import { RedisCluster } from './redis_cluster.mjs';

const cluster = new RedisCluster();
before(() => cluster.start());
after(() => cluster.stop());

// Nothing ends or drains while a test runs.
const LIMITS = `
schema:
  key:
    children:
      "*":
        limits:
          - {name: rpm, count: 60, period: 100d}
          - {name: tpm, count: 1000, period: 100d, unit: tokens, hold: 10h}
          - {name: slots, concurrent: 2, hold: 10h}
`;
const SHARED = [...HOLD_STORES.filter(([kind]) => kind !== 'memory'),
                ['a cluster', () => cluster.url]];
let count = 0;
const newName = () => `name ${++count}`;
const pathsOf = (...names) => names.map((name) => ['key', name]);

const made = (store) => new Limiter({ limits: LIMITS, store, timeout: '30s' });

async function left(limiter, name) {
  const { levels } =
    await limiter.peek(['key', name], { cost: 0, levels: true });
  return levels.map(({ remaining }) => remaining);
}

// ---- Python -----------------------------------------------------------------

const { LIMITREE_PYTHON: python = 'build/venv/bin/python',
        LIMITREE_PYTHON_PATH: path = 'build/release/package' } = process.env;

// Evaluates each line that it reads.
const PROGRAM = `
import limitree, sys
limits, store = sys.argv[1:]
with limitree.Limiter(limits, store, timeout="30s") as limiter:
    for line in sys.stdin:
        print(eval(line), flush=True)
`;

/** Starts a process; returns what lets it evaluate, and ends it. */
function startPython(store) {
  const child = spawn(python, ['-c', PROGRAM, LIMITS, store], {
    env: { ...process.env, PYTHONPATH: path },
    stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async ask(text) {
      child.stdin.write(`${text}\n`);
      return (await lines.next()).value;
    },
    async end() {
      const ended = once(child, 'exit');
      child.stdin.end();
      assert.deepEqual(await ended, [0, null]);
    },
  };
}

for (const [kind, urlOf] of SHARED) {
  it(`Node.js and Python settle for each other, ${kind}`, async (t) => {
    if (!existsSync(python) || !existsSync(path)) {
      t.skip('the Python package was not built');
      return;
    }
    const store = urlOf();
    const limiter = made(store);
    const other = startPython(store);
    const [a, b] = [newName(), newName()];

    const theirs = await other.ask(
      `limiter.reserve_all([("key", "${a}"), ("key", "${b}")], ` +
      '{"tokens": 400}).receipt');
    assert.match(theirs, /^lr1\./);
    assert.deepEqual(await left(limiter, b), [59, 600, 1]);
    assert.equal(await limiter.extend(theirs, '9h'), 4);
    assert.equal(await limiter.settle(theirs, { tokens: 81 }), 4);
    assert.equal(await other.ask(`limiter.settle("${theirs}")`), '0');
    assert.deepEqual(await left(limiter, a), [59, 919, 2]);
    assert.deepEqual(await left(limiter, b), [59, 919, 2]);

    const { receipt } = await limiter.reserveAll(
      pathsOf(a, b, 'caf\u00e9'), { cost: { tokens: 400 } });
    assert.equal(await other.ask(`limiter.extend("${receipt}", "9h")`), '6');
    assert.equal(
      await other.ask(`limiter.settle("${receipt}", tokens=19)`), '6');
    assert.equal(await limiter.cancel(receipt), 0);
    assert.deepEqual(await left(limiter, b), [58, 900, 2]);
    await other.end();
    await limiter.close();
  });
}

// ---- Several slots ----------------------------------------------------------

it('a denial in one slot leaves nothing in the others', async (t) => {
  const limiter = made(cluster.url);
  const other = existsSync(python) && existsSync(path)
    ? startPython(cluster.url) : undefined;
  const names = [newName(), newName(), newName(), newName()];
  for (const full of names) {
    const held = await limiter.reserve(['key', full], {
      cost: { tokens: 700 } });
    for (const paths of [pathsOf(...names), pathsOf(...[...names].reverse())]) {
      const denied = await limiter.reserveAll(paths, {
        cost: { tokens: 301 } });
      assert.deepEqual([denied.limited, denied.held], [true, 0]);
      const python = await other?.ask(
        `limiter.reserve_all(${JSON.stringify(paths)}, {"tokens": 301}).held`);
      assert.equal(python ?? '0', '0');
    }
    const all = await limiter.reserveAll(pathsOf(...names), {
      cost: { tokens: 300 } });
    assert.equal(all.held, 8);
    assert.equal(await all.cancel(), 8);
    assert.equal(await held.cancel(), 2);
    for (const name of names) {
      assert.deepEqual((await left(limiter, name)).slice(1), [1000, 2]);
    }
  }
  await other?.end();
  await limiter.close();
});

// ---- Receipts that are none -------------------------------------------------

describe('a receipt', () => {
  const REFUSED = { code: 'LIMITREE_INVALID_ARGUMENT' };

  it('that was changed anywhere is refused', async () => {
    const limiter = made('memory://');
    const { receipt } = await limiter.reserve(['key', 'a'], {
      cost: { tokens: 400 } });
    const wrong = [`${receipt}A`, `${receipt}=`, ` ${receipt}`, '', 'lr1.',
                   receipt.toUpperCase(), `lr1.${'A'.repeat(65_532)}`,
                   'x'.repeat(2 ** 20)];
    for (let i = 0; i < receipt.length; ++i) {
      wrong.push(receipt.slice(0, i));
      for (const other of ['A', 'Q', 'z', '.', '\0', '\u00e9']) {
        if (other === receipt[i]) continue;
        wrong.push(receipt.slice(0, i) + other + receipt.slice(i + 1));
      }
    }
    for (const text of wrong) {
      assert.throws(() => limiter.settleSync(text), REFUSED, text);
      assert.throws(() => limiter.cancelSync(text), REFUSED, text);
      await assert.rejects(limiter.extend(text, '1h'), REFUSED, text);
    }
    assert.deepEqual(await left(limiter, 'a'), [59, 600, 1]);
    assert.equal(await limiter.settle(receipt, { tokens: 1 }), 2);
    await limiter.close();
  });

  it('of another tree settles nothing', async () => {
    const limiter = made('memory://');
    const { receipt } = await limiter.reserve(['key', 'a'], {
      cost: { tokens: 400 } });
    for (const limits of [
      'schema: {other: {limits: 1/s}}',
      'schema: {key: {children: {x: {limits: 1/s}}}}',
      'schema: {key: {limits: {concurrent: 1, hold: 1s}}}']) {
      const other = new Limiter({ limits });
      const settled = await other.settle(receipt).catch((error) => error.code);
      assert.ok([0, 'LIMITREE_UNKNOWN_ROOT'].includes(settled), settled);
      await other.close();
    }
    await limiter.close();
  });
});

// ---- Nobody waits any more --------------------------------------------------

it('aborted after any number of turns, nothing stays held', async () => {
  const store = new Map(HOLD_STORES).get('redis')();
  const limiter = made(store);
  const names = [];
  for (let answered = 0; answered < 3;) {
    const name = newName();
    const control = new AbortController();
    const reserving = limiter.reserve(['key', name], {
      cost: { tokens: 400 }, signal: control.signal });
    for (let turns = 0; turns < names.length; ++turns) {
      await new Promise((resolve) => { setImmediate(resolve); });
    }
    names.push(name);
    control.abort();
    const held = await reserving.catch((error) => {
      assert.equal(error.name, 'AbortError');
    });
    if (held === undefined) continue;
    ++answered;
    assert.equal(await held.cancel(), 2);
  }
  await limiter.close({ drain: '30s' });
  assert.ok(names.length > 3, 'none was aborted before its answer');
  const other = made(store);
  for (const name of names) {
    assert.deepEqual((await left(other, name)).slice(1), [1000, 2]);
  }
  await other.close();
});
