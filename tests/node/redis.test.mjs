// The limiter on a store that has to be asked over a socket.

import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

import { Decision, Limiter, LimitreeError, StoreError } from 'limitree';

import { PATIENT, RedisServer, ready } from './servers.mjs';

const LIMITS = `
schema:
  user: {children: {"*": {limits: [99, 1, 3600]}}}
  job: {limits: [0, 1, 3600]}
  key: {limits: [{name: rpm, count: 9, period: 1h},
                 {name: tpm, count: 50, period: 1h, unit: tokens}]}
`;

const server = new RedisServer();
before(() => server.start());
after(() => server.stop());

function made(options = {}) {
  return new Limiter({ limits: LIMITS, store: server.url, timeout: PATIENT,
                       denyCache: false, ...options });
}

beforeEach(async () => {
  const limiter = made();
  await limiter.reset(['job']);
  await limiter.reset(['user', 'alex']);
  await limiter.close();
});

/** Runs `action` while the server answers nothing. */
async function whileItHangs(action) {
  server.signal('SIGSTOP');
  try {
    return await action();
  } finally {
    server.signal('SIGCONT');
  }
}

const codes = (results) => results.map(({ reason }) => reason?.code);

describe('answers', () => {
  it('count costs in units', async () => {
    const limiter = made({ levels: true });
    const cost = { request: 2, tokens: 30 };
    const ask = (call) => limiter[call](['key'], { cost });
    const [first, second] =
      await Promise.all([ask('authorize'), ask('authorize')]);
    const rows = first.levels.map(({ unit, cost, remaining }) =>
      [unit, cost, remaining]);
    assert.deepEqual(rows, [['request', 2, 7], ['tokens', 30, 20]]);
    assert.ok(second.limited);
    await ask('refund');
    const both = await limiter.authorizeAll(
      [['job'], { path: ['key'], cost: 3 }], { cost });
    assert.deepEqual(both.levels.map(({ unit, cost }) => [unit, cost]),
                     [['request', 2], ['request', 3], ['tokens', 30]]);
    await assert.rejects(
      limiter.authorize(['key']), { code: 'LIMITREE_INVALID_ARGUMENT' });
    await limiter.close();
  });

  it('are shared by limiters', async () => {
    const [one, other] = [made({ denyCache: true }), made({ denyCache: true })];
    const decision = await one.authorize(['job'], { levels: true });
    assert.equal(decision.levels[0].charged, true);
    assert.equal((await other.authorize(['job'])).source, 'store');
    assert.equal((await other.authorize(['job'])).source, 'deny_cache');
    await one.refund(['job']);
    assert.ok((await one.authorize(['job'])).allowed);
    assert.ok(one.stats().roundTrips >= 3);
    assert.ok(await one.ping() > 0);
    await Promise.all([one.close(), other.close()]);
  });

  it('admit exactly the limit', async () => {
    const limiter = made();
    const answers = await Promise.all(Array.from({ length: 3000 }, () =>
      limiter.authorize(['user', 'alex'])));
    assert.equal(answers.filter(({ allowed }) => allowed).length, 100);
    assert.ok(answers.every((answer) => answer instanceof Decision));
    await limiter.close();
  });

  // This many requests at once share calls.
  it('are those of each caller, many at once', async () => {
    const limiter = made();
    const users = Array.from({ length: 400 }, (_, i) =>
      ['user', `u${i % 100}`]);
    await Promise.all(users.slice(0, 100).map((user) => limiter.reset(user)));
    const answers = await Promise.all(users.map((user) =>
      limiter.authorize(user)));
    answers.forEach(({ allowed, remaining }, i) => {
      assert.ok(allowed);
      assert.equal(remaining, 99 - Math.floor(i / 100));
    });
    await limiter.close();
  });

  it('come by fewer calls than requests, unless told otherwise', async () => {
    const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(
      await server.command('INFO', 'commandstats'))?.[1] ?? 0);
    for (const [shareCalls, most] of [[true, 10], [false, 100]]) {
      const limiter = made({ shareCalls });
      await limiter.authorize(['user', 'a']);  // the connection is there
      const before = await calls();
      await Promise.all(Array.from({ length: 100 }, (_, i) =>
        limiter.authorize(['user', `c${i}`])));
      const after = await calls();
      assert.ok(after - before <= most, `${after - before} calls`);
      assert.ok(after - before >= (shareCalls ? 7 : 100));
      await limiter.close();
    }
  });

  it('fail for one alone whose key is foreign', async () => {
    const limiter = made();
    await server.command('SET', 'limitree:{user:foreign}', 'x');
    const users = Array.from({ length: 40 }, (_, i) =>
      ['user', i === 20 ? 'foreign' : `f${i}`]);
    const answers = await Promise.allSettled(users.map((user) =>
      limiter.authorize(user)));
    answers.forEach(({ status, reason }, i) => {
      assert.equal(status, i === 20 ? 'rejected' : 'fulfilled');
      if (i === 20) assert.equal(reason.reason, 'wrongtype');
    });
    await server.command('DEL', 'limitree:{user:foreign}');
    await limiter.close();
  });

  it('come after the server has forgotten its scripts', async () => {
    const limiter = made();
    for (let round = 0; round < 3; ++round) {
      await server.command('SCRIPT', 'FLUSH');
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) =>
        limiter.authorize(['user', `s${i}`])));
      assert.ok(answers.every(({ remaining }) => remaining === 99 - round));
    }
    await limiter.close();
  });

  it('come from every operation', async () => {
    const limiter = made({ levels: true });
    assert.equal((await limiter.authorize(['job'])).levels[0].policy, 'job');
    await limiter.refund(['job']);
    assert.equal((await limiter.spend(['job'], { cost: 5 })).remaining, 0);
    await limiter.reset(['job']);
    const paths = [['job'], ['user', 'alex']];
    const decision = await limiter.authorizeAll(paths, { levels: false });
    assert.equal(decision.allowed, true);
    assert.equal(decision.levels, undefined);
    const denied = await limiter.authorizeAll(paths);
    assert.deepEqual(denied.levels.map(({ policy, limited, path }) =>
      [policy, limited, path]), [['job', true, 0], ['user:*', false, 1]]);
    assert.equal(await limiter.authorizeActionForUser('alex', 'x'), undefined);
    const limited =
      await limiter.authorizeActionForUser('alex', 'x', { cost: 101 });
    assert.equal(limited.retryAfterMs, Infinity);
    assert.equal((await limiter.peek(['user', 'alex'], { cost: 0 })).remaining,
                 98);
    await limiter.close();
  });

  it('come with as many levels as fit, many at once', async () => {
    const limits = Array.from({ length: 30 }, (_, i) =>
      ({ name: `n${i}`, count: 100, period: '1h' }));
    const limiter = made({ levels: true, limits: {
      schema: { job: { children: { '*': { limits } } } } } });
    const answers = await Promise.all(Array.from({ length: 300 }, (_, i) =>
      limiter.authorize(['job', i])));
    for (const { levels } of answers) {
      assert.equal(levels.length, 30);
      assert.ok(levels.every(({ remaining }) => remaining === 99));
    }
    await limiter.close();
  });

  it('take the time of the clock', async () => {
    let now = 1.7e12;
    const limiter = made({ clock: () => now });
    assert.ok((await limiter.authorize(['job'])).allowed);
    assert.equal((await limiter.authorize(['job'])).retryAfterMs, 3_600_000);
    now += 3_600_000;
    assert.ok((await limiter.authorize(['job'])).allowed);
    await limiter.reset(['job']);
    await limiter.close();
  });

  it('cannot be had at once', async () => {
    const limiter = made();
    assert.throws(() => limiter.authorizeSync(['job']),
                  { code: 'LIMITREE_NOT_SYNC' });
    assert.equal(limiter.isRemote, true);
    await limiter.close();
  });

  it('of wrong questions are errors', async () => {
    const limiter = made();
    for (const [path, options, code] of [
      [['job', undefined], {}, 'LIMITREE_INVALID_ARGUMENT'],
      [['job'], { cost: 1.5 }, 'LIMITREE_INVALID_ARGUMENT'],
      [['job'], { cost: -1 }, 'LIMITREE_INVALID_ARGUMENT'],
      [[], {}, 'LIMITREE_INVALID_ARGUMENT'],
      [['jobs'], {}, 'LIMITREE_UNKNOWN_ROOT'],
    ]) {
      await assert.rejects(limiter.authorize(path, options), { code });
    }
    await assert.rejects(limiter.reset(['jobs']),
                         { code: 'LIMITREE_UNKNOWN_ROOT' });
    assert.ok((await limiter.authorize(['job'])).allowed);
    await limiter.close();
  });
});

