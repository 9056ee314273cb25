// Reservations: units that are held until their cost is known.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { Worker } from 'node:worker_threads';

import {
  Decision, Limiter, LimitreeError, Reservation, StoreError } from 'limitree';

import { HOLD_STORES, server } from './hold_stores.mjs';
import { run } from './run.mjs';
import { PATIENT, ready } from './servers.mjs';
import { newFile } from './shared_files.mjs';
import { until } from './until.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const INVALID = 'LIMITREE_INVALID_ARGUMENT';
const LIMITS = { schema: {
  key: { children: { '*': { limits: [
    { name: 'rpm', count: 60, period: '1m' },
    { name: 'tpm', count: 1000, period: '1m', unit: 'tokens', hold: '10m' },
    { name: 'slots', concurrent: 2, hold: '2m' }] } } },
  job: { limits: { count: 3, period: '1h', hold: '1m', unsettled: 'free' } },
  plain: { limits: { count: 5, period: '1h' } },
} };
const PATH = ['key', 'a'];
const SECOND = 1000;
const MINUTE = 60 * SECOND;

let now = 1.7e12;

function made(store, options = {}) {
  return new Limiter({ limits: LIMITS, clock: () => now, store,
                       timeout: PATIENT, ...options });
}

/** What is left in each limit of a path. */
async function left(limiter, path = PATH) {
  const { levels } = await limiter.peek(path, { cost: 0, levels: true });
  return levels.map(({ remaining }) => remaining);
}

for (const [kind, urlOf] of HOLD_STORES) {
  describe(`a reservation, ${kind}`, () => {
    holds(urlOf);
    if (kind === 'redis') arrivesLate(urlOf);
    else answersAtOnce(urlOf);
  });
}

