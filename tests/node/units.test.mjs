// Costs in several units, such as requests and tokens.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { Limiter, LimitreeError } from 'limitree';

const INVALID = 'LIMITREE_INVALID_ARGUMENT';

const limits = (unit = 'tokens') => ({ schema: {
  key: { children: { '*': { limits: [
    { name: 'rpm', count: 5, period: '1h' },
    { name: 'tpm', count: 1000, period: '1h', unit }] } } },
  user: { children: { '*': { children: { ask: { limits: [
    { count: 900, period: '1h', unit }] } } } } },
  job: { limits: { count: 3, period: '1h' } },
} });

const made = (options = {}) =>
  new Limiter({ limits: limits(), clock: () => 1.7e12, ...options });

/** Tokens left in each limit of a path. */
async function left(limiter, path = ['key', 'a']) {
  const { levels } = await limiter.peek(path, { cost: 0, levels: true });
  return levels.map(({ remaining }) => remaining);
}

describe('a cost in units', () => {
  it('is decided in one step', async () => {
    const limiter = made();
    const path = ['key', 'a'];
    const cost = { request: 2, tokens: 600 };
    assert.ok(limiter.authorizeSync(path, { cost }).allowed);
    assert.deepEqual(await left(limiter), [3, 400]);
    const denied = await limiter.authorize(path, { cost, levels: true });
    assert.deepEqual(
      denied.levels.map((one) => [one.unit, one.cost, one.limited]),
      [['request', 2, false], ['tokens', 600, true]]);
    assert.deepEqual(await left(limiter), [3, 400]);
    assert.ok((await limiter.peek(path, { cost: { tokens: 401 } })).limited);
    assert.equal(denied.toJSON().levels[1].unit, 'tokens');
    assert.equal(denied.headers()['RateLimit-Policy'],
      '"key:*#rpm";q=5;w=3600, "key:*#tpm";q=1000;qu="tokens";w=3600');
  });

  it('has one request if it does not name any', async () => {
    const limiter = made();
    await limiter.authorize(['key', 'a'], { cost: { tokens: 1 } });
    await limiter.authorize(['key', 'a'], {
      cost: Object.assign(Object.create(null), { request: 0, tokens: 2 }) });
    assert.deepEqual(await left(limiter), [4, 997]);
    assert.equal((await limiter.authorize(['job'], { cost: { request: 3 } }))
      .remaining, 0);
  });

  it('can be spent and refunded', async () => {
    const limiter = made();
    await limiter.spend(['key', 'a'], { cost: { request: 3, tokens: 700 } });
    await limiter.refund(['key', 'a'], { cost: { tokens: 200 } });
    assert.deepEqual(await left(limiter), [3, 500]);
  });

  it('counts along all paths', async () => {
    const limiter = made({ levels: true });
    const paths = [['key', 'a'], { path: ['key', 'b'], cost: 2 }, ['job']];
    const options = { cost: { tokens: 100 } };
    const decision = await limiter.authorizeAll(paths, options);
    assert.deepEqual(decision.levels.map(({ unit, cost }) => [unit, cost]), [
      ['request', 1], ['tokens', 100], ['request', 2], ['tokens', 100],
      ['request', 1]]);
    await limiter.spendAll(paths, options);
    assert.deepEqual(await left(limiter, ['key', 'b']), [1, 800]);
    await limiter.refundAll(paths, { cost: { request: 2, tokens: 150 } });
    assert.deepEqual(await left(limiter), [5, 950]);
    const more = await limiter.peekAll(paths, { cost: { tokens: 951 } });
    assert.ok(more.limited);
  });

  it('counts for an action of a user', async () => {
    const limiter = made();
    const ask = (tokens) =>
      limiter.authorizeActionForUser('alex', 'ask', { cost: { tokens } });
    assert.equal(await ask(900), undefined);
    assert.ok((await ask(1)).limited);
    await assert.rejects(limiter.authorizeActionForUser(
      {}, 'ask', { cost: { tokens: 1 } }), /^LimitreeError: user must be/);
  });

  it('leaves nothing for the next request', async () => {
    const limiter = made();
    limiter.authorizeSync(['key', 'a'], { cost: { tokens: 1 } });
    assert.ok(limiter.authorizeSync(['job'], { levels: true }).allowed);
    assert.ok(limiter.authorizeSync(['job']).allowed);
    assert.throws(() => limiter.authorizeSync(
      ['key', null], { cost: { tokens: 1 } }), /path\[1\]/);
    await assert.rejects(limiter.authorizeAll(
      [['job'], ['key', 7n, {}]], { cost: { tokens: 1 } }), /paths\[1\]\[2\]/);
  });

  it('may name as many units as there are', async () => {
    const units = Array.from({ length: 65 }, (_, i) => `u${i}`);
    const limiter = new Limiter({ limits: { schema: { job: {
      limits: units.map((unit) => ({ name: unit, count: 9, period: 1, unit })),
    } } }, levels: true });
    const costOf = (names) =>
      Object.fromEntries(names.map((unit, i) => [unit, i % 9]));
    await assert.rejects(
      limiter.authorize(['job'], { cost: costOf(units) }),
      /cost names 65 units, the most is 64$/);
    await limiter.reload({ schema: { job: { limits: units.slice(1).map(
      (unit) => ({ name: unit, count: 9, period: 1, unit })) } } });
    const { levels } = await limiter.authorize(
      ['job'], { cost: costOf(units.slice(1)) });
    assert.deepEqual(levels.map(({ unit }) => unit), units.slice(1));
    assert.deepEqual(levels.map(({ cost }) => cost),
                     levels.map((_, i) => i % 9));
  });
});

