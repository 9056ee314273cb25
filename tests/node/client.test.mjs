// Limiters whose commands a client of the program sends.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

import Redis from 'ioredis';
import { Limiter } from 'limitree';
import { LimitreeStore } from 'limitree/express-rate-limit';
import { rateLimit } from 'limitree/fetch';
import { RateLimiterRedis } from 'limitree/rate-limiter-flexible';
import { createClient, createCluster } from 'redis';

import { CLIENT_STORES, ioredis, server } from './client_stores.mjs';
import { RedisCluster } from './redis_cluster.mjs';
import { run } from './run.mjs';
import { PATIENT } from './servers.mjs';
import { until } from './until.mjs';

const limits = { schema: {
  user: { children: { '*': { limits: [99, 1, 3600] } } },
  job: { limits: [0, 1, 3600] } } };

const made = (client, options) =>
  new Limiter({ limits, store: { client }, timeout: PATIENT, ...options });

/** A client with the answers of a function. */
const fake = (call) => ({ call, defineCommand() {} });

for (const [kind, newStore] of CLIENT_STORES) {
  describe(kind, () => {
    it('shares with a URL', async () => {
      const store = newStore();
      const one = new Limiter({ limits, ...store, timeout: PATIENT });
      const other = new Limiter({ limits, ...store, store: server.url,
                                  timeout: PATIENT, denyCache: false });
      assert.ok(await one.ping() > 0);
      assert.equal((await one.authorize(['job'])).allowed, true);
      assert.equal((await other.authorize(['job'])).allowed, false);
      await one.reset(['job']);
      assert.equal((await other.authorize(['job'])).allowed, true);
      assert.equal(one.stats().connects, 0);
      assert.match(one.store, /^a client, /);
      await Promise.all([one.close(), other.close()]);
    });

    it('admits the limit to many at once', async () => {
      const limiter = new Limiter({ limits, ...newStore(), timeout: PATIENT });
      const decisions = await Promise.all(Array.from(
        { length: 150 }, () => limiter.authorize(['user', 'm\u00fcller'])));
      assert.equal(decisions.filter(({ allowed }) => allowed).length, 100);
      const held = await limiter.reserve(['user', 'alex']);
      assert.equal(held.allowed, true);
      await limiter.close();
    });

    it('loads scripts again', async () => {
      const limiter = new Limiter({ limits, ...newStore(), timeout: PATIENT });
      await limiter.authorize(['user', 'alex']);
      await server.command('SCRIPT', 'FLUSH');
      assert.equal((await limiter.authorize(['user', 'alex'])).remaining, 98);
      await limiter.close();
    });

    it('refuses calls that would wait', async () => {
      const limiter = new Limiter({ limits, ...newStore() });
      assert.throws(() => limiter.authorizeSync(['job']),
                    { code: 'LIMITREE_NOT_SYNC' });
      await limiter.close();
    });
  });
}

for (const [kind, newStore] of CLIENT_STORES) {
  it(`middlewares take ${kind}`, async () => {
    const { store, prefix } = newStore();
    const options = { limit: 2, windowMs: '1h', name: 'web', store, prefix,
                      timeout: PATIENT, keyGenerator: () => 'everybody' };
    const limited = rateLimit(options);
    const others = [rateLimit(options),
                    rateLimit({ ...options, store: server.url })];
    const handle = (one) => one.wrap(() => new Response('hello'))(
      new Request('http://here/'));
    assert.equal((await handle(limited)).status, 200);
    assert.equal((await handle(others[1])).status, 200);
    assert.equal(others[0].limiter, limited.limiter);
    for (const one of [limited, ...others]) {
      assert.equal((await handle(one)).status, 429);
    }
    await Promise.all([limited, ...others].map((one) => one.close()));
    const counts = new LimitreeStore({ store, prefix, timeout: PATIENT });
    counts.init({ windowMs: 3_600_000, limit: 5 });
    await counts.increment('a');
    assert.equal((await counts.increment('a')).totalHits, 2);
    await counts.shutdown();
  });
}

it('middlewares refuse what is no client', () => {
  for (const client of [undefined, {}, 'redis://x']) {
    assert.throws(() => rateLimit({ limit: 1, store: { client } }),
                  /store.client must be a client of ioredis or node-redis/);
  }
});

