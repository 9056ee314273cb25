// How many requests are answered at once: slots are held while a response
// lasts, with every framework and over real HTTP.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { FRAMEWORKS, endless, open, served, statusOf } from './held_apps.mjs';
import { RedisServer, serverFor } from './servers.mjs';
import { newFile } from './shared_files.mjs';
import { until } from './until.mjs';

const SLOTS = 3;
const LIMITS = { schema: {
  job: { limits: { concurrent: SLOTS, hold: '1h' } } } };
const PATH = ['job'];

/** A limiter for one test, and the options of a middleware. */
function limiterFor(test, options) {
  const limiter = new Limiter({ limits: LIMITS, timeout: '30s', ...options });
  test.after(() => limiter.close());
  const free = async () => (await limiter.peek(PATH, { cost: 0 })).remaining;
  return { limiter, free,
           options: { limiter, path: () => PATH, reserve: true } };
}

/** A limiter whose slots are all taken by the requests in `taken`. */
async function full(test, name, handle = () => ({ body: endless() })) {
  const { free, options } = limiterFor(test);
  const url = await served(test, name, options, handle);
  const taken = [];
  for (let i = 0; i < SLOTS; ++i) taken.push(await open(url));
  assert.equal(await free(), 0);
  return { url, free, taken };
}

