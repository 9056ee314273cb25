// Requests of Envoy: the vectors of envoy.json, and how JavaScript says them.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync }
  from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';

import { Limiter } from 'limitree';
import { PATIENT, RedisServer } from './servers.mjs';

const { vectors: VECTORS } = JSON.parse(
  readFileSync(new URL('../conformance/envoy.json', import.meta.url)));
const OPTIONS = {
  stop: { stopIncrement: true }, local: { overCacheSize: 99 },
  gquota: { quotaMode: true }, gshadow: { shadowMode: true }, hdr: {},
};
const LIMITS = `
domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 3, name: three}}
- {key: b, value: x, metadata: {tier: 1}, descriptors: [
    {key: c, rate_limit: {unit: hour, requests_per_unit: 1}}]}
- {key: free, rate_limit: {unlimited: true}}
`;

function descriptorOf({ entries, hits_addend: hitsAddend, limit }) {
  return { entries, hitsAddend, limit: limit && {
    requestsPerUnit: limit.requests_per_unit, unit: limit.unit } };
}

function asVector({ code, currentLimit, limitRemaining, durationUntilReset }) {
  if (currentLimit === undefined) {
    return limitRemaining > 0 ? { code, remaining: limitRemaining } : { code };
  }
  const { requestsPerUnit, unit, name } = currentLimit;
  return { code, remaining: limitRemaining, reset: durationUntilReset,
           current_limit: name === '' ? [requestsPerUnit, unit]
             : [requestsPerUnit, unit, name] };
}

const snake = (name) => name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);

function statsOf(limiter) {
  const stats = {};
  for (const { key, ...hits } of limiter.descriptorStats()) {
    for (const [name, value] of Object.entries(hits)) {
      if (value !== 0) stats[`${key}.${snake(name)}`] = value;
    }
  }
  const { globalShadowMode } = limiter.envoyStats();
  if (globalShadowMode !== 0) stats['.global_shadow_mode'] = globalShadowMode;
  return stats;
}

async function runVector(vector, store) {
  let now = 0;
  const options = Object.keys(vector.options).map((name) => OPTIONS[name]);
  const limiter = new Limiter({
    descriptors: vector.config, mergeDomains: Array.isArray(vector.config),
    store, prefix: vector.name, timeout: PATIENT,
    clock: () => BigInt(now) * 1_000_000_000n, ...Object.assign({}, ...options),
  });
  for (const { request, expect } of vector.steps) {
    now = request.now;
    const asked = [request.domain, request.descriptors.map(descriptorOf),
                   { hitsAddend: request.hits_addend }];
    const peeked = await limiter.peekDescriptors(...asked).catch(() => {});
    const answer = limiter.shouldRateLimit(...asked);
    if (expect.error !== undefined) {
      await assert.rejects(answer, { code: 'LIMITREE_INVALID_ARGUMENT',
                                     message: expect.error });
      continue;
    }
    const { overallCode, statuses, headerStatus } = await answer;
    assert.deepEqual({ ...peeked, source: '' },
                     { ...await answer, source: '' });
    assert.equal(overallCode, expect.overall);
    assert.deepEqual(statuses.map(asVector), expect.statuses);
    if (expect.headers !== undefined) {
      const { currentLimit, limitRemaining, durationUntilReset } =
        statuses[headerStatus];
      assert.deepEqual(
        [currentLimit.requestsPerUnit, limitRemaining, durationUntilReset]
          .map(String), expect.headers);
    }
  }
  assert.deepEqual(statsOf(limiter), vector.stats);
  const good = vector.steps.filter(({ expect }) => expect.error === undefined);
  for (const { request } of good) {
    await limiter.resetDescriptors(request.domain,
                                   request.descriptors.map(descriptorOf));
  }
  for (const { request, expect } of good.slice(0, 1)) {
    now = request.now;
    const again = await limiter.shouldRateLimit(
      request.domain, request.descriptors.map(descriptorOf),
      { hitsAddend: request.hits_addend });
    assert.deepEqual(again.statuses.map(asVector), expect.statuses);
  }
  await limiter.close();
}

