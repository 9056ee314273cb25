// Processes of node:cluster that share a store.

import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { get } from 'node:http';

import express from 'express';

import { Limiter } from 'limitree';
import { rateLimit } from 'limitree/express';

const LIMITS = 'schema: {user: {children: {"*": {limits: [99, 1, 3600]}}}}';
const WORKERS = 4;
const CALLS = 200;
const ADMITTED = 300;
const CLIENTS = 16;

async function ask(store) {
  const limiter = new Limiter({ limits: LIMITS, store, timeout: '10s' });
  const answers = await Promise.all(Array.from({ length: CALLS }, () =>
    limiter.authorize(['user', 'alex'])));
  process.send(answers.filter(({ allowed }) => allowed).length);
  process.disconnect();  // now nothing keeps the process alive
}

async function testCalls(store) {
  const admitted = await Promise.all(Array.from({ length: WORKERS },
    async () => {
      const worker = cluster.fork({ STORE: store });
      const ended = once(worker, 'exit');
      const [count] = await once(worker, 'message');
      assert.deepEqual(await ended, [0, null]);
      return count;
    }));
  assert.equal(admitted.reduce((a, b) => a + b), 100);
}

function serve(store) {
  const app = express();
  // One more request after 288 seconds.
  app.use(rateLimit({ limit: ADMITTED, windowMs: 24 * 3_600_000, store,
                      timeout: '10s' }));
  app.get('/', (_, response) => response.send(String(process.pid)));
  // All workers get the same port.
  const server = app.listen(0, '127.0.0.1', () =>
    process.send(server.address().port));
}

/** Asks on a connection of its own, which goes to the next worker. */
async function answerOf(port) {
  const [response] = await once(get({ port, agent: false }), 'response');
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  return { status: response.statusCode, text };
}

async function testServers(store) {
  const workers = Array.from({ length: WORKERS }, () =>
    cluster.fork({ STORE: store, SERVE: 'yes' }));
  const ports = await Promise.all(workers.map(async (worker) => {
    const [port] = await once(worker, 'message');
    return port;
  }));
  const statuses = new Map();
  const processes = new Set();
  let left = 2 * ADMITTED;
  await Promise.all(Array.from({ length: CLIENTS }, async () => {
    while (left-- > 0) {
      const { status, text } = await answerOf(ports[0]);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status === 200) processes.add(text);
    }
  }));
  assert.deepEqual([...statuses].sort(), [[200, ADMITTED], [429, ADMITTED]]);
  assert.equal(processes.size, WORKERS);
  await Promise.all(workers.map((worker) => {
    const ended = once(worker, 'exit');
    worker.kill();
    return ended;
  }));
}

async function runTests() {
  const { it } = await import('node:test');
  const { serverFor } = await import('./servers.mjs');
  const { newFile } = await import('./shared_files.mjs');
  it('processes admit exactly the limit, in Redis', async (t) =>
    testCalls((await serverFor(t)).url));
  it('processes admit exactly the limit, in a file', () =>
    testCalls(newFile()));
  it('servers admit exactly the limit', () => testServers(newFile()));
}

const { STORE, SERVE } = process.env;
if (cluster.isPrimary) await runTests();
else if (SERVE) serve(STORE);
else await ask(STORE);