describe('a store in trouble', () => {
  it('that is not there', async () => {
    const limiter = made({ store: `redis+unix://${server.path}.no` });
    for (const call of [() => limiter.authorize(['job']),
                        () => limiter.ping(), () => limiter.reset(['job'])]) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof StoreError);
        assert.ok(error instanceof LimitreeError);
        assert.equal(error.code, 'LIMITREE_STORE_UNAVAILABLE');
        assert.equal(error.reason, 'refused');
        return true;
      });
    }
    const [{ reason, errors, troubles }, ...others] = limiter.reasonStats();
    assert.deepEqual([reason, errors, others], ['refused', 3, []]);
    assert.ok(troubles >= 1);
    await limiter.close();
  });

  // An error comes at once, and the next call has nothing else to wake it.
  it('that is not there holds nobody up', { timeout: 60_000 }, async () => {
    const limiter = made({ store: `redis+unix://${server.path}.no` });
    const due = setTimeout(() => {}, 1e6);
    for (let i = 0; i < 50; ++i) {
      await assert.rejects(limiter.authorize(['job']), StoreError);
    }
    clearTimeout(due);
    await limiter.close();
  });

  for (const onStoreError of ['allow', 'deny', 'local']) {
    it(`may ${onStoreError}`, async () => {
      const limiter = made({ store: `redis+unix://${server.path}.no`,
                             onStoreError });
      const decision = await limiter.authorize(['job']);
      assert.equal(decision.source, onStoreError);
      assert.equal(decision.degraded, true);
      assert.equal(decision.allowed, onStoreError !== 'deny');
      await limiter.close();
    });
  }

  it('that hangs does not stop the loop', async () => {
    const limiter = made({ timeout: 300 });
    await ready(limiter);
    let steps = 0;
    const timer = setInterval(() => { ++steps; }, 1);
    await whileItHangs(() => assert.rejects(
      limiter.authorize(['job']), { code: 'LIMITREE_STORE_TIMEOUT' }));
    clearInterval(timer);
    assert.ok(steps > 20, `${steps} steps`);
    await limiter.close();
  });

  it('that hangs does not stop file systems, whatever waits', async () => {
    const limiter = made({ timeout: '30s', limits: { schema: { a: {
      limits: [{ block: true }, { count: 1, period: '1h' }] } } } });
    await limiter.ping();
    let answered = 0;
    const calls = await whileItHangs(async () => {
      const all = Array.from({ length: 4 }, () => [
        limiter.block(['a'], '1d'), limiter.unblock(['a']),
        limiter.reset(['a'])]).flat();
      for (const call of all) call.finally(() => { ++answered; });
      await stat('.');  // by one of the few threads for such calls
      assert.equal(answered, 0);
      return all;
    });
    await Promise.all(calls);
    await limiter.block(['a'], '1d');
    assert.ok((await limiter.peek(['a'])).limited);
    await limiter.unblock(['a']);
    assert.ok((await limiter.peek(['a'])).allowed);
    await limiter.close();
  });

  it('that is killed and comes back under load', async () => {
    const limiter = made({ timeout: 200 });
    const seen = { OK: 0 };
    let isOver = false;
    const load = Array.from({ length: 16 }, async () => {
      while (!isOver) {
        try {
          await limiter.peek(['job']);
          ++seen.OK;
        } catch (error) {
          assert.ok(error instanceof StoreError, error);
          seen[error.code] = (seen[error.code] ?? 0) + 1;
          await sleep(1);
        }
      }
    });
    for (let i = 0; i < 2; ++i) {
      await sleep(100);
      await server.kill();
      await sleep(100);
      await server.start();
      const { OK } = seen;
      for (let j = 0; j < 500 && seen.OK < OK + 100; ++j) await sleep(10);
      assert.ok(seen.OK >= OK + 100, 'it serves again');
    }
    isOver = true;
    await Promise.all(load);
    assert.ok(seen.LIMITREE_STORE_UNAVAILABLE > 0);
    await limiter.close();
  });
});

