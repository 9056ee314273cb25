// limiter.wait(): callers that wait in line.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Limiter } from 'limitree';

/** A limiter of 200 in a second, one by one. */
function limiterOf(limit = { count: 200, period: '1s', burst: 1 }) {
  return new Limiter({ limits: { schema: {
    user: { children: { '*': { limits: limit } } } } } });
}

describe('wait', () => {
  it('serves callers in their order, and no faster than allowed', async () => {
    await using_(limiterOf(), async (limiter) => {
      const order = [];
      const begin = performance.now();
      await Promise.all(Array.from({ length: 41 }, async (_, i) => {
        const decision = await limiter.wait(['user', 'alex']);
        assert.equal(decision.allowed, true);
        order.push(i);
      }));
      assert.deepEqual(order, Array.from({ length: 41 }, (_, i) => i));
      assert.ok(performance.now() - begin >= 199);
      // Each caller was counted once: nobody asks for those who wait.
      const { allowed, limited } = limiter.stats();
      assert.equal(allowed, 41);
      assert.ok(limited <= 2 * 41, String(limited));
    });
  });

  it('lets others pass', async () => {
    await using_(limiterOf({ count: 1, period: '1h' }), async (limiter) => {
      assert.equal((await limiter.wait(['user', 'alex'])).allowed, true);
      const waits = limiter.wait(['user', 'alex'], { maxWait: '2h' });
      assert.equal((await limiter.wait(['user', 'bob'])).allowed, true);
      await limiter.close();
      await assert.rejects(waits, { code: 'LIMITREE_CANCELLED' });
    });
  });

  it('is bounded', async () => {
    await using_(limiterOf({ count: 1, period: '1h' }), async (limiter) => {
      const path = ['user', 'alex'];
      await limiter.wait(path);
      // It would be longer.
      assert.equal((await limiter.wait(path)).limited, true);
      assert.equal((await limiter.wait(path, { maxWait: '1h', cost: 5 }))
        .retryAfterMs, Infinity);
      const options = { maxWait: '2h', maxQueue: 2 };
      const all = [limiter.wait(path, options), limiter.wait(path, options)];
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal((await limiter.wait(path, options)).limited, true);
      assert.equal((await limiter.wait(path, { maxWait: 5 })).limited, true);
      await limiter.close();
      for (const one of all) {
        await assert.rejects(one, { code: 'LIMITREE_CANCELLED' });
      }
    });
  });

  it('is bounded for those who come together, too', async () => {
    await using_(limiterOf({ count: 3, period: '1h' }), async (limiter) => {
      const path = ['user', 'alex'];
      let ended = 0;
      const all = Array.from({ length: 50 }, (_, i) =>
        limiter.wait(path, { maxWait: '2h', maxQueue: i < 40 ? 2 : 4 })
          .finally(() => { ++ended; }));
      const of = (from, to) => Promise.all(all.slice(from, to).map(
        (one) => one.then(({ allowed }) => allowed)));
      assert.deepEqual(await of(0, 3), [true, true, true]);
      assert.deepEqual(await of(5, 40), Array(35).fill(false));
      assert.deepEqual(await of(42, 50), Array(8).fill(false));
      assert.equal(ended, 46);
      await limiter.close();
      for (const i of [3, 4, 40, 41]) {
        await assert.rejects(all[i], { code: 'LIMITREE_CANCELLED' });
      }
    });
  });

  it('charges for whom it was called', async () => {
    const limits = { count: 1, period: '100ms', burst: 3 };
    await using_(limiterOf(limits), async (limiter) => {
      const leftOf = async (user) =>
        (await limiter.peek(['user', user], { cost: 0 })).remaining;
      const [path, cost] = [['user', 'alex'], { request: 3 }];
      await limiter.wait(path, { cost: 3 });
      const waits = limiter.wait(path, { cost });
      path[1] = 'bob';
      cost.request = 1;
      const { allowed, remaining } = await waits;
      assert.deepEqual([allowed, remaining], [true, 0]);
      assert.equal(await leftOf('bob'), 3);
    });
  });

  it('may be left', async () => {
    await using_(limiterOf({ count: 1, period: '1h' }), async (limiter) => {
      const path = ['user', 'alex'];
      await limiter.wait(path);
      const going = new AbortController();
      const { signal } = going;
      const waits = limiter.wait(path, { maxWait: '2h', signal });
      setImmediate(() => going.abort(new Error('enough')));
      await assert.rejects(waits, /enough/);
      await assert.rejects(limiter.wait(path, { signal }), /enough/);
      // There is room again.
      const next = limiter.wait(path, { maxWait: '2h', maxQueue: 1 });
      await limiter.close();
      await assert.rejects(next, { code: 'LIMITREE_CANCELLED' });
    });
  });

  it('passes errors on', async () => {
    await using_(limiterOf(), async (limiter) => {
      await assert.rejects(limiter.wait(['nobody']),
                           { code: 'LIMITREE_UNKNOWN_ROOT' });
      for (const [options, message] of [
        [{ maxWait: 'soon' }, /maxWait/], [{ maxQueue: -1 }, /maxQueue must/],
        [{ wait: 1 }, /maxWait/], [{ cost: -1 }, /cost/],
      ]) {
        await assert.rejects(limiter.wait(['user', 'a'], options), message);
      }
    });
  });
});

async function using_(limiter, use) {
  try {
    await use(limiter);
  } finally {
    await limiter.close();
  }
}