describe('a level', () => {
  it('has its unit, also after a reload', async () => {
    const limiter = made({ levels: true });
    const unitsOf = async (cost) =>
      (await limiter.authorize(['key', 'a'], { cost })).levels.map(
        ({ policy, unit }) => [policy, unit]);
    const before = [['key:*#rpm', 'request'], ['key:*#tpm', 'tokens']];
    assert.deepEqual(await unitsOf({ tokens: 1 }), before);
    await limiter.reload(limits('cents'));
    assert.deepEqual(await unitsOf({ cents: 1 }),
                     [before[0], ['key:*#tpm', 'cents']]);
    await limiter.reload(limits());
    assert.deepEqual(await unitsOf({ tokens: 1 }), before);
  });
});

describe('a wrong cost', () => {
  const limiter = made();
  for (const [cost, message] of [
    [{ tokens: '5' }, /^cost in tokens must be a whole number, is the text "5/],
    [{ tokens: 0.5 }, /^cost in tokens must be a whole number, is 0\.5$/],
    [{ tokens: undefined }, /^cost in tokens must be a whole number, is undef/],
    [{ tokens: 1, request: 1n }, /^cost in request must be a whole number/],
    [{ tokens: -1 }, /^cost in tokens must not be negative, is -1$/],
    [{ tokens: 1, request: -1 }, /^cost in request must not be negative/],
    [{ 'a\nb': NaN }, /^cost in the text "a\\nb" must be a whole number/],
    [{ tokens: 1, Tokens: 1 }, /^no limit counts "Tokens", .* tokens$/],
    [{ tokens: 1, '\ud800': 1 }, /^the name of a unit has an unpaired/],
    [{ tokens: 1, '': 1 }, /^no limit counts ""/],
    [{ request: 1 }, /#tpm counts tokens, and the request names none$/],
    [undefined, /#tpm counts tokens, and the request names none$/],
    [{}, /^cost must be a whole number or name units/],
    [null, /^cost must be a whole number or name units, .* is null$/],
    [[1, 2], /^cost must be a whole number or name units, .* is an array$/],
    [new Map([['tokens', 1]]), /^cost must be a whole number or name units/],
    [Promise.resolve(5), /^cost must be a whole number or name units/],
  ]) {
    it(`is refused: ${String(message)}`, async () => {
      const check = (error) => {
        assert.ok(error instanceof LimitreeError, error);
        assert.equal(error.code, INVALID);
        assert.match(error.message, message);
        return true;
      };
      assert.throws(() => limiter.authorizeSync(['key', 'a'], { cost }), check);
      for (const call of ['authorize', 'peek', 'spend', 'refund']) {
        await assert.rejects(limiter[call](['key', 'a'], { cost }), check);
        await assert.rejects(limiter[`${call}All`]([['key', 'a']], { cost }),
                             check);
      }
      assert.deepEqual(await left(limiter), [5, 1000]);
    });
  }

  it('is refused as that of one path', () => assert.rejects(
    limiter.authorizeAll([{ path: ['job'], cost: { tokens: 1 } }]),
    { code: INVALID, message: 'cost must be a whole number, is an object' }));
});