/** Keeps the event loop from running. */
function block(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('an event loop that is busy', () => {
  // The pauses are longer than the timeout, but the server is healthy.
  // On a busy machine the server answers late, too.
  for (const [count, ms] of [[10, 600], [1000, 600]]) {
    it(`${count} calls survive pauses of ${ms} ms`, async () => {
      const limiter = made({ timeout: 500 });
      await ready(limiter);
      const { storeErrors } = limiter.stats();
      for (let i = 0; i < 3; ++i) {
        const asked = Array.from({ length: count }, () =>
          limiter.authorize(['user', 'alex']));
        // In the second round the requests are already on their way.
        if (i === 1) await new Promise(setImmediate);
        block(ms);
        for (const { source } of await Promise.all(asked)) {
          assert.equal(source, 'store');
        }
      }
      assert.equal(limiter.stats().storeErrors, storeErrors);
      await limiter.close();
    });
  }

  it('has sent what was asked for when the turn ends', async () => {
    const limiter = made();
    await limiter.authorize(['job']);
    const scripts = () => {
      const info = execFileSync('redis-cli',
                                ['-s', server.path, 'INFO', 'commandstats']);
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(info)?.[1]);
    };
    for (const turn of [setImmediate, setTimeout]) {
      const before = scripts();
      let asked;
      await new Promise((next) => turn(() => {
        asked = limiter.authorize(['user', 'alex']);
        // The loop runs this callback in its next turn without a wait.  (A
        // timer may run before the turn ends, if the process is slow.)
        setImmediate(next);
      }));
      assert.equal(scripts(), before + 1);
      await asked;
    }
    await limiter.close();
  });
});

