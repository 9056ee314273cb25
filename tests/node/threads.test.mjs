// worker_threads, each with its own limiter or with a shared one.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';

import { Limiter } from 'limitree';

import { PATIENT, RedisServer } from './servers.mjs';

const LIMITS = 'schema: {user: {children: {"*": {limits: [99, 1, 3600]}}}}';
const PATH = ['user', 'alex'];
const PROGRAM = new URL('worker.mjs', import.meta.url);

const server = new RedisServer();
before(() => server.start());
after(() => server.stop());

function start(workerData, options = {}) {
  return new Worker(PROGRAM, { workerData, ...options });
}

async function resultOf(worker) {
  const ended = once(worker, 'exit');
  const [result] = await once(worker, 'message');
  await ended;
  return result;
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

describe('threads', () => {
  it('share a limiter by its name', async () => {
    const options = { limits: LIMITS, share: 'by name' };
    const limiter = new Limiter(options);
    const admitted = await Promise.all(Array.from({ length: 4 }, () =>
      resultOf(start({ options, path: PATH, calls: 500 }))));
    assert.equal(sum(admitted), 100);
    assert.equal(limiter.authorizeSync(PATH).limited, true);
    const stats = limiter.stats();
    assert.deepEqual([stats.allowed, stats.limited], [100, 1901]);
    await limiter.close();
    const afterwards = new Limiter(options);
    assert.equal(afterwards.authorizeSync(PATH).allowed, true);
    await afterwards.close();
  });

  it('count for themselves without one', async () => {
    const options = { limits: LIMITS };
    const admitted = await Promise.all(Array.from({ length: 2 }, () =>
      resultOf(start({ options, path: PATH, calls: 200 }))));
    assert.deepEqual(admitted, [100, 100]);
  });

  it('share the limiter of the environment', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
    const file = join(folder, 'limits.yaml');
    writeFileSync(file, LIMITS);
    const env = { ...process.env, LIMITREE_LIMITS: file };
    const other = new Limiter({ limits: file, store: 'memory://',
                                share: 'default' });
    const admitted = await Promise.all(Array.from({ length: 2 }, () =>
      resultOf(start({ task: 'default', calls: 80 }, { env }))));
    assert.equal(sum(admitted), 100);
    await other.close();
    rmSync(folder, { recursive: true });
  });

  it('admit exactly the limit of a store', async () => {
    const options = { limits: LIMITS, store: server.url, timeout: PATIENT,
                      denyCache: false };
    const limiter = new Limiter(options);
    await limiter.reset(PATH);
    const admitted = await Promise.all(Array.from({ length: 3 }, () =>
      resultOf(start({ options, path: PATH, calls: 100 }))));
    assert.equal(sum(admitted), 100);
    await limiter.close();
  });
});

describe('a shared limiter', () => {
  it('has one tree and one set of options', async () => {
    const one = new Limiter({ limits: LIMITS, share: 'a', maxBuckets: 5000 });
    for (const other of [{ limits: 'schema: {a: {}}', maxBuckets: 5000 },
                         { limits: LIMITS }]) {
      assert.throws(() => new Limiter({ ...other, share: 'a' }), {
        code: 'LIMITREE_INVALID_CONFIG',
        message: 'share: the limiter "a" has other limits or options' });
    }
    await one.reload('schema: {a: {limits: [4, 1, 60]}}');
    const two = new Limiter({ limits: 'schema: {a: {limits: [4, 1, 60]}}',
                              share: 'a', maxBuckets: 5000 });
    two.authorizeSync(['a'], { cost: 5 });
    assert.equal(one.authorizeSync(['a']).limited, true);
    await two.close();
    assert.equal(one.authorizeSync(['a']).limited, true);
    await one.close();
    new Limiter({ limits: LIMITS, share: 'a' });
  });
});

describe('the end of a thread', () => {
  it('leaves nothing behind, often', async () => {
    const store = server.url;
    for (let i = 0; i < 8; ++i) {
      const workers = [
        { limits: LIMITS }, { limits: LIMITS, share: 'often' },
        { limits: LIMITS, store, timeout: PATIENT },
      ].map((options) => start({ options, path: ['user', `${i}`], calls: 20 }));
      assert.deepEqual(await Promise.all(workers.map(resultOf)), [20, 20, 20]);
    }
  });

  it('in the middle of calls', async () => {
    server.signal('SIGSTOP');
    try {
      for (let i = 0; i < 6; ++i) {
        const options = { limits: LIMITS, store: server.url, timeout: 300 };
        const worker = start({ task: 'hang', options, path: PATH, calls: 50 });
        await once(worker, 'message');
        await worker.terminate();
      }
    } finally {
      server.signal('SIGCONT');
    }
    const limiter = new Limiter({ limits: LIMITS, store: server.url,
                                  timeout: PATIENT });
    assert.equal((await limiter.peek(PATH)).limit, 100);
    await limiter.close();
  });

  it('in the middle of deliveries', async () => {
    for (let i = 0; i < 6; ++i) {
      const options = { limits: LIMITS, store: server.url, timeout: PATIENT };
      const worker = start({ task: 'hang', options, path: PATH, calls: 200 });
      await once(worker, 'message');
      await worker.terminate();
    }
  });
});
