// Headers and problems are written in JavaScript, because a call of the core
// takes longer.  They must be the same as those of the core.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import { Decision } from 'limitree';

import { load } from './packed.mjs';

const { rowsOf } = load('decision.js');
const at = load('layout.js');
const { Name } = load('names.js');
const { native } = load('native.js');

/** Random numbers that are the same in every run. */
function random(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

const below = random(12);
const one = (values) => values[below(values.length)];

const POLICIES = [
  'user:*', 'user:*/trade', 'a"b\\c', 'caf\u00e9#real', '\u{1f355}', 'a\nb',
  'a%b', '~cb1fa315'];

/** Nanoseconds: zero, near whole seconds, a few, or very many. */
function time() {
  const whole = below(1e6) * 1e9;
  return one([0, 1, whole, whole + 1, Math.max(0, whole - 1), below(1e9),
              below(2 ** 53), Number.MAX_SAFE_INTEGER]);
}

const count = () => one([0, 1, below(100), below(2 ** 53), 2 ** 53 - 1]);

// The bits of the core: limited 1, unlimited 2, shadowed 4, degraded 8, soft
// 32.  Bits from 16 on are the source: 2 is this process while a store fails.
function bits() {
  return below(2) + (below(8) === 0 ? 2 : 0) + 4 * below(4) + 32 * below(2) +
    2 ** 16 * below(5);
}

function write(levels) {
  const { numbers } = native;
  const from = at.INPUT_SIZE;
  numbers[from + at.LIMIT] = count();
  numbers[from + at.REMAINING] = count();
  numbers[from + at.BITS] = bits();
  numbers[from + at.RETRY_AFTER_NS] = (numbers[from + at.BITS] & 1) === 0
    ? -1 : one([time(), 2 ** 63]);
  numbers[from + at.RESET_AFTER_NS] = time();
  numbers[from + at.NEXT_AFTER_NS] = time();
  // In whole microseconds, because dates are not more exact.
  numbers[from + at.BINDING_RESET_AFTER_NS] = Math.floor(time() / 1e3) * 1e3;
  numbers[from + at.LEVEL_COUNT] = levels.length;
  levels.forEach((_, i) => {
    const to = from + at.DECISION_SIZE + i * at.LEVEL_SIZE;
    numbers[to + at.POLICY] = i;
    numbers[to + at.LEVEL_LIMIT] = count();
    numbers[to + at.LEVEL_REMAINING] = count();
    numbers[to + at.GROWS_AFTER_NS] = time();
    numbers[to + at.WINDOW_NS] = time();
    // One of the three modes is shadow, which is in no header.
    numbers[to + at.LEVEL_BITS] = below(8) + (below(3) << at.MODE_SHIFT);
  });
}

function decisionAt(from, numbers, withLevels, names) {
  return new Decision(
    numbers, from, rowsOf(numbers, from, withLevels, names));
}

function made(policies, withLevels) {
  const names = policies.map((policy) => new Name(policy, 'request'));
  write(policies);
  return decisionAt(at.INPUT_SIZE, native.numbers, withLevels,
                    { at: (number) => names[number], warnFull() {} });
}

/** The headers that the core writes for the decision of made(). */
function headersOfCore(style, nowMs, policies) {
  const fields = native.httpHeaders(style, nowMs, policies);
  return Object.fromEntries(
    fields.flatMap((name, i) => i % 2 ? [] : [[name, fields[i + 1]]]));
}

const ROUNDS = 5000;

describe('JavaScript writes what the core writes', () => {
  for (const style of native.styles) {
    it(`in the style ${style}`, (test) => {
      const now = 1_700_000_000_123;
      test.mock.method(Date, 'now', () => now);
      for (let round = 0; round < ROUNDS; ++round) {
        const policies =
          Array.from({ length: below(5) }, () => one(POLICIES));
        const withLevels = style === 'ietf' || below(4) > 0;
        const decision = made(policies, withLevels);
        const known = withLevels ? policies : undefined;
        const reset = one(['delta', 'epoch']);
        const expected =
          headersOfCore(style, reset === 'epoch' ? now : 0, known);
        const found = decision.headers(style, { reset });
        assert.deepEqual(found, expected);
        assert.deepEqual(Object.keys(found), Object.keys(expected));
        if (!decision.limited) continue;
        assert.deepEqual(decision.problem(),
                         JSON.parse(native.httpProblem(429, known)));
      }
    });
  }
});

describe('a decision from outside', () => {
  const names = { at: () => new Name('user:*', 'request'), warnFull() {} };

  it('has at most as many levels as one of a limiter', () => {
    for (const count of [65, 400, 1e9, -1, NaN]) {
      const numbers = new Float64Array(16_384);
      numbers[at.LEVEL_COUNT] = count;
      assert.throws(() => decisionAt(0, numbers, true, names), {
        code: 'LIMITREE_INVALID_ARGUMENT',
        message: `a decision has 0 to 64 levels, not ${count}` });
    }
    const numbers = new Float64Array(16_384);
    numbers[at.LEVEL_COUNT] = 64;
    assert.equal(decisionAt(0, numbers, true, names).levels.length, 64);
  });

  it('cannot make the core read more', () => {
    native.numbers.fill(0, at.INPUT_SIZE);
    const policies = Array.from({ length: 1000 }, (_, i) => `policy:${i}`);
    const { RateLimit } = headersOfCore('ietf', 0, policies);
    assert.equal(RateLimit.split(', ').length, 64);
  });
});

describe('styles', () => {
  it('of the types are those of the core', () => {
    const types = readFileSync(
      new URL('../../node/dist/headers.d.ts', import.meta.url), 'utf8');
    const [, union] = /export type HeaderStyle = ([^;]+);/.exec(types);
    assert.deepEqual(union.split('|').map((word) => word.trim().slice(1, -1)),
                     native.styles);
  });

  it('that there are not are refused as the core does', () => {
    const decision = made(POLICIES, true);
    assert.throws(() => decision.headers('draft-8'), {
      code: 'LIMITREE_INVALID_ARGUMENT',
      message: 'unknown style of headers "draft-8", did you mean "draft-7"?' });
    assert.throws(() => decision.headers('x'), {
      message: 'unknown style of headers "x", known are: ' +
        native.styles.join(', ') });
    assert.throws(() => decision.headers(7), {
      code: 'LIMITREE_INVALID_ARGUMENT',
      message: 'style must be a string, is 7' });
  });

  it('without a writer here are written by the core', (test) => {
    const decision = made(POLICIES.slice(0, 2), true);
    const expected = decision.headers();
    // Like a style that only the core knows.
    const { httpHeaders } = native;
    const asked = [];
    test.mock.method(native, 'httpHeaders', (style, ...rest) => {
      asked.push(style);
      return httpHeaders('ietf', ...rest);
    });
    native.numbers.fill(0, at.INPUT_SIZE, at.INPUT_SIZE + 100);
    assert.deepEqual(decision.headers('newer'), expected);
    assert.deepEqual(asked, ['newer']);
  });
});
