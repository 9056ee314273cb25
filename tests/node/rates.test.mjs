// The durations and limits in words that every language reads alike.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { Limiter } from 'limitree';

const TABLE = JSON.parse(
  readFileSync(new URL('../conformance/rates.json', import.meta.url)));

function limiterOf(limits) {
  return new Limiter({ limits: { schema: { job: { limits } } } });
}

describe('limits in words', () => {
  for (const { text, rates, errors } of TABLE.rates) {
    it(JSON.stringify(text), async () => {
      if (errors !== undefined) {
        assert.throws(() => limiterOf(text), (error) => {
          assert.equal(error.code, 'LIMITREE_INVALID_CONFIG');
          assert.deepEqual(
            error.messages.map((one) =>
              one.replace(/^limits:1:\d+: schema\.job\.limits: /, '')),
            errors);
          return true;
        });
        return;
      }
      const limiter = limiterOf(text);
      const { levels } = await limiter.peek(['job'], { levels: true });
      assert.deepEqual(levels.map(({ limit }) => limit),
                       rates.map(({ burst }) => burst));
      const names = levels.map(({ policy }) => policy);
      assert.deepEqual(names, rates.length === 1 ? ['job'] : rates.map(
        ({ name }) => `job#${name.replace(/-.*/, '')}`));
      await limiter.close();
    });
  }
});

describe('durations in words', () => {
  for (const { text, ns, error } of TABLE.durations) {
    it(JSON.stringify(text), async () => {
      const limiter = limiterOf('5/s');
      if (/^[\d.]+$/.test(text) && error === undefined) {
        // A number is milliseconds in JavaScript, and seconds in such a text.
        await assert.rejects(limiter.close({ drain: text }), {
          message: `drain must have a unit if it is a text: say "${text}ms" ` +
            `or "${text}s", or the number ${text} for milliseconds` });
        return;
      }
      if (error === undefined && ns < 2 ** 31 * 1e6) {
        await limiter.close({ drain: text });  // nothing is under way
        assert.ok(limiter.closed);
        return;
      }
      await assert.rejects(limiter.close({ drain: text }), {
        message: `drain ${error ?? 'must be shorter than 25 days'}` });
      assert.ok(!limiter.closed);
    });
  }

  it('numbers are milliseconds, for every option that is a duration', () => {
    for (const name of ['timeout', 'connectTimeout']) {
      const made = (value) => new Limiter({
        limits: 'schema: {job: {limits: 5/s}}', store: 'redis://127.0.0.1:1',
        [name]: value });
      for (const right of [1000, 60_000, '1s500ms']) void made(right).close();
      for (const wrong of [0, 60_001, '61s', '1s1m']) {
        assert.throws(() => made(wrong), { message:
          `${name}: must be a duration from 1ms to 1m` });
      }
    }
  });
});