describe('clients of a cluster', async () => {
  const cluster = new RedisCluster(2);
  const clients = {
    ioredis: () => new Redis.Cluster([{ host: '127.0.0.1',
                                        port: cluster.port }]),
    'node-redis': () => createCluster({ rootNodes: [
      { url: `redis://127.0.0.1:${cluster.port}` }] }).connect(),
  };
  before(() => cluster.start());
  after(() => cluster.stop());

  for (const [kind, connect] of Object.entries(clients)) {
    it(kind, async () => {
      const client = await connect();
      const limiter = made(client, { prefix: `${kind}:` });
      await Promise.all(Array.from(
        { length: 20 }, (_, i) => limiter.authorize(['user', String(i)])));
      for (const node of cluster.nodes) {
        assert.doesNotMatch(await node.command('DBSIZE'), /^:0/);
      }
      // In two slots: a call for each, and all or nothing.
      const both = [['job'], ['user', 'alex']];
      assert.equal((await limiter.authorizeAll(both)).allowed, true);
      assert.equal((await limiter.authorizeAll(both)).allowed, false);
      // A peek answers as if the token were taken.
      assert.equal((await limiter.peek(['user', 'alex'])).remaining, 98);
      await limiter.reset(['job']);
      assert.equal((await limiter.authorizeAll(both)).allowed, true);
      const other = new Limiter({ limits, store: cluster.url,
                                  timeout: PATIENT, prefix: `${kind}:` });
      assert.equal((await other.peek(['user', 'alex'])).remaining, 97);
      assert.ok(await limiter.ping() > 0);
      // rate-limiter-flexible takes it as its own option, too.
      const flexible = new RateLimiterRedis({
        points: 1, duration: 60, storeClient: client, keyPrefix: kind,
        timeout: PATIENT });
      await flexible.consume('a');
      await assert.rejects(flexible.consume('a'), { consumedPoints: 2 });
      await Promise.all([limiter.close(), other.close(), flexible.close()]);
      (client.destroy ?? client.disconnect).call(client);
    });
  }
});

it('a limiter that nobody holds goes, and leaves its client', async () => {
  let gone = 0;
  const registry = new FinalizationRegistry(() => { ++gone; });
  const ask = async () => {
    const client = fake((...words) => ioredis.call(...words));
    registry.register(client);
    const limiter = made(client);
    return Promise.all([limiter.peek(['job']), limiter.ping()]);
  };
  for (let i = 0; i < 10; ++i) {
    const asked = ask();
    globalThis.gc();
    await asked;
  }
  await until(() => {
    globalThis.gc();
    return gone > 0;
  });
});

it('a client without its cluster', async () => {
  const cluster = await new RedisCluster().start();
  const client = new Redis(cluster.port);
  const limiter = made(client);
  await assert.rejects(limiter.authorizeAll([['job'], ['user', 'alex']]),
                       { reason: 'crossslot' });
  await limiter.close();
  client.disconnect();
  await cluster.stop();
});

function error(message, name = 'Error', code) {
  return Object.assign(new Error(message), { name, code });
}

for (const [answer, code, reason] of [
  ['garbage', 'LIMITREE_STORE_PROTOCOL', 'nodecision'],
  ['', 'LIMITREE_STORE_PROTOCOL', 'nodecision'],
  [5, 'LIMITREE_STORE_PROTOCOL', 'nodecision'],
  [null, 'LIMITREE_STORE_PROTOCOL', 'nodecision'],
  [Buffer.from('x'), 'LIMITREE_STORE_PROTOCOL', 'nodecision'],
  [error('LOADING x', 'ReplyError'), 'LIMITREE_STORE_UNAVAILABLE', 'loading'],
  [error('MOVED 1 x:1', 'ReplyError'), 'LIMITREE_STORE_UNAVAILABLE', 'moved'],
  [error('Connection is closed.'), 'LIMITREE_STORE_TIMEOUT', 'lost'],
  [error('no', 'Error', 'ECONNREFUSED'), 'LIMITREE_STORE_UNAVAILABLE', 'lost'],
  [error('', 'ClientClosedError'), 'LIMITREE_STORE_UNAVAILABLE', 'lost'],
]) {
  it(`a client that answers ${answer}`, async () => {
    for (const call of [
      async () => { if (answer instanceof Error) throw answer; return answer; },
      () => { if (answer instanceof Error) throw answer; return answer; },
    ]) {
      const limiter = made(fake(call));
      await assert.rejects(limiter.authorize(['job']), { code, reason });
      await limiter.close();
    }
  });
}