function holds(urlOf) {
  it('holds, and charges what was used', async () => {
    const limiter = made(urlOf());
    const cost = { request: 1, tokens: 400 };
    const held = await limiter.reserve(PATH, { cost });
    assert.ok(held instanceof Reservation && held instanceof Decision);
    assert.deepEqual([held.allowed, held.held], [true, 2]);
    assert.match(held.receipt, /^lr1\.[\w-]+$/);
    assert.deepEqual(await left(limiter), [59, 600, 1]);
    now += 30 * SECOND;
    assert.deepEqual(await left(limiter), [60, 600, 1]);
    assert.equal(await held.settle({ tokens: 90 }), 2);
    assert.deepEqual(await left(limiter), [60, 910, 2]);
    assert.equal(await held.settle({ tokens: 90 }), 0);
    assert.equal(await held.cancel(), 0);
    assert.equal(await held.extend('1m'), 0);
    assert.deepEqual(await left(limiter), [60, 910, 2]);
    await limiter.close();
  });

  it('is charged as held, or more, or nothing', async () => {
    const limiter = made(urlOf());
    const reserve = () => limiter.reserve(PATH, { cost: { tokens: 400 } });
    for (const [end, tokens] of [
      [(held) => held.settle(), 600], [(held) => held.settle(1), 600],
      [(held) => held.settle({ request: 0 }), 600],
      [(held) => held.settle({ tokens: 0 }), 1000],
      [(held) => held.settle({ tokens: 999 }), 1],
      [(held) => held.settle({ tokens: 5000 }), 0],
      [(held) => held.cancel(), 1000]]) {
      assert.equal(await end(await reserve()), 2);
      assert.deepEqual(await left(limiter), [59, tokens, 2], String(end));
      await limiter.reset(PATH);
    }
    const held = await limiter.reserve(['job'], { cost: 3 });
    assert.equal(await held.settle(2), 1);
    assert.deepEqual(await left(limiter, ['job']), [1]);
    await limiter.close();
  });

  it('ends by itself, and can be extended', async () => {
    const limiter = made(urlOf());
    const cost = { tokens: 400 };
    const held = await limiter.reserve(PATH, { cost, hold: '90s' });
    assert.equal(await held.extend(100 * SECOND), 2);
    now += 95 * SECOND;
    assert.equal((await left(limiter))[1], 600);
    assert.equal(await held.extend(10 * SECOND), 2);
    now += 10 * SECOND;
    assert.deepEqual(await left(limiter), [60, 600, 2]);
    assert.equal(await held.settle(), 0);
    const one = await limiter.reserve(['job'], { hold: 0.5 * SECOND });
    now += SECOND;
    assert.deepEqual(await left(limiter, ['job']), [3]);
    assert.equal(await one.settle(), 0);
    // As long as each limit says.
    const other = await limiter.reserve(PATH, { cost });
    now += 3 * MINUTE;
    assert.deepEqual(await left(limiter), [60, 600, 2]);
    assert.equal(await other.settle(), 1);
    await limiter.close();
  });

  it('that is denied holds nothing', async () => {
    const limiter = made(urlOf(), { levels: true });
    const cost = { tokens: 600 };
    const first = await limiter.reserve(PATH, { cost });
    const held = await limiter.reserve(PATH, { cost });
    assert.deepEqual([held.limited, held.held], [true, 0]);
    assert.equal(held.retryAfterMs, 10 * MINUTE + 12 * SECOND);
    assert.deepEqual(held.levels.map(({ limited }) => limited),
                     [false, true, false]);
    assert.equal(typeof held.receipt, 'string');
    assert.equal(await held.settle({ tokens: 1 }), 0);
    assert.equal(await held.cancel(), 0);
    assert.equal(await held.extend('1m'), 0);
    assert.equal(await limiter.settle(held.receipt), 0);
    await held[Symbol.asyncDispose]();
    held[Symbol.dispose]();
    assert.deepEqual(await left(limiter), [59, 400, 1]);
    assert.equal(await first.cancel(), 2);
    await limiter.close();
  });

  it('limits how many there are at once', async () => {
    const limiter = made(urlOf());
    const reserve = () => limiter.reserve(PATH, { cost: { tokens: 1 } });
    const all = await Promise.all([reserve(), reserve(), reserve()]);
    assert.deepEqual(all.map(({ held }) => held), [2, 2, 0]);
    await all[0].cancel();
    assert.ok((await reserve()).allowed);
    await assert.rejects(
      limiter.authorize(PATH, { cost: { tokens: 1 } }),
      { code: INVALID, message: 'key:*#slots limits what is held at once: ' +
                                'reserve its units, and settle them' });
    await assert.rejects(limiter.spend(PATH, { cost: { tokens: 1 } }),
                         { code: INVALID, message: /reserve its units/ });
    await limiter.close();
  });

  it('is settled at the end of its block', async () => {
    const limiter = made(urlOf());
    const reserve = () => limiter.reserve(PATH, { cost: { tokens: 400 } });
    for (const [use, tokens] of [
      [() => {}, 600], [(held) => held.settle({ tokens: 5 }), 995],
      [(held) => held.cancel(), 1000],
      // Nobody waits for these.
      [(held) => { held.settle({ tokens: 7 }); }, 993],
      [(held) => { held.settle({ tokens: -1 }); }, 600],
      [(held) => held.extend('1m'), 600],
      [(held) => assert.rejects(held.settle({ tokenz: 5 })), 600]]) {
      const held = await reserve();
      await use(held);
      await held[Symbol.asyncDispose]();
      assert.deepEqual(await left(limiter), [59, tokens, 2], String(use));
      assert.equal(await held.settle(), 0);
      await limiter.reset(PATH);
    }
    await limiter.close();
  });

  it('goes along all paths', async () => {
    const limiter = made(urlOf(), { levels: true });
    const held = await limiter.reserveAll(
      [PATH, { path: ['key', 'b'], cost: 2 }, ['plain'],
       { path: ['job'], part: 'check' }],
      { cost: { tokens: 300 }, hold: '1m' });
    assert.equal(held.held, 4);
    assert.equal(held.levels.length, 8);
    assert.deepEqual(await left(limiter, ['key', 'b']), [58, 700, 0]);
    assert.deepEqual(await left(limiter, ['job']), [3]);
    assert.equal(await limiter.settle(held.receipt, { tokens: 100 }), 4);
    assert.deepEqual(await left(limiter, ['key', 'b']), [58, 900, 2]);
    assert.deepEqual(await left(limiter), [59, 900, 2]);
    assert.deepEqual(await left(limiter, ['plain']), [4]);
    await limiter.close();
  });

  it('is settled, cancelled and extended by its receipt', async () => {
    const store = urlOf();
    const limiter = made(store);
    const other = store === 'memory://' ? limiter : made(store);
    const cost = { tokens: 400 };
    const receipts = [];
    for (let i = 0; i < 2; ++i) {
      receipts.push((await limiter.reserve(PATH, { cost })).receipt);
    }
    assert.notEqual(receipts[0], receipts[1]);
    assert.equal(await other.extend(receipts[0], '3m'), 2);
    now += 2 * MINUTE;
    assert.equal(await other.settle(receipts[0], { tokens: 10 }), 2);
    assert.equal(await other.cancel(receipts[1]), 1);
    assert.equal(await other.cancel(receipts[1]), 0);
    assert.deepEqual(await left(limiter), [60, 990, 2]);
    await limiter.close();
    await other.close();
  });

}