describe('the vectors of envoy.json', () => {
  const server = new RedisServer();
  before(() => server.start());
  after(() => server.stop());

  for (const vector of VECTORS) {
    it(`${vector.name} in memory`, () => runVector(vector, 'memory://'));
    it(`${vector.name} in Redis`, () => runVector(vector, server.url));
  }

  it('answers many at once, and those that wait at the end', async () => {
    const limiter = new Limiter({ descriptors: LIMITS, store: server.url,
                                  prefix: 'many', timeout: PATIENT });
    const answers = await Promise.all(Array.from({ length: 20 }, () =>
      limiter.shouldRateLimit('d', [{ a: '1' }])));
    assert.equal(answers.filter(({ overLimit }) => overLimit).length, 17);
    const late = limiter.shouldRateLimit('d', [{ a: '1' }]);
    await Promise.all([
      assert.rejects(late, { code: 'LIMITREE_CANCELLED' }), limiter.close()]);
    await assert.rejects(limiter.shouldRateLimit('d', [{ a: '1' }]),
                         { code: 'LIMITREE_CANCELLED' });
  });
});

describe('shouldRateLimit', () => {
  const clock = () => 1_000_000_000n;

  it('takes descriptors in several forms', async () => {
    const limiter = new Limiter({ descriptors: LIMITS, clock });
    const answer = await limiter.shouldRateLimit('d', [
      { a: '1' }, [['a', '1']], { entries: { a: '1' } },
      [['b', 'x'], ['c', 'y']], { free: '' }, { entries: 'unknown' }]);
    assert.deepEqual(
      answer.statuses.map(({ limitRemaining }) => limitRemaining),
      [2, 1, 0, 0, 4294967295, 0]);
    assert.deepEqual(answer.statuses[0].currentLimit,
      { requestsPerUnit: 3, unit: 'MINUTE', unitMultiplier: 1, name: 'three',
        periodMs: 60_000 });
    const stated = await limiter.shouldRateLimit('d', [
      { entries: { a: '1' },
        limit: { requestsPerUnit: 5, unit: 'minute', unitMultiplier: 10 } }]);
    assert.deepEqual(stated.statuses[0].currentLimit,
      { requestsPerUnit: 5, unit: 'MINUTE', unitMultiplier: 10, name: '',
        periodMs: 600_000 });
    assert.deepEqual(
      [answer.overallCode, answer.headerStatus, answer.source, answer.degraded,
       answer.metadata], ['OK', 2, 'store', false, undefined]);
    const denied = await limiter.shouldRateLimit('d', [{ a: '1' }],
                                                 { hitsAddend: 9 });
    assert.equal(denied.overLimit, true);
    assert.equal(denied.statuses[0].retryAfterMs, Infinity);
    const other = await limiter.shouldRateLimit('other', [{ a: '1' }]);
    assert.equal(other.headerStatus, undefined);
    await limiter.close();
  });

  it('takes hits, limits and hits to give back', async () => {
    const limiter = new Limiter({ descriptors: LIMITS, clock });
    const left = async (more) => (await limiter.shouldRateLimit(
      'd', [{ entries: { a: '1' }, ...more }])).statuses[0].limitRemaining;
    assert.equal(await left({ hitsAddend: 2 }), 1);
    assert.equal(await left({ hitsAddend: 0 }), 1);
    assert.equal(await left({ hitsAddend: 2, isNegativeHits: true }), 3);
    const limit = { requestsPerUnit: 10, unit: 'week' };
    assert.equal(await left({ limit }), 9);
    const { metadata } = await limiter.shouldRateLimit(
      'd', [{ entries: { a: '\u00e9' }, limit }], { metadata: true });
    assert.deepEqual(metadata, { domain: 'd', hitsAddend: 1, descriptors: [
      { entries: ['a=\u00e9'], limit: 'requests_per_unit:10 unit:WEEK' }] });
    await limiter.close();
  });

  it('refuses wrong arguments', async () => {
    const limiter = new Limiter({ descriptors: LIMITS, clock });
    const entries = { a: '1' };
    const limit = (requestsPerUnit, unit) =>
      [{ entries, limit: { requestsPerUnit, unit } }];
    for (const [args, message] of [
      [['d', entries], /descriptors must be an array/],
      [['d', ['a']], /a descriptor must be an object/],
      [['d', [null]], /a descriptor must be an object/],
      [['d', [[['a']]]], /an entry must be a pair of two texts/],
      [['d', [{ a: 1 }]], /an entry must be a pair of two texts/],
      [[1, [entries]], /a domain must be a text/],
      [['d', [entries], { hitsAddend: -1 }], /hitsAddend must be a whole/],
      [['d', [entries], { hits: 1 }], /hits/],
      [['d', [{ entries, hitsAddend: 1.5 }]], /hitsAddend must be a whole/],
      [['d', [{ entries, cost: 1 }]], /cost/],
      [['d', limit(1, 'eon')], /the unit of a limit must be one of SECOND/],
      [['d', [{ entries: {}, limit: { requestsPerUnit: 1, unit: 'day',
                                      unitMultiplier: 0 } }]],
       /unitMultiplier must be greater than 0, is 0/],
      [['d', limit(-1, 'day')], /requestsPerUnit must be a whole number/],
      [['d', [{ a: '\ud800' }]], /unpaired surrogate/],
      [['', [entries]], /rate limit domain must not be empty/],
      [['d', []], /rate limit descriptor list must not be empty/],
    ]) {
      await assert.rejects(limiter.shouldRateLimit(...args),
                           { code: 'LIMITREE_INVALID_ARGUMENT', message });
    }
    await limiter.close();
  });

  it('reads files and folders, and reads them again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
    const file = join(folder, 'd.yaml');
    writeFileSync(file, LIMITS);
    writeFileSync(join(folder, 'e.yaml'), 'domain: d\ndescriptors: [{key: z}]');
    mkdirSync(join(folder, 'more'));
    assert.throws(() => new Limiter({ descriptors: folder }),
                  /duplicate domain 'd'/);
    const left = async (limiter) =>
      (await limiter.shouldRateLimit('d', [{ a: '1' }]))
        .statuses[0].limitRemaining;
    for (const descriptors of [file, pathToFileURL(file), [file], LIMITS,
      { domain: 'd', descriptors: [{ key: 'a', rate_limit: {
        unit: 'minute', requests_per_unit: 3 } }] }]) {
      const limiter = new Limiter({ descriptors, clock });
      assert.equal(await left(limiter), 2);
      await limiter.close();
    }
    const limiter =
      new Limiter({ descriptors: folder, mergeDomains: true, clock });
    assert.equal(await left(limiter), 2);
    writeFileSync(file, LIMITS.replace('3', '9'));
    await limiter.reloadDescriptors();
    assert.equal(await left(limiter), 7);
    await limiter.reload({ schema: { job: {} } });
    assert.equal(await left(limiter), 6);
    writeFileSync(file, 'domain: [');
    await assert.rejects(limiter.reloadDescriptors(), /d\.yaml:2:/);
    assert.equal(await left(limiter), 5);
    await limiter.reloadDescriptors('domain: none');
    assert.equal(await left(limiter), 0);
    await limiter.close();
    rmSync(folder, { recursive: true });
  });

  it('does what onStoreError says', async () => {
    for (const [onStoreError, over] of
      [['allow', false], ['deny', true], ['local', false]]) {
      const limiter = new Limiter({ descriptors: LIMITS, onStoreError,
                                    store: 'redis://127.0.0.1:1' });
      const answer = await limiter.shouldRateLimit('d', [{ a: '1' }]);
      assert.deepEqual([answer.overLimit, answer.source, answer.degraded],
                       [over, onStoreError, true]);
      await limiter.close();
    }
  });
});
