// Costs that are known when a response has ended, with every framework and over
// real HTTP.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { describe, it } from 'node:test';

import { Limiter } from 'limitree';

import { FRAMEWORKS, endless, open, served, statusOf } from './held_apps.mjs';
import { forgetWarnings } from './web_apps.mjs';
import { until } from './until.mjs';

const LIMITS = { schema: {
  key: { limits: { count: 1000, period: '1h', unit: 'tokens', hold: '1h' } },
  few: { limits: { count: 1, period: '1h' } },
} };
const PATH = ['key'];
const HELD = 400;
const AS_HELD = 1000 - HELD;
const UNREADABLE = ['LIMITREE_USAGE_UNREADABLE'];

function limiterFor(test, options) {
  const limiter = new Limiter({ limits: LIMITS, clock: () => 1e12,
                                ...options });
  test.after(() => limiter.close());
  const left = async () => (await limiter.peek(
    PATH, { cost: { tokens: 0 } })).remaining;
  // Warnings are seldom.
  forgetWarnings();
  const codes = [];
  const logger = { warn: (line) => codes.push(/\[(\w+)\]$/.exec(line)[1]) };
  const isOver = async (held) => await limiter.extend(held.receipt, '1h') === 0;
  return { limiter, left, codes, isOver,
           options: { limiter, logger, path: () => PATH, reserve: true,
                      cost: { tokens: HELD } } };
}

const usage = (value, status) =>
  ({ status, body: 'hello', headers: { 'x-usage': value } });
const statusIs = (status) => ({ status, body: 'so be it' });
const tokens = (count) => ({ settle: () => ({ tokens: count }) });
const skipFailed = { skipFailedRequests: true };

/** What is answered, options, what is left, and the warnings. */
const CASES = {
  'as held': [statusIs(200), {}, AS_HELD],
  'a handler that throws': ['throws', {}, 1000],
  'an error': [statusIs(503), {}, 1000],
  'an error that has cost something': [usage('tokens=90', 503), {}, 910],
  'x-usage': [usage('tokens=90'), {}, 910],
  'x-usage of more': [usage('tokens=700'), {}, 300],
  'x-usage of nothing': [usage('tokens=0'), {}, 1000],
  'x-usage without units': [usage(''), {}, AS_HELD],
  'x-usage with others': [
    usage('request=1, tokens=90;model="a, b";cached'), {}, 910],
  'x-usage of other units': [usage('request=1'), {}, AS_HELD],
  'x-usage that cannot be read': [
    usage('tokens=ninety'), {}, AS_HELD, UNREADABLE],
  'x-usage in unknown units': [usage('tokenz=9'), {}, AS_HELD, UNREADABLE],
  'a function': [usage('tokens=90'), tokens(5), 995],
  'a function that waits': [
    statusIs(200), { settle: async () => ({ tokens: 6 }) }, 994],
  'a function that says nothing': [
    usage('tokens=90'), { settle: () => {} }, AS_HELD],
  'a function that says 0': [statusIs(200), { settle: () => 0 }, 1000],
  'a function that throws': [
    statusIs(200), { settle: () => { throw new Error('oh'); } }, AS_HELD,
    UNREADABLE],
  'a function that rejects': [
    statusIs(200), { settle: () => Promise.reject(Object.create(null)) },
    AS_HELD, UNREADABLE],
  'a function with garbage': [
    statusIs(200), { settle: () => 'all' }, AS_HELD, UNREADABLE],
  'a function with unknown units': [
    statusIs(200), { settle: () => ({ tokenz: 1 }) }, AS_HELD, UNREADABLE],
  'a function, after an error': [statusIs(500), tokens(5), 995],
  'what failed': [statusIs(404), skipFailed, 1000],
  'what did not fail': [usage('tokens=90'), skipFailed, 910],
  'what failed, before a function': [
    statusIs(404), { ...skipFailed, ...tokens(5) }, 1000],
  'what succeeded': [
    statusIs(200), { skipSuccessfulRequests: true }, 1000],
  'what nobody can judge': [
    usage('tokens=90'), { ...skipFailed, requestWasSuccessful: () => {
      throw new Error('oh');
    } }, 910, ['LIMITREE_REFUND_FAILED']],
};