function answersAtOnce(urlOf) {
  it('has a form that answers at once', async () => {
    const limiter = made(urlOf());
    const cost = { tokens: 400 };
    const held = limiter.reserveSync(PATH, { cost, hold: '1m' });
    assert.equal(held.extendSync('2m'), 2);
    assert.equal(held.settleSync({ tokens: 1 }), 2);
    held[Symbol.dispose]();
    assert.equal(held.settleSync(), 0);
    assert.equal(held.extendSync(1), 0);
    const other = limiter.reserveSync(PATH, { cost });
    assert.equal(other.cancelSync(), 2);
    const { receipt } = limiter.reserveSync(PATH, { cost });
    assert.equal(limiter.extendSync(receipt, '2m'), 2);
    assert.equal(limiter.settleSync(receipt, { tokens: 2 }), 2);
    assert.equal(limiter.cancelSync(receipt), 0);
    limiter.reserveSync(PATH, { cost: { tokens: 3 } })[Symbol.dispose]();
    assert.deepEqual(await left(limiter), [56, 994, 2]);
    await limiter.close();
  });
}

function arrivesLate(urlOf) {
  /** Runs `action` while the server answers nothing. */
  async function whileItHangs(action) {
    server.signal('SIGSTOP');
    try {
      return await action();
    } finally {
      server.signal('SIGCONT');
    }
  }

  it('is given back if nobody waits for it any more', async () => {
    const store = urlOf();
    const limiter = made(store);
    await limiter.ping();
    const control = new AbortController();
    const options = { cost: { tokens: 400 }, signal: control.signal };
    await whileItHangs(async () => {
      const all = [limiter.reserve(PATH, options),
                   limiter.reserveAll([PATH], options)];
      setTimeout(() => control.abort(new Error('enough')), 50);
      for (const one of all) await assert.rejects(one, /enough/);
    });
    await limiter.close({ drain: '10s' });
    const other = made(store);
    assert.deepEqual(await left(other), [58, 1000, 2]);
    await other.close();
  });

  it('is there if the signal is aborted afterwards', async () => {
    const limiter = made(urlOf());
    const control = new AbortController();
    const held = await limiter.reserve(
      PATH, { cost: { tokens: 400 }, signal: control.signal });
    control.abort();
    assert.equal(await held.settle(), 2);
    assert.throws(() => held.settleSync(), { code: 'LIMITREE_NOT_SYNC' });
    await limiter.close();
  });

  it('is a StoreError if the store does not answer', async () => {
    const store = urlOf();
    const patient = made(store);
    const { receipt } = await patient.reserve(PATH, { cost: { tokens: 400 } });
    const limiter = made(store, { timeout: 50 });
    await ready(limiter);
    await whileItHangs(async () => {
      for (const call of [() => limiter.reserve(PATH, { cost: { tokens: 1 } }),
                          () => limiter.settle(receipt),
                          () => limiter.extend(receipt, '1m')]) {
        await assert.rejects(call, StoreError);
      }
    });
    await limiter.close();
    await patient.close();
  });

  it('may be held by a store that was late, and is settled there', async () => {
    const limiter = made(urlOf(), { timeout: 50, onStoreError: 'allow' });
    const cost = { tokens: 400 };
    const held = await whileItHangs(() => limiter.reserve(PATH, { cost }));
    assert.deepEqual([held.degraded, held.allowed, held.held],
                     [true, true, 0]);
    await assert.rejects(held.settle({ tokenz: 1 }), { code: INVALID });
    await until(() => held.settle({ tokens: 1 }).then(() => true, () => false));
    await limiter.close();
  });
}

