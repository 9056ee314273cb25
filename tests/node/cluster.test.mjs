// Processes of node:cluster that share a store.

import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';

import { Limiter } from 'limitree';

const LIMITS = 'schema: {user: {children: {"*": {limits: [99, 1, 3600]}}}}';
const CALLS = 200;

async function ask(store) {
  const limiter = new Limiter({ limits: LIMITS, store, timeout: '10s' });
  const answers = await Promise.all(Array.from({ length: CALLS }, () =>
    limiter.authorize(['user', 'alex'])));
  process.send(answers.filter(({ allowed }) => allowed).length);
  process.disconnect();  // now nothing keeps the process alive
}

async function test(t) {
  const { serverFor } = await import('./servers.mjs');
  const server = await serverFor(t);
  const admitted = await Promise.all(Array.from({ length: 4 }, async () => {
    const worker = cluster.fork({ STORE: server.url });
    const ended = once(worker, 'exit');
    const [count] = await once(worker, 'message');
    assert.deepEqual(await ended, [0, null]);
    return count;
  }));
  assert.equal(admitted.reduce((a, b) => a + b), 100);
}

if (cluster.isPrimary) {
  const { it } = await import('node:test');
  it('processes admit exactly the limit', test);
} else {
  await ask(process.env.STORE);
}