for (const name of FRAMEWORKS) {
  describe(`${name} settles`, () => {
    for (const [what, [answer, own, expected, warned = []]] of
      Object.entries(CASES)) {
      it(what, async (t) => {
        const { limiter, left, codes, isOver, options } = limiterFor(t);
        let held;
        const url = await served(
          t, name, { ...options, ...own }, async (_path, info) => {
            held = info.reservation;
            assert.equal(await left(), 1000 - HELD);
            if (answer === 'throws') throw new Error('on purpose');
            return answer;
          });
        assert.equal(await statusOf(url), answer.status ??
          (answer === 'throws' ? 500 : 200));
        await until(() => isOver(held));
        assert.equal(await left(), expected);
        assert.equal(await limiter.cancel(held.receipt), 0);
        assert.deepEqual(codes, warned);
      });
    }

    it('by x-usage, if it is the only header', async (t) => {
      const { left, isOver, options } = limiterFor(t);
      let held;
      const url = await served(
        t, name, { ...options, standardHeaders: false }, (_path, info) => {
          held = info.reservation;
          return usage('tokens=90');
        });
      assert.equal(await statusOf(url), 200);
      await until(() => isOver(held));
      assert.equal(await left(), 910);
    });

    it('what a client has not waited for', async (t) => {
      for (const [headers, own, expected] of [
        [{ 'x-usage': 'tokens=90' }, {}, 910], [{}, tokens(5), 995],
        [{}, {}, AS_HELD], [{}, { skipSuccessfulRequests: true }, AS_HELD]]) {
        const { left, isOver, options } = limiterFor(t);
        let held;
        const url = await served(
          t, name, { ...options, ...own }, (_path, info) => {
            held = info.reservation;
            return { headers, body: endless() };
          });
        (await open(url)).destroy();
        await until(() => isOver(held));
        assert.equal(await left(), expected);
      }
    });

    it('what a handler has not, by how the response ends', async (t) => {
      const { left, isOver, options } = limiterFor(t);
      let held;
      const url = await served(t, name, options, async (_path, info) => {
        held = info.reservation;
        // Refused: nobody knows the unit.
        await assert.rejects(held.settle({ tokenz: 1 }));
        // Nobody waits for this one.
        if (_path === '/soon') held.settle({ tokens: 7 });
        return usage('tokens=90');
      });
      for (const [path, expected] of [['/', 910], ['/soon', 903]]) {
        assert.equal(await statusOf(url + path), 200);
        await until(() => isOver(held));
        assert.equal(await left(), expected);
      }
    });

    it('nothing of what others deny', async (t) => {
      const { limiter, left, options } = limiterFor(t);
      let ran = 0;
      const url = await served(t, name, [
        options, { limiter, path: () => ['few'], reserve: false, cost: 1 }],
        () => {
          ++ran;
          return usage('tokens=100');
        });
      assert.equal(await statusOf(url), 200);
      await until(async () => await left() === 900);
      for (let i = 0; i < 5; ++i) {
        assert.equal(await statusOf(url), 429);
        await until(async () => await left() === 900);
      }
      assert.equal(ran, 1);
    });

    it('nothing that is skipped', async (t) => {
      const { left, options } = limiterFor(t);
      const url = await served(
        t, name, { ...options, skip: () => true }, (_path, info) => {
          assert.ok(!info);
          return usage('tokens=90');
        });
      assert.equal(await statusOf(url), 200);
      assert.equal(await left(), 1000);
    });
  });
}

it('Express: what a handler lets pass is settled as others', async (t) => {
  const { limiter, left, options } = limiterFor(t);
  let isHanging = false;
  const url = await served(t, 'express', [options, {
    limiter, path: () => ['few'], handler(request, response, next) {
      if (request.url === '/pass') next();
      else if (request.url === '/hang') isHanging = true;
      else response.writeHead(418, { 'x-usage': 'tokens=1' }).end();
    } }], () => usage('tokens=100'));
  assert.equal(await statusOf(url), 200);
  await until(async () => await left() === 900);
  assert.equal(await statusOf(url), 418);
  await until(async () => await left() === 900);
  const request = get(`${url}/hang`).on('error', () => {});
  await until(() => isHanging);
  request.destroy();
  await until(async () => await left() === 900);
  assert.equal(await statusOf(`${url}/pass`), 200);
  await until(async () => await left() === 800);
});

it('a stream is settled by what is known at its end', async (t) => {
  for (const name of FRAMEWORKS) {
    const { left, options } = limiterFor(t);
    const used = new WeakMap();
    const of = (a) => used.get(a.env?.incoming ?? a.req ?? a.raw ?? a);
    let note;
    const url = await served(t, name, {
      ...options, settle: (a) => ({ tokens: of(a) }),
      path: (a) => {
        note = (tokens) =>
          used.set(a.env?.incoming ?? a.req ?? a.raw ?? a, tokens);
        return PATH;
      } }, () => {
      const body = endless();
      setImmediate(() => {
        note(42);
        body.end();
      });
      return { body };
    });
    const response = await open(url);
    await once(response.resume(), 'end');
    await until(async () => await left() === 958);
  }
});
