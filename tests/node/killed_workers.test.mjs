// Workers of node:cluster that are killed while they answer: never more than
// so many requests are answered at once, and no slot stays taken.

import assert from 'node:assert/strict';
import cluster from 'node:cluster';
import { once } from 'node:events';
import http, { createServer, get } from 'node:http';

import express from 'express';

import { Limiter } from 'limitree';
import { rateLimit } from 'limitree/express';

const SLOTS = 4;
// Longer than a busy machine stands still: then a hold would end too soon.
const HOLD = '8s';
const LIMITS = { schema: {
  job: { limits: { concurrent: SLOTS, hold: HOLD } } } };
const WORKERS = 4;
const CLIENTS = 10;
const KILLS = 8;
const PASSED_BETWEEN = 8;

function serve({ STORE, UPSTREAM, PORT }) {
  const app = express();
  app.use(rateLimit({ limits: LIMITS, path: () => ['job'], reserve: HOLD,
                      store: STORE, timeout: '10s', onStoreError: 'raise' }));
  app.get('/', (_request, response) => {
    get(UPSTREAM, { agent: false }, (answer) => answer.pipe(response));
  });
  app.listen(Number(PORT), '127.0.0.1', (error) => process.send(String(error)));
}

/** A server that knows how many requests it has, and answers some of them. */
async function startUpstream() {
  const inside = new Set();
  const upstream = { most: 0, inside, server: createServer(
    (_request, response) => {
      inside.add(response);
      upstream.most = Math.max(upstream.most, inside.size);
      response.once('close', () => inside.delete(response));
      response.write('so far');
      if (upstream.isPatient) return;
      setTimeout(() => {
        inside.delete(response);
        response.end();
      }, 60 * Math.random());
    }) };
  upstream.server.listen(0, '127.0.0.1');
  await once(upstream.server, 'listening');
  upstream.url = `http://127.0.0.1:${upstream.server.address().port}`;
  return upstream;
}

/** The status of a request; 0 if its worker was killed. */
async function statusOf(port) {
  const request = get({ port, agent: false });
  try {
    const [response] = await once(request, 'response');
    for await (const _ of response);
    return response.statusCode;
  } catch {
    return 0;
  }
}

async function testKills(store, port, until) {
  const upstream = await startUpstream();
  const workers = new Set();
  const fork = async () => {
    const worker = cluster.fork({ STORE: store, UPSTREAM: upstream.url,
                                  PORT: port });
    assert.deepEqual(await once(worker, 'message'), ['undefined', undefined]);
    workers.add(worker);
  };
  await Promise.all(Array.from({ length: WORKERS }, fork));

  const found = new Map();
  let isOver = false;
  const passed = () => found.get(200) ?? 0;
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (!isOver) {
      const status = await statusOf(port);
      found.set(status, (found.get(status) ?? 0) + 1);
    }
  });
  for (let i = 0; i < KILLS; ++i) {
    const before = passed();
    await until(() => passed() >= before + PASSED_BETWEEN);
    const [worker] = [...workers].sort(() => Math.random() - 0.5);
    workers.delete(worker);
    const gone = once(worker, 'exit');
    worker.process.kill('SIGKILL');
    await gone;
    await fork();
  }
  isOver = true;
  await Promise.all(clients);
  assert.ok(upstream.most > 1 && upstream.most <= SLOTS, String(upstream.most));
  assert.deepEqual([...found.keys()].filter((status) => status !== 0).sort(),
                   [200, 429]);

  const limiter = new Limiter({ limits: LIMITS, store, timeout: '10s' });
  await until(async () =>
    (await limiter.peek(['job'], { cost: 0 })).remaining === SLOTS);
  upstream.isPatient = true;
  const agent = new http.Agent({ keepAlive: false });
  const open = await Promise.all(Array.from({ length: SLOTS }, async () =>
    (await once(get({ port, agent }), 'response'))[0]));
  assert.deepEqual(open.map(({ statusCode }) => statusCode),
                   Array(SLOTS).fill(200));
  assert.equal(upstream.inside.size, SLOTS);
  assert.equal(await statusOf(port), 429);

  await limiter.close();
  for (const one of open) one.on('error', () => {}).destroy();
  await Promise.all([...workers].map((worker) => {
    const gone = once(worker, 'exit');
    worker.process.kill('SIGKILL');
    return gone;
  }));
  upstream.server.closeAllConnections();
  upstream.server.close();
}

async function runTests() {
  // Workers accept by themselves: else a connection that is on its way to one
  // that is killed would never be answered.
  cluster.schedulingPolicy = cluster.SCHED_NONE;
  const { describe, it } = await import('node:test');
  const { serverFor } = await import('./servers.mjs');
  const { newFile } = await import('./shared_files.mjs');
  const { until } = await import('./until.mjs');
  const { freePort } = await import('./web_programs.mjs');
  describe('killed workers leave no slot behind', { concurrency: true }, () => {
    it('in a file', async () =>
      testKills(newFile(), await freePort(), until));
    it('in Redis', async (t) =>
      testKills((await serverFor(t)).url, await freePort(), until));
  });
}

if (cluster.isPrimary) await runTests();
else serve(process.env);