describe('the answer', () => {
  const limiter = made('memory://');
  const cost = { tokens: 1 };

  it('is a decision', async () => {
    const held = await limiter.reserve(PATH, { cost, levels: true });
    assert.equal(held.levels[2].unit, 'request');
    assert.match(held.headers().RateLimit, /^"key:\*#rpm";r=59;/);
    const { receipt, ...others } = JSON.parse(JSON.stringify(held));
    assert.equal(receipt, held.receipt);
    assert.deepEqual([others.held, others.limited], [2, false]);
    const text = inspect(held);
    assert.match(text, /^Reservation \{.*limited: false.*held: 2/s);
    assert.equal(Object.prototype.hasOwnProperty.call(
      Reservation.prototype, 'undefined'), false);
    await limiter.reset(PATH);
  });

  it('is there when the call returns', async () => {
    const held = limiter.reserve(PATH, { cost });
    assert.doesNotMatch(inspect(held), /pending/);
    const settled = limiter.settle((await held).receipt);
    assert.doesNotMatch(inspect(settled), /pending/);
    await limiter.reset(PATH);
  });

  it('of limits that hold nothing', async () => {
    const held = await limiter.reserve(['plain']);
    assert.deepEqual([held.allowed, held.held], [true, 0]);
    assert.equal(await held.settle(3), 0);
    assert.deepEqual(await left(limiter, ['plain']), [4]);
  });

  it('leaves nothing for the next call', async () => {
    limiter.reserveSync(['job'], { hold: '5s' }).cancelSync();
    const held = limiter.reserveSync(['job']);
    now += 59 * SECOND;
    assert.equal(held.settleSync(), 1);
    await limiter.reset(['job']);
  });

  it('does not come if nobody waits for it', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await assert.rejects(limiter.reserve(PATH, { cost, signal }), /enough/);
    await assert.rejects(limiter.reserveAll([PATH], { cost, signal }),
                         /enough/);
    assert.deepEqual(await left(limiter), [60, 1000, 2]);
  });
});

