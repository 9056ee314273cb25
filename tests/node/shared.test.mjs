// shm://: one memory for all processes of a machine.  cluster.test.mjs has
// servers with several workers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readSync, statSync, symlinkSync,
         truncateSync, writeFileSync, writeSync } from 'node:fs';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';

import express from 'express';
import { rateLimit as theirLimit } from 'express-rate-limit';

import { ConfigError, Limiter, StoreError } from 'limitree';
import { LimitreeStore } from 'limitree/express-rate-limit';

import { newFile, pathOf } from './shared_files.mjs';
import { STARTS } from './web_apps.mjs';

const LIMITS = `
schema:
  user:
    children:
      "*":
        limits: [29999, 1, 3600]
        children: {trade: {limits: [19999, 1, 3600]}}
  few: {limits: [2, 1, 3600]}
`;

/** Holds the lock of the only shard, as a thread of this process would that
 * does not run; see core/store/shared/layout.hpp.  Returns what ends this. */
function holdLock(path) {
  const [slots, shards] = [4096, 12288];
  const file = openSync(path, 'r+');
  const slot = Buffer.alloc(8);
  let index = -1;
  do {
    readSync(file, slot, 0, 8, slots + 8 * ++index);
  } while (slot.readUInt32LE(4) !== process.pid);
  const owner = Buffer.alloc(8);
  owner.writeUInt32LE(index + 1, 0);
  slot.copy(owner, 4, 0, 4);  // the generation
  writeSync(file, owner, 0, 8, shards);
  return () => {
    writeSync(file, Buffer.alloc(8), 0, 8, shards);
    closeSync(file);
  };
}

describe('limiters of a file', () => {
  it('share it, and answer at once', async () => {
    const store = newFile();
    const one = new Limiter({ limits: LIMITS, store });
    const other = new Limiter({ limits: LIMITS, store });
    assert.deepEqual([one.isRemote, one.isShared], [false, true]);
    assert.equal(one.authorizeSync(['few'], { cost: 2 }).remaining, 1);
    assert.equal((await other.authorize(['few'])).remaining, 0);
    assert.equal(one.authorizeSync(['few']).limited, true);
    await other.refund(['few'], { cost: 2 });
    assert.equal((await one.peek(['few'], { cost: 0 })).remaining, 2);
    await one.reset(['few']);
    assert.equal((await other.peek(['few'], { cost: 0 })).remaining, 3);
    assert.ok(await one.ping() >= 0);
    assert.equal(statSync(pathOf(store)).mode & 0o777, 0o600);
    await one.close();
    await other.close();
  });

  it('know the buckets of all, and their own requests', async () => {
    const store = newFile();
    const one = new Limiter({ limits: LIMITS, store });
    const other = new Limiter({ limits: LIMITS, store });
    for (let i = 0; i < 3; ++i) one.authorizeSync(['user', 'alex', 'trade']);
    const [mine, theirs] = [one.stats(), other.stats()];
    assert.deepEqual([mine.allowed, theirs.allowed], [3, 0]);
    assert.deepEqual([mine.buckets, theirs.buckets], [2, 2]);
    assert.deepEqual([mine.maxBuckets, theirs.maxBuckets], [1000, 1000]);
    assert.ok(mine.storeBytes > 0);
    assert.equal(mine.storeBytes, theirs.storeBytes);
    assert.match(other.prometheus(), /^limitree_buckets 2$/m);
    await one.close();
    await other.close();
  });

  it('may be in several threads', async () => {
    const options = { limits: LIMITS, store: newFile() };
    const counts = await Promise.all(Array.from({ length: 3 }, async () => {
      const worker = new Worker(new URL('worker.mjs', import.meta.url),
        { workerData: { options, path: ['few'], calls: 10 } });
      const [count] = await once(worker, 'message');
      return count;
    }));
    assert.equal(counts.reduce((a, b) => a + b), 3);
  });
});