it('errors that cannot be read end no program', async () => {
  const nobody = error('x');
  nobody.constructor = undefined;
  for (const [answer, message] of [
    [Object.create(null), /an error that cannot be read/],
    [{ toString() { throw error('no'); } }, /an error that cannot be read/],
    [Object.assign(error(''), { message: 5 }), /: 5$/], [nobody, /: x$/]]) {
    const limiter = made(fake(() => Promise.reject(answer)));
    await assert.rejects(limiter.authorize(['job']), {
      code: 'LIMITREE_STORE_TIMEOUT', reason: 'lost', message });
    await limiter.close();
  }
});

it('a client that never answers', async () => {
  let asked = 0;
  const limiter = made(fake(() => { ++asked; return new Promise(() => {}); }),
                       { timeout: '1s', onStoreError: 'local' });
  for (let i = 0; i < 50; ++i) {
    assert.equal((await limiter.authorize(['user', 'a'])).source, 'local');
  }
  assert.ok(asked < 10, `${asked}`);
  await limiter.close();
});

it('closed clients have the policy of outages', async () => {
  const gone = new Redis(server.path);
  gone.disconnect();
  while (gone.status !== 'end') await sleep(1);
  const other = createClient({ socket: { path: server.path } });
  for (const client of [gone, other]) {
    const limiter = made(client, { onStoreError: 'deny' });
    const decision = await limiter.authorize(['job']);
    assert.deepEqual([decision.limited, decision.source], [true, 'deny']);
    await assert.rejects(limiter.ping(), { reason: 'lost' });
    await limiter.close();
  }
});

it('closing cancels, and drains', async () => {
  const answers = [];
  const limiter = made(fake(() =>
    new Promise((resolve) => answers.push(resolve))));
  const waiting = limiter.authorize(['job']);
  await sleep(1);
  assert.equal(answers.length, 1);
  await Promise.all([
    assert.rejects(waiting, { code: 'LIMITREE_CANCELLED' }), limiter.close()]);
  answers[0]('late');
  await sleep(1);
  const patient = made(ioredis, { prefix: 'drained:' });
  const last = patient.authorize(['job']);
  await patient.close({ drain: '30s' });
  assert.equal((await last).allowed, true);
});

it('a call may begin another one in the client', async () => {
  let inner;
  const limiter = made(fake((...words) => {
    inner ??= limiter.authorize(['user', 'inner']);
    return ioredis.call(...words);
  }), { prefix: 'nested:' });
  assert.equal((await limiter.authorize(['user', 'outer'])).remaining, 99);
  assert.equal((await inner).remaining, 99);
  await limiter.close();
});

it('a program ends while its limiter is open', async () => {
  const program = `
    import Redis from 'ioredis';
    import { Limiter } from 'limitree';
    const client = new Redis(${JSON.stringify(server.path)});
    const limiter = new Limiter({ limits: ${JSON.stringify(limits)},
                                  store: { client }, timeout: '5s' });
    console.log((await limiter.authorize(['user', 'end'])).remaining);
    console.log(await limiter.ping() > 0);
    client.disconnect();`;
  assert.equal(await run(process.execPath, [
    '--input-type=module', '-e', program], { timeout: 60_000 }),
               '99\ntrue\n');
});

it('refuses what is no client', () => {
  for (const client of [undefined, null, 'redis://x', {}, { call() {} }]) {
    assert.throws(() => made(client), {
      code: 'LIMITREE_INVALID_ARGUMENT',
      message: /store.client must be a client of ioredis or node-redis/ });
  }
  assert.throws(() => new Limiter({ limits, store: { clients: ioredis } }),
                /client/);
  assert.throws(() => made(ioredis, { perSecondStore: 'redis://x' }),
                /perSecondStore/);
  assert.throws(() => made(ioredis, { share: 'x' }), /share/);
});
