// The content of a decision: fields, levels, headers, the body of a 429.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';

import { algorithms, Limiter } from 'limitree';

const LIMITS = `
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
  seen: {limits: {count: 1, period: 1h, mode: shadow}}
  both:
    limits: [{name: real, count: 3, period: 10s},
             {name: seen, count: 1, period: 10s, mode: shadow}]
  odd"\\: {limits: {count: 3, period: 10s}}
  "caf\\u00e9": {limits: {count: 3, period: 10s}}
  free: {}
`;

function made() {
  return new Limiter({ limits: LIMITS, levels: true, clock: () => 1.7e12 });
}

function denied(path = ['user', 'alex', 'trade']) {
  const limiter = made();
  let decision;
  do decision = limiter.authorizeSync(path); while (decision.allowed);
  return decision;
}

describe('a decision', () => {
  it('has the verdict of each level', () => {
    const { levels } = denied();
    assert.equal(levels.length, 2);
    assert.deepEqual(levels[0], {
      policy: 'user:*', limit: 16, remaining: 10, retryAfterMs: -1,
      resetAfterMs: 12000, nextAfterMs: 0, growsAfterMs: 2000,
      windowMs: 32000, unit: 'request', cost: 1, limited: false,
      charged: false, soft: false, mode: 'enforce', path: 0 });
    assert.deepEqual(levels[1], {
      policy: 'user:*/trade', limit: 6, remaining: 0, retryAfterMs: 1500,
      resetAfterMs: 9000, nextAfterMs: 1500, growsAfterMs: 1500,
      windowMs: 9000, unit: 'request', cost: 1, limited: true,
      charged: false, soft: false, mode: 'enforce', path: 0 });
  });

  it('makes them once, when they are read', () => {
    const decision = denied();
    assert.equal(decision.levels, decision.levels);
    const other = made().authorizeSync(['user', 'a'], { levels: false });
    assert.equal(other.levels, undefined);
  });

  it('stays what it is while others are made', () => {
    const limiter = made();
    const first = limiter.authorizeSync(['user', 'alex', 'trade']);
    const before = JSON.stringify(first);
    limiter.authorizeSync(['both'], { cost: 2 });
    assert.equal(JSON.stringify(first), before);
  });

  it('tells of limits in mode shadow', () => {
    const limiter = made();
    assert.equal(limiter.authorizeSync(['seen']).shadowed, false);
    const decision = limiter.authorizeSync(['seen']);
    assert.deepEqual([decision.shadowed, decision.limited, decision.source],
                     [true, false, 'store']);
    assert.equal(decision.levels[0].mode, 'shadow');
  });

  it('of a cost that never fits', () => {
    const decision = made().authorizeSync(['user', 'a'], { cost: 17 });
    assert.deepEqual([decision.retryAfterMs, decision.nextAfterMs],
                     [Infinity, Infinity]);
    assert.deepEqual(decision.cell, [1, 16, 16, -1, 0]);
    assert.equal('Retry-After' in decision.headers(), false);
    assert.match(decision.problem().detail, /larger than any limit/);
  });

  it('can be shown and sent', () => {
    const decision = made().authorizeSync(['user', 'a'],
                                          { cost: 17, levels: false });
    const { retryAfterMs, ...others } = JSON.parse(JSON.stringify(decision));
    assert.equal(retryAfterMs, null);
    assert.deepEqual(others, { limited: true, limit: 16, remaining: 16,
                               resetAfterMs: 0, nextAfterMs: null,
                               source: 'store' });
    assert.match(inspect(decision), /^Decision \{.*limited: true/s);
    assert.match(inspect(decision), /retryAfterMs: Infinity/);
  });

  it('is no promise and always true', () => {
    const decision = denied();
    assert.equal(decision.then, undefined);
    assert.ok(decision);
  });
});

describe('headers', () => {
  it('of the IETF draft', () => {
    assert.deepEqual(denied().headers(), {
      'RateLimit-Policy': '"user:*";q=16;w=32, "user:*/trade";q=6;w=9',
      'RateLimit': '"user:*";r=10;t=2, "user:*/trade";r=0;t=2',
      'Retry-After': '2' });
    assert.equal(made().peek !== undefined, true);
    const full = made().authorizeSync(['user', 'a'], { cost: 0 });
    assert.equal(full.headers().RateLimit, '"user:*";r=16');
  });

  it('tell when more is left by the rule of the algorithm', () => {
    const start = 1_700_000_040_000;  // the start of a minute
    const growsAfter = {
      fixed_window: 50, sliding_log: 50, sliding_window: 50, sliding_tail: 51,
      'leaky_bucket, drain: step': 2, gcra: 6 };
    for (const rules of algorithms) {
      const seconds = growsAfter[rules];
      let now = start;
      const limiter = new Limiter({
        limits: 'schema: {a: {limits: ' +
          `{count: 10, period: 60s, algorithm: ${rules}}}}`,
        levels: true, clock: () => now });
      limiter.authorizeSync(['a']);
      now += 10_000;
      const decision = limiter.authorizeSync(['a']);
      assert.equal(decision.headers().RateLimit,
                   `"a";r=${decision.remaining};t=${seconds}`, rules);
      now += 120_000;
      const full = limiter.authorizeSync(['a'], { cost: 0 });
      assert.equal(full.headers().RateLimit, '"a";r=10');
    }
  });

  it('leave out what does not count', () => {
    assert.deepEqual(made().authorizeSync(['both']).headers(), {
      'RateLimit-Policy': '"both#real";q=3;w=10',
      'RateLimit': '"both#real";r=2;t=4' });
    assert.deepEqual(made().authorizeSync(['seen']).headers('ietf'), {});
    assert.deepEqual(made().authorizeSync(['free']).headers('legacy'), {});
  });

  it('are printable ASCII, quoted', () => {
    assert.equal(made().authorizeSync(['odd"\\']).headers().RateLimit,
                 '"odd\\"\\\\";r=2;t=4');
    assert.equal(made().authorizeSync(['caf\u00e9']).headers().RateLimit,
                 '"caf%C3%A9";r=2;t=4');
  });

  it('follow the limits that are reloaded', async () => {
    const limiter = made();
    limiter.authorizeSync(['user', 'a']).headers();
    await limiter.reload(
      'schema: {user: {children: {"*": {limits: [9, 1, 60]}}}}');
    assert.equal(
      limiter.authorizeSync(['user', 'b']).headers()['RateLimit-Policy'],
      '"user:*";q=10;w=600');
  });

  it('of other styles', () => {
    const decision = denied();
    assert.deepEqual(decision.headers('draft-7'), {
      'RateLimit-Policy': '16;w=32, 6;w=9',
      'RateLimit': 'limit=6, remaining=0, reset=9', 'Retry-After': '2' });
    assert.deepEqual(decision.headers('draft-6'), {
      'RateLimit-Policy': '16;w=32, 6;w=9', 'RateLimit-Limit': '6',
      'RateLimit-Remaining': '0', 'RateLimit-Reset': '9',
      'Retry-After': '2' });
    assert.deepEqual(decision.headers('legacy'), {
      'X-RateLimit-Limit': '6', 'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '9', 'Retry-After': '2' });
    assert.deepEqual(decision.headers('none'), {});
    const { 'X-RateLimit-Reset': reset } =
      decision.headers('legacy', { reset: 'epoch' });
    assert.ok(Math.abs(Number(reset) - Date.now() / 1000 - 9) <= 2);
  });
});

it('of a limiter in shadow denies nothing, and says what would be', () => {
  const limits = 'schema: {job: {limits: [0, 1, 60]}}';
  for (const options of [{ limits, shadowMode: true },
    { limits: `${limits}\nmode: shadow` }]) {
    const limiter = new Limiter(options);
    const [first, second] =
      [1, 2].map(() => limiter.authorizeSync(['job'], { levels: true }));
    assert.deepEqual([first.allowed, first.shadowed], [true, false]);
    assert.deepEqual([second.allowed, second.shadowed], [true, true]);
    assert.equal(second.levels[0].mode, 'shadow');
    assert.equal(limiter.stats().shadowLimited, 1);
  }
});

it('the body of a 429', () => {
  assert.deepEqual(denied().problem(), {
    type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
    title: 'Too Many Requests', status: 429, detail: 'Try again in 2 s.',
    'violated-policies': ['user:*/trade'] });
});