describe('trouble', () => {
  it('with a URL', () => {
    for (const [store, text] of [
      ['shm://', /needs a name/], ['shm://folder/file', /an absolute path/],
      ['shm://name?size=1', /no parameter "size", .* "max_buckets", /]]) {
      assert.throws(() => new Limiter({ limits: LIMITS, store }), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, text);
        return true;
      });
    }
  });

  it('with a file', async () => {
    const store = newFile();
    writeFileSync(pathOf(store), 'of another program\n'.repeat(100));
    assert.throws(() => new Limiter({ limits: LIMITS, store }), {
      code: 'LIMITREE_STORE_UNAVAILABLE', reason: 'shm_open',
      message: /not a file of limitree/ });
    const made = new Limiter({ limits: LIMITS, store: `${store}&reset=1` });
    assert.ok(made.authorizeSync(['few']).allowed);
    await made.close();
    const link = newFile();
    symlinkSync(pathOf(store), pathOf(link));
    assert.throws(() => new Limiter({ limits: LIMITS, store: link }), {
      code: 'LIMITREE_STORE_UNAVAILABLE', message: /symbolic link/ });
  });

  it('with a lock that is held', async () => {
    const store = newFile();
    const limiter = new Limiter({
      limits: LIMITS, store,
      descriptors: 'domain: d\ndescriptors: [{key: k, rate_limit: '
                   + '{unit: day, requests_per_unit: 5}}]' });
    const ask = () => limiter.shouldRateLimit('d', [{ k: 'v' }]);
    await ask();
    const release = holdLock(pathOf(store));
    const busy = { code: 'LIMITREE_STORE_UNAVAILABLE', reason: 'shm_busy' };
    await assert.rejects(ask(), busy);
    await assert.rejects(limiter.authorize(['few']), busy);
    release();
    await ask();
    assert.equal((await ask()).statuses[0].limitRemaining, 2);
    await limiter.close();
  });

  it('with a file that is cut off', async () => {
    const store = newFile();
    const limiter = new Limiter({ limits: LIMITS, store });
    const local =
      new Limiter({ limits: LIMITS, store, onStoreError: 'local' });
    assert.ok(limiter.authorizeSync(['few']).allowed);
    truncateSync(pathOf(store));
    const lost = { code: 'LIMITREE_STORE_UNAVAILABLE', reason: 'shm_lost' };
    assert.throws(() => limiter.authorizeSync(['few']), lost);
    await assert.rejects(limiter.authorize(['few']), lost);
    await assert.rejects(limiter.reset(['few']), lost);
    await assert.rejects(limiter.ping(), lost);
    assert.equal(local.authorizeSync(['few']).source, 'local');
    assert.deepEqual(limiter.reasonStats().map(({ reason }) => reason),
                     ['shm_lost']);
    await limiter.close();
    await local.close();
  });
});