describe('the end', () => {
  it('answers who waits', async () => {
    const limiter = made();
    await limiter.peek(['job']);
    await whileItHangs(async () => {
      const calls = Array.from({ length: 5 }, () => limiter.peek(['job']));
      await sleep(10);
      await limiter.close();
      assert.deepEqual(codes(await Promise.allSettled(calls)),
                       Array(5).fill('LIMITREE_CANCELLED'));
    });
    await assert.rejects(limiter.peek(['job']), { code: 'LIMITREE_CANCELLED' });
  });

  it('may be called for by who got an answer', async () => {
    const limiter = made();
    const calls = Array.from({ length: 50 }, async (_, i) => {
      await limiter.peek(['job']);
      if (i === 0) await limiter.close();
    });
    calls.push(limiter.peek(['job']).then(() => limiter.peek(['job'])));
    const seen = new Set(codes(await Promise.allSettled(calls)));
    seen.delete(undefined);
    assert.deepEqual([...seen], ['LIMITREE_CANCELLED']);
  });

  it('waits for calls on other threads', async () => {
    const limiter = made({ timeout: 1000 });
    await ready(limiter);
    await whileItHangs(async () => {
      const ping = limiter.ping();
      const peek = limiter.peek(['job']);
      await sleep(10);
      await limiter.close();
      assert.deepEqual(codes(await Promise.allSettled([ping, peek])),
                       ['LIMITREE_STORE_TIMEOUT', 'LIMITREE_CANCELLED']);
    });
  });

  it('may wait for answers that are on their way', async () => {
    const limiter = made();
    await limiter.peek(['job']);
    let [asked, closing, order] = [[], undefined, []];
    await whileItHangs(async () => {
      asked = Array.from({ length: 50 }, () =>
        limiter.peek(['job']).finally(() => order.push('answer')));
      asked.push(limiter.ping());
      closing = limiter.close({ drain: 30_000 })
        .finally(() => order.push('closed'));
      assert.ok(limiter.closed);
      for (const call of [() => limiter.peek(['job']), () => limiter.ping(),
                          () => limiter.reset(['job'])]) {
        await assert.rejects(call, { code: 'LIMITREE_CANCELLED' });
      }
      assert.throws(() => limiter.stats(), { code: 'LIMITREE_CANCELLED' });
      await sleep(30);
      assert.deepEqual(order, []);
    });
    await closing;
    await Promise.all(asked);
    assert.deepEqual(order, [...Array(50).fill('answer'), 'closed']);
  });

  it('waits no longer than it is told to', async () => {
    const limiter = made();
    await limiter.peek(['job']);
    await whileItHangs(async () => {
      const asked = [limiter.peek(['job']), limiter.peek(['job'])];
      await limiter.close({ drain: 30 });
      assert.deepEqual(codes(await Promise.allSettled(asked)),
                       ['LIMITREE_CANCELLED', 'LIMITREE_CANCELLED']);
      const other = made();
      const late = other.peek(['job']);
      const drained = other.close({ drain: 60_000 });
      await other.close();  // a second close ends the first one at once
      await drained;
      assert.deepEqual(codes(await Promise.allSettled([late])),
                       ['LIMITREE_CANCELLED']);
    });
    for (const drain of [-1, NaN, true, Infinity, '25d']) {
      await assert.rejects(made().close({ drain }), {
        code: 'LIMITREE_INVALID_ARGUMENT', message: /^drain must be / });
    }
    await assert.rejects(made().close({ drian: 5 }), /did you mean drain\?/);
  });

  it('of the process is not held up', async () => {
    const program = `
      const { Limiter } = require('limitree');
      const limiter = new Limiter({ store: ${JSON.stringify(server.url)},
        timeout: '5s', limits: 'schema: {job: {limits: [9, 1, 60]}}' });
      limiter.authorize(['job']).then(({ limit }) => console.log(limit));
      globalThis.keep = limiter;`;
    const start = Date.now();
    const { stdout } = await promisify(execFile)(
      process.execPath, ['-e', program], { timeout: 20_000 });
    assert.equal(stdout, '10\n');
    assert.ok(Date.now() - start < 10_000);
  });

  it('comes by itself for limiters that nobody holds', async () => {
    const gone = [];
    const registry = new FinalizationRegistry((name) => gone.push(name));
    async function leave(name) {
      const limiter = made();
      registry.register(limiter, name);
      return [await limiter.peek(['job']), limiter.peek(['job'])];
    }
    const answers = [];
    for (let i = 0; i < 20; ++i) answers.push((await leave(i))[1]);
    globalThis.gc();
    for (const answer of await Promise.all(answers)) {
      assert.equal(answer.limit, 1);
    }
    for (let i = 0; i < 200 && gone.length === 0; ++i) {
      globalThis.gc();
      await sleep(5);
    }
    assert.ok(gone.length > 0);
  });
});

