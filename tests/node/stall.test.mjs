// A busy process must not look like a dead store: the event loop pauses while
// calls are pending, and a server runs on a machine without a free processor.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, get } from 'node:http';
import { availableParallelism } from 'node:os';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import express from 'express';
import fastify from 'fastify';

import { Limiter } from 'limitree';
import { rateLimit } from 'limitree/express';
import limitree from 'limitree/fastify';

import { serverFor } from './servers.mjs';

const redis = await serverFor(await import('node:test'));
const LIMITS = 'schema: {user: {children: {"*": {limits: [99, 1, 3600]}}}}';

/** Keeps the event loop from running. */
function pause(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Counts the outcomes of promises: "ok", or the message of the error. */
async function outcomes(promises) {
  const found = {};
  for (const { status, reason } of await Promise.allSettled(promises)) {
    const what = status === 'fulfilled' ? 'ok' : reason.message;
    found[what] = (found[what] ?? 0) + 1;
  }
  return found;
}

/**
 * Runs a round in which no call may fail.  Repeats a round that failed, because
 * on a busy machine the store may really have been silent for that long.  A
 * mistake in limitree fails every round.
 */
async function failsNone(round) {
  let found;
  for (let i = 0; i < 3; ++i) {
    found = await round();
    if (Object.keys(found).join() === 'ok') return;
  }
  assert.deepEqual(found, { ok: found.ok });
}

// Each pause is longer than its deadline; the first has the default deadline.
describe('a pause of the event loop', () => {
  for (const ms of [60, 200, 500]) {
    for (const calls of [10, 1000]) {
      it(`of ${ms} ms with ${calls} calls under way fails none`, async () => {
        const limiter = new Limiter({ limits: LIMITS, store: redis.url,
                                      timeout: ms - 10 });
        const ask = (i) => limiter.authorize(['user', `${ms} ${calls} ${i}`]);
        await limiter.ping();
        for (let turns = 0; turns < 3; ++turns) {
          await failsNone(async () => {
            const promises = Array.from({ length: calls }, (_, i) => ask(i));
            for (let i = 0; i < turns; ++i) await turn();
            pause(ms);
            // One more call after them must succeed: the store is not blamed.
            await Promise.allSettled(promises);
            return outcomes([...promises, ask(0)]);
          });
        }
        await limiter.close();
      });
    }
  }

  it('before the first call has a connection fails none', () =>
    failsNone(async () => {
      const limiter = new Limiter({ limits: LIMITS, store: redis.url });
      const promises = Array.from({ length: 20 }, (_, i) =>
        limiter.authorize(['user', `first ${i}`]));
      pause(300);
      const found = await outcomes(promises);
      await limiter.close();
      return found;
    }));
});

/** Processes that take every processor until the test is over. */
function busyFor(test) {
  const busy = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  test.after(() => Promise.all(busy.map((one) => {
    const gone = once(one, 'exit');
    one.kill('SIGKILL');
    return gone;
  })));
}

const SERVERS = {
  async express(options) {
    const app = express();
    const limit = rateLimit(options);
    app.use(limit);
    app.get('/', (_, response) => response.send('hello'));
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return [server, () => limit.close()];
  },

  async fastify(options) {
    const app = fastify();
    await app.register(limitree, options);
    app.get('/', async () => 'hello');
    await app.listen({ port: 0, host: '127.0.0.1' });
    return [app.server, () => app.close()];
  },
};

/** The statuses of `count` requests over 50 connections. */
async function load(port, count) {
  const agent = new Agent({ keepAlive: true, maxSockets: 50 });
  const found = {};
  let left = count;
  await Promise.all(Array.from({ length: 50 }, async () => {
    while (left-- > 0) {
      const [answer] = await once(get({ port, agent }), 'response');
      answer.resume();
      await once(answer, 'end');
      found[answer.statusCode] = (found[answer.statusCode] ?? 0) + 1;
    }
  }));
  agent.destroy();
  return found;
}

for (const [name, start] of Object.entries(SERVERS)) {
  /** The statuses that a server with these options answers. */
  async function serve(options, count) {
    const [server, stop] = await start({
      limit: 1_000_000, store: redis.url, name, ...options });
    const found = await load(server.address().port, count);
    server.closeAllConnections();
    server.close();
    await stop();
    return found;
  }

  describe(`${name} with 50 connections`, () => {
    it('fails none while something holds up the loop', async () => {
      const timer = setInterval(pause, 30, 300);
      let found;
      for (let i = 0; i < 3 && found?.[503] !== 0; ++i) {
        found = { 503: 0, ...await serve(
          { onStoreError: 'raise', timeout: 250 }, 500) };
      }
      clearInterval(timer);
      assert.deepEqual(found, { 200: 500, 503: 0 });
    });

    it('fails none beside processes that take every processor', async (t) => {
      busyFor(t);
      assert.deepEqual(await serve({ logger: { warn() {} } }, 1500),
                       { 200: 1500 });
    });
  });
}