describe('web servers', () => {
  for (const [name, start] of Object.entries(STARTS)) {
    it(`${name}: workers share a limit`, async () => {
      const options = { limit: 5, windowMs: 3_600_000, name: 'all',
                        store: newFile() };
      const workers = [await start(options), await start(options)];
      const found = [];
      for (let i = 0; i < 4; ++i) {
        for (const worker of workers) {
          const { status, headers } = await worker.fetch('/hello');
          found.push([status, headers.get('ratelimit')?.split(';')[1]]);
        }
      }
      assert.deepEqual(found, [
        [200, 'r=4'], [200, 'r=3'], [200, 'r=2'], [200, 'r=1'], [200, 'r=0'],
        [429, 'r=0'], [429, 'r=0'], [429, 'r=0']]);
      for (const worker of workers) await worker.stop();
    });

    it(`${name}: the file is cut off`, async () => {
      for (const [onStoreError, codes] of [
        [undefined, [200, 200, 429]], ['raise', [503, 503, 503]]]) {
        const lines = [];
        const store = newFile();
        const worker = await start({
          limit: 2, windowMs: 3_600_000, store, onStoreError,
          logger: { warn: (line) => lines.push(line) } });
        assert.deepEqual(await worker.statuses(1), [200]);
        truncateSync(pathOf(store));
        assert.deepEqual(await worker.statuses(3), codes);
        assert.equal(lines.length, 1);
        assert.match(lines[0],
          /^limitree: the store shm:\/\/\/.* in process \d+ \(shm_lost\), on/);
        await worker.stop();
      }
    });
  }

  it('express-rate-limit: workers share a limit', async () => {
    const store = newFile();
    const stores = [new LimitreeStore({ store }), new LimitreeStore({ store })];
    assert.equal(stores[0].localKeys, false);
    const found = [];
    for (const one of stores) {
      const app = express();
      app.use(theirLimit({ limit: 3, store: one }));
      app.get('/', (_, response) => response.send('hello'));
      const server = app.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${server.address().port}`;
      for (let i = 0; i < 2; ++i) found.push((await fetch(url)).status);
      server.closeAllConnections();
      server.close();
    }
    assert.deepEqual(found, [200, 200, 200, 429]);
    const lines = [];
    const local = new LimitreeStore(
      { store, logger: { warn: (line) => lines.push(line) } });
    local.init({ windowMs: 60_000 });
    truncateSync(pathOf(store));
    assert.equal((await local.increment('a')).totalHits, 1);
    assert.equal((await local.increment('a')).totalHits, 2);
    assert.equal(lines.length, 1);
    for (const one of [...stores, local]) await one.shutdown();
  });
});

// ---- Processes in two languages ---------------------------------------------

const CALLS = 20_000;

const NODE = `
import { Limiter } from 'limitree';
const [limits, store, calls] = process.argv.slice(1);
const limiter = new Limiter({ limits, store, timeout: '10s' });
console.log('ready');
process.stdin.once('data', () => {
  let admitted = 0;
  for (let i = 0; i < calls; ++i) {
    if (limiter.authorizeSync(['user', 'alex', 'trade']).allowed) ++admitted;
  }
  console.log(admitted);
  process.stdin.destroy();
});
`;

const PYTHON = `
import limitree, sys
limits, store, calls = sys.argv[1:]
limiter = limitree.Limiter(limits, store, timeout="10s")
print("ready", flush=True)
sys.stdin.readline()
print(sum(limiter.authorize("user", "alex", "trade").allowed
          for _ in range(int(calls))))
`;

/** The interpreter, and where the package is that was built beside this one. */
const { LIMITREE_PYTHON: python = 'build/venv/bin/python',
        LIMITREE_PYTHON_PATH: path = 'build/release/package' } = process.env;

/** Starts a process; resolves to functions that let it ask, and its count. */
async function worker(program, words, store) {
  const child = spawn(program, [...words, LIMITS, store, String(CALLS)], {
    env: { ...process.env, PYTHONPATH: path },
    stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (more) => { text += more; });
  const ended = once(child, 'close');
  while (!text.includes('ready')) await once(child.stdout, 'data');
  return async () => {
    child.stdin.end('go\n');
    assert.deepEqual(await ended, [0, null]);
    return Number(text.split('\n')[1]);
  };
}

it('Node.js and Python admit the limit together', async (t) => {
  if (!existsSync(python) || !existsSync(path)) {
    t.skip('the Python package was not built');
    return;
  }
  const store = newFile();
  const workers = await Promise.all(
    [0, 1, 2, 3].map((i) => i % 2 === 0
      ? worker(process.execPath, ['--input-type=module', '-e', NODE], store)
      : worker(python, ['-c', PYTHON], store)));
  const counts = await Promise.all(workers.map((ask) => ask()));
  assert.equal(counts.reduce((a, b) => a + b), 20_000, String(counts));
  // What was denied has not charged the level above it.
  const limiter = new Limiter({ limits: LIMITS, store });
  const { remaining } = await limiter.peek(['user', 'alex'], { cost: 0 });
  assert.equal(remaining, 10_000);
  await limiter.close();
});