for (const name of FRAMEWORKS) {
  describe(name, () => {
    it('never answers more at once', async (t) => {
      const stores = { memory: 'memory://', shm: newFile(),
                       redis: (await serverFor(t)).url };
      for (const [kind, store] of Object.entries(stores)) {
        const { free, options } = limiterFor(t, { store });
        let asked = 0;
        let inside = 0;
        let most = 0;
        let clients = 3 * SLOTS;
        const path = () => {
          ++asked;
          return PATH;
        };
        const url = await served(t, name, { ...options, path }, () => {
          most = Math.max(most, ++inside);
          // Others come meanwhile.
          const last = asked + 2 * SLOTS;
          return { body: Readable.from((async function* () {
            do {
              yield 'more';
              await new Promise((resolve) => setImmediate(resolve));
            } while (asked < last && clients > SLOTS);
            --inside;
          })()) };
        });
        const found = new Set();
        await Promise.all(Array.from({ length: clients }, async () => {
          for (let passed = 0; passed < 10;) {
            const status = await statusOf(url);
            found.add(status);
            if (status === 200) ++passed;
          }
          --clients;
        }));
        assert.deepEqual([...found].sort(), [200, 429], kind);
        assert.equal(most, SLOTS, kind);
        await until(async () => await free() === SLOTS);
      }
    });

    it('tells who is denied', async (t) => {
      const { url, taken } = await full(t, name);
      const denied = await open(url);
      assert.equal(denied.statusCode, 429);
      assert.match(denied.headers.ratelimit, /^"job";r=0;/);
      assert.match(denied.headers['ratelimit-policy'], /^"job";q=3;/);
      assert.equal(denied.headers['retry-after'], '3600');
      assert.equal(denied.headers['content-type'], 'application/problem+json');
      denied.resume();
      for (const one of taken) one.destroy();
    });

    it('frees the slot of a client that goes away', async (t) => {
      const { url, free, taken } = await full(t, name);
      for (let i = 0; i < SLOTS; ++i) {
        taken[i].destroy();
        await until(async () => await free() === 1);
        taken[i] = await open(url);
        assert.equal(await free(), 0);
      }
    });

    it('frees the slots of requests that wait in a line', async (t) => {
      const { limiter, free, options } = limiterFor(t);
      const bodies = [];
      const url = await served(t, name, options, () => {
        bodies.push(endless());
        return { body: bodies.at(-1) };
      });
      const socket = connect(new URL(url).port, '127.0.0.1');
      socket.on('error', () => {});
      socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(SLOTS));
      await until(async () => bodies.length === SLOTS);
      assert.equal(await free(), 0);
      socket.resetAndDestroy();
      await until(async () => await free() === SLOTS);
      assert.equal(limiter.closed, false);
    });

    it('frees the slot of a handler that fails', async (t) => {
      const { free, options } = limiterFor(t);
      const url = await served(t, name, options, (path) => {
        if (path === '/throws') throw new Error('on purpose');
        if (path === '/rejects') return Promise.reject(new Error('as well'));
        const body = endless();
        setImmediate(() => body.destroy(
          path === '/breaks' ? new Error('in it') : undefined));
        return { body };
      });
      for (let i = 0; i < 2 * SLOTS; ++i) {
        assert.equal(await statusOf(`${url}/throws`), 500);
        assert.equal(await statusOf(`${url}/rejects`), 500);
        await until(async () => await free() === SLOTS);
      }
    });

    it('frees the slot of a stream that breaks', async (t) => {
      const bodies = [];
      const { free, taken } = await full(t, name, () => {
        bodies.push(endless());
        return { body: bodies.at(-1) };
      });
      const cut = taken.map((one) => Promise.race(
        [once(one.resume(), 'close'), once(one, 'aborted')]));
      // Frameworks log it, or destroy the response; pipe() leaves it to others.
      for (const body of bodies) {
        body.on('error', () => {});
        body.destroy(new Error('on purpose'));
      }
      if (['express', 'http'].includes(name)) taken.map((one) => one.destroy());
      await Promise.all(cut);
      await until(async () => await free() === SLOTS);
    });

    it('frees it when a handler says so, and never twice', async (t) => {
      const { free, options } = limiterFor(t);
      const bodies = [];
      const calls = [];
      const url = await served(t, name, options, async (path, info) => {
        const { reservation } = info;
        assert.equal(reservation, info.decision);
        assert.equal(reservation.held, 1);
        calls.push(t.mock.method(reservation, 'settle').mock);
        assert.equal(await reservation.settle(), 1);
        if (path === '/last') return { body: 'hello' };
        bodies.push(endless());
        return { body: bodies.at(-1) };
      });
      const responses = [];
      for (let i = 0; i < 2 * SLOTS; ++i) responses.push(await open(url));
      assert.equal(await free(), SLOTS);
      for (const body of bodies) body.end();
      await Promise.all(responses.map((one) => once(one.resume(), 'end')));
      assert.equal(await statusOf(`${url}/last`), 200);
      assert.deepEqual(calls.map((one) => one.callCount()),
                       Array(calls.length).fill(1));
    });

    it('does not begin for a client that has gone', async (t) => {
      const redis = await new RedisServer().start();
      t.after(() => redis.stop());
      const { free, options } = limiterFor(t, { store: redis.url });
      let ran = 0;
      let asked = 0;
      const url = await served(t, name, { ...options, path: () => {
        ++asked;
        return PATH;
      } }, () => {
        ++ran;
        return { body: 'hello' };
      });
      assert.equal(await statusOf(url), 200);
      await until(async () => await free() === SLOTS);
      redis.signal('SIGSTOP');
      const sockets = Array.from({ length: 2 * SLOTS }, () =>
        connect(new URL(url).port, '127.0.0.1'));
      for (const socket of sockets) {
        socket.on('error', () => {});
        socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      }
      await until(() => asked === 1 + sockets.length);
      for (const socket of sockets) socket.resetAndDestroy();
      await Promise.all(sockets.map((one) => one.closed || once(one, 'close')));
      // Now the server knows: it has read what came before.
      await new Promise((resolve) => setTimeout(resolve, 50));
      redis.signal('SIGCONT');
      await until(async () => await free() === SLOTS);
      assert.equal(await statusOf(url), 200);
      assert.equal(ran, 2);
    });

    it('says which option is missing', async (t) => {
      const { limiter } = limiterFor(t);
      const lines = [];
      const url = await served(t, name, {
        limiter, path: () => PATH, logger: { warn: (line) => lines.push(line) },
      }, () => assert.fail());
      assert.equal(await statusOf(url), 500);
      if (name === 'http') {
        assert.match(lines.join(), /job limits what is held at once: give /);
      }
    });
  });
}