describe('a mistake', () => {
  const limiter = made('memory://');
  const cost = { tokens: 1 };
  const { receipt } = limiter.reserveSync(PATH, { cost, hold: '1h' });

  /** Checks that each of `calls`, a name and arguments, fails like that. */
  async function refuses(message, ...calls) {
    for (const [name, ...args] of calls) {
      const check = (error) => {
        assert.ok(error instanceof LimitreeError, error);
        assert.equal(error.code, INVALID);
        assert.match(error.message, message);
        assert.ok(!error.message.includes('\n'));
        return true;
      };
      await assert.rejects(limiter[name](...args), check);
      if (name === 'reserveAll') continue;
      assert.throws(() => limiter[`${name}Sync`](...args), check);
    }
  }

  for (const [wrong, message] of [
    [undefined, /^receipt must be a string, is undefined$/],
    [null, /^receipt must be a string, is null$/],
    [{}, /^receipt must be a string, is an object$/],
    ['lr1.\ud800', /^receipt has an unpaired surrogate/],
    ['', /^this is not a receipt of limitree, or it was changed$/],
    [7, /^this is not a receipt/],
    ['lr1.', /^this is not a receipt/],
    ['lr1.AAAA', /^this is not a receipt/],
    ['\u20ac'.repeat(200), /^this is not a receipt/],
    [receipt + 'A', /^this is not a receipt/],
    [receipt.slice(0, -1), /^this is not a receipt/],
    [` ${receipt}`, /^this is not a receipt/],
    [receipt.replace(/.$/, (last) => last === 'A' ? 'B' : 'A'),
     /^this is not a receipt/],
    ['lr1.' + 'A'.repeat(70_000), /^a receipt has at most 65536 bytes$/],
  ]) {
    it(`in a receipt: ${String(message)}`, () => refuses(
      message, ['settle', wrong], ['settle', wrong, cost], ['cancel', wrong],
      ['extend', wrong, '1m']));
  }

  for (const [hold, message] of [
    [0, /^hold must be more than 0 and at most 24h, is 0 ms$/],
    ['0s', /^hold must be more than 0 and at most 24h, is the text "0s"$/],
    [1e-7, /^hold must be more than 0/],
    [86_400_001, /^hold must be more than 0 and at most 24h, is 86400001 ms$/],
    ['25h', /^hold must be more than 0 and at most 24h, is the text "25h"$/],
    [Infinity, /^hold must be more than 0 and at most 24h, is Infinity ms$/],
    [-1, /^hold must be milliseconds or a text such as "2s", is -1$/],
    [NaN, /^hold must be milliseconds or a text such as "2s", is NaN$/],
    [null, /^hold must be milliseconds or a text such as "2s", is null$/],
    ['600', /^hold must have a unit if it is a text: say "600ms"/],
    ['soon', /^hold .*soon/],
  ]) {
    it(`in a hold: ${String(message)}`, () => refuses(
      message, ['reserve', PATH, { cost, hold }],
      ['reserveAll', [PATH], { cost, hold }], ['extend', receipt, hold]));
  }

  it('without a hold', () => refuses(
    /^hold must be milliseconds or a text .*, is undef/, ['extend', receipt]));

  it('in what was used', async () => {
    for (const [used, message] of [
      [{ tokenz: 1 }, /^no limit counts "tokenz", they count .*tokens$/],
      [{ tokens: -1 }, /^cost in tokens must not be negative, is -1$/],
      [{ tokens: '1' }, /^cost in tokens must be a whole number/],
      [{ request: -1 }, /^cost in request must not be negative, is -1$/],
      [-1, /^cost must not be negative, is -1$/],
      [0.5, /^cost must be a whole number, is 0.5$/],
      ['1', /^cost must be a whole number, is the text "1"$/],
      [{}, /^cost must be a whole number or name units/],
      [null, /^cost must be a whole number or name units/],
    ]) await refuses(message, ['settle', receipt, used]);
  });

  it('in a reservation', async () => {
    const ask = (options, path = PATH) => [
      ['reserve', path, options], ['reserveAll', [path], options]];
    for (const [options, message] of [
      [{ cost: { tokenz: 1 } }, /^no limit counts "tokenz"/],
      [{ cost: 1 }, /#tpm counts tokens, and the request names none$/],
      [{ cost, holds: 1 }, /^there is no option holds, did you mean hold\?$/],
      [{ cost, levels: 1 }, /^levels must be true or false/],
    ]) await refuses(message, ...ask(options));
    await refuses(/^path must be an array/, ['reserve', 'key', { cost }]);
    await assert.rejects(
      limiter.authorize(PATH, { cost, hold: '1m' }),
      { code: INVALID, message: /^there is no option hold/ });
    await assert.rejects(limiter.reserve(['keys'], { cost }),
                         { code: 'LIMITREE_UNKNOWN_ROOT' });
  });

  it('holds nothing if its receipt would be too long', async () => {
    const long = ['key', 'x'.repeat(50_000)];
    await refuses(
      /^a receipt has at most 65536 bytes$/,
      ['reserve', long, { cost }], ['reserveAll', [long], { cost }]);
    assert.deepEqual(await left(limiter, long), [60, 1000, 2]);
    const fits = ['key', 'x'.repeat(40_000)];
    const held = await limiter.reserve(fits, { cost });
    assert.equal(await held.settle(), 2);
  });

  it('of an end', async () => {
    assert.deepEqual((await left(limiter)).slice(1), [999, 1]);
    assert.equal(await limiter.settle(receipt), 2);
    const held = await limiter.reserve(PATH, { cost });
    await limiter.close();
    await assert.rejects(held.settle(), { code: 'LIMITREE_CANCELLED' });
    await assert.rejects(held[Symbol.asyncDispose](),
                         { code: 'LIMITREE_CANCELLED' });
    assert.throws(() => held.settleSync(), { code: 'LIMITREE_CANCELLED' });
    await assert.rejects(limiter.reserve(PATH, { cost }),
                         { code: 'LIMITREE_CANCELLED' });
  });

  it('is to wait where a call answers at once', () => {
    const remote = new Limiter({ limits: 'schema: {key: {}}',
                                 store: 'redis://localhost:1' });
    for (const [name, ...args] of [
      ['reserve', PATH, { cost }], ['settle', receipt], ['cancel', receipt],
      ['extend', receipt, '1m']]) {
      assert.throws(() => remote[`${name}Sync`](...args), {
        code: 'LIMITREE_NOT_SYNC',
        message: `${name}Sync would wait for another machine: use ${name}` });
    }
    return remote.close();
  });
});

describe('processes', () => {
  const program = (store, body) => `
    import { Limiter } from 'limitree';
    const limiter = new Limiter({ limits: ${JSON.stringify(LIMITS)},
                                  store: '${store}', timeout: '10s' });
    ${body}`;
  const start = (store, body) => run(
    process.execPath, ['--input-type=module', '-e', program(store, body)],
    { cwd: ROOT });

  it('settle what another one has reserved', async () => {
    const store = newFile();
    const limiter = made(store, { clock: undefined, timeout: '10s' });
    const { receipt } =
      await limiter.reserve(PATH, { cost: { tokens: 400 }, hold: '1h' });
    assert.equal(await start(store, `
      console.log(await limiter.settle('${receipt}', { tokens: 0 }));
      console.log(await limiter.cancel('${receipt}'));`), '2\n0\n');
    assert.deepEqual((await left(limiter)).slice(1), [1000, 2]);
    const theirs = await start(store, `
      const { receipt } =
        limiter.reserveSync(['key', 'a'], { cost: { tokens: 999 } });
      process.stdout.write(receipt);
      process.kill(process.pid, 'SIGKILL');`).catch(({ message }) => message);
    const [text] = /lr1\.[\w-]+/.exec(theirs);
    assert.equal((await left(limiter))[1], 1);
    assert.equal(await limiter.extend(text, '1m'), 2);
    assert.equal(await limiter.cancel(text), 2);
    await limiter.close();
  });

  it('have threads that settle for each other', async () => {
    const options = { limits: LIMITS, share: 'holds' };
    const limiter = new Limiter(options);
    const { receipt } = await limiter.reserve(PATH, { cost: { tokens: 9 } });
    const worker = new Worker(`
      const { parentPort, workerData } = require('node:worker_threads');
      const { Limiter } = require('limitree');
      const { options, receipt } = workerData;
      parentPort.postMessage(
        new Limiter(options).settleSync(receipt, { tokens: 1 }));`,
      { eval: true, workerData: { options, receipt } });
    const settled = await new Promise((resolve, reject) => {
      worker.once('message', resolve).once('error', reject);
    });
    assert.equal(settled, 2);
    assert.equal(await limiter.settle(receipt), 0);
    await limiter.close();
  });
});