describe('an AbortSignal', () => {
  it('aborted before', async () => {
    const limiter = made();
    const reason = new Error('enough');
    const { signal } = Object.assign(new AbortController());
    const aborted = AbortSignal.abort(reason);
    await assert.rejects(limiter.authorize(['job'], { signal: aborted }),
                         reason);
    await assert.rejects(limiter.authorizeAll([['job']], { signal: aborted }),
                         reason);
    await assert.rejects(
      limiter.authorizeActionForUser('alex', 'x', { signal: aborted }), reason);
    assert.ok((await limiter.authorize(['job'], { signal })).allowed);
    await limiter.close();
  });

  it('aborted meanwhile', async () => {
    const limiter = made();
    await limiter.peek(['job']);
    const controller = new AbortController();
    const { signal } = controller;
    let others;
    await whileItHangs(async () => {
      const calls = Array.from({ length: 6 }, (_, i) =>
        limiter.peek(['job'], i % 2 === 0 ? { signal } : {}));
      await sleep(10);
      controller.abort();
      const mine = await Promise.allSettled([calls[0], calls[2], calls[4]]);
      assert.deepEqual(mine.map(({ reason }) => reason.name),
                       Array(3).fill('AbortError'));
      others = Promise.all([calls[1], calls[3], calls[5]]);
    });
    assert.equal((await others).length, 3);
    await limiter.close();
  });

  it('is let go of afterwards', async () => {
    const limiter = made();
    const listeners = new Set();
    const signal = {
      aborted: false,
      addEventListener: (_, listener) => listeners.add(listener),
      removeEventListener: (_, listener) => listeners.delete(listener),
    };
    const call = limiter.peek(['job'], { signal });
    assert.equal(listeners.size, 1);
    await call;
    assert.equal(listeners.size, 0);
    await limiter.close();
  });
});
