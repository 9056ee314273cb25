// Failed logins are counted, success forgives, nobody is locked out.

import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';

import { Limiter } from 'limitree';
import { Logins } from 'limitree/logins';

const SECRET = 'sixteen bytes or more';

describe('logins', () => {
  let limiter;
  let logins;
  beforeEach(async () => {
    limiter = new Limiter({
      limits: { schema: { site: { limits: '9/second' } } },
      clock: () => 1_750_000_000_000 });
    logins = await Logins.of(limiter, { secret: SECRET });
  });

  /** How many attempts fail until one is denied. */
  async function failed(account, address, device) {
    for (let count = 0; ; ++count) {
      const { decision } = await logins.attempt(account, address, { device });
      if (decision.limited) return count;
    }
  }

  it('counts by pair, account and address', async () => {
    assert.equal(await failed('alex', '192.0.2.1'), 5);
    assert.equal(await failed('alex', '2001:db8::1'), 5);
    assert.equal(await failed('alex', '2001:db8::2'), 0);
    let others = 0;
    for (let i = 0; i < 9; ++i) others += await failed('alex', `192.0.3.${i}`);
    assert.equal(others, 10);
    assert.equal(await failed('bea', '192.0.2.1'), 5);
    const attempt = await logins.attempt('\ud83d', '192.0.2.9');
    assert.equal(await failed('\ud83d', '192.0.2.8', await attempt.succeed()),
                 10);
  });

  it('forgives no more than it should', async () => {
    for (let i = 0; i < 4; ++i) await logins.attempt('alex', '192.0.2.1');
    const attempt = await logins.attempt('alex', '192.0.2.1');
    assert.equal(attempt.isKnown, false);
    await attempt.succeed();
    assert.equal(await failed('alex', '192.0.2.1'), 5);
    await assert.rejects(attempt.succeed(), /is over/);
    let guesses = 0;
    for (let i = 0; i < 150; ++i) {
      const guess = await logins.attempt(`user${i}`, '192.0.2.9');
      guesses += guess.decision.allowed ? 1 : 0;
      const own = await logins.attempt('attacker', '192.0.2.9');
      if (own.decision.allowed) await own.succeed();
    }
    assert.ok(guesses >= 99 && guesses <= 100, String(guesses));
  });

  it('does not lock the owner out', async () => {
    const device = await (await logins.attempt('alex', '192.0.2.1')).succeed();
    for (let i = 0; i < 20; ++i) await failed('alex', `192.0.3.${i}`);
    assert.equal(await failed('alex', '192.0.2.1'), 0);
    const attempt = await logins.attempt('alex', '192.0.2.1', { device });
    assert.equal(attempt.decision.allowed, true);
    assert.equal(await attempt.succeed(), device);
    assert.equal(await failed('alex', '192.0.2.1', device), 10);
  });

  it('takes tokens of one account only', async () => {
    const own = await (await logins.attempt('bad', '192.0.2.9')).succeed();
    const wrong = [own, '', '.', 'x', `${'x'.repeat(22)}.`, `${own}x`,
                   own.slice(0, -1), `${'\u00e4'.repeat(22)}${own.slice(22)}`,
                   'a'.repeat(1e6)];
    for (const device of wrong) {
      const { isKnown } = await logins.attempt('alex', '192.0.2.1', { device });
      assert.equal(isKnown, false, device.slice(0, 80));
    }
    const known = await logins.attempt('bad', '192.0.2.9', { device: own });
    assert.equal(known.isKnown, true);
  });

  it('takes no tokens of accounts of another name', async () => {
    const admins = await Logins.of(limiter, { secret: SECRET, name: 'admins' });
    const device = await (await logins.attempt('alex', '192.0.2.9')).succeed();
    for (const [where, known] of [[admins, false], [logins, true]]) {
      const attempt = await where.attempt('alex', '192.0.2.1', { device });
      assert.equal(attempt.isKnown, known);
    }
  });

  it('lets no guesses through that come at once', async () => {
    const all = await Promise.all(Array.from({ length: 400 }, () =>
      logins.attempt('alex', '192.0.2.1')));
    assert.equal(all.filter(({ decision }) => decision.allowed).length, 5);
  });

  it('is not undone by a store that fails', async () => {
    const away = new Limiter({
      limits: { schema: { site: { limits: '9/second' } } },
      store: 'redis+unix:///nowhere/redis.sock', onStoreError: 'local' });
    logins = await Logins.of(away, { secret: SECRET });
    for (let i = 0; i < 30; ++i) {  // each one is given back
      const attempt = await logins.attempt('alex', '192.0.2.1');
      assert.equal(attempt.decision.allowed, true);
      await attempt.succeed();
    }
    await away.close();
  });

  it('takes what a client may send', async () => {
    for (const wrong of [null, undefined, {}, ['alex']]) {
      await assert.rejects(logins.attempt(wrong, '::1'), /^.*account must be/);
      await assert.rejects(logins.attempt('a', wrong), /^.*address must be/);
    }
    const half = JSON.parse('"\\ud83d"');
    const device = await (await logins.attempt(half, '192.0.2.1')).succeed();
    assert.equal(await failed(half, '192.0.2.1'), 5);
    const { isKnown } = await logins.attempt(half, '192.0.2.1', { device });
    assert.equal(isKnown, true);
  });

  it('refuses mistakes', async () => {
    const refused = (options, message) =>
      assert.rejects(Logins.of(limiter, options), message);
    await refused({ secret: 'short' }, /at least 16 bytes, has 5/);
    await refused({}, /secret must be a text or bytes, is missing/);
    await refused({ secret: SECRET, pear: 1 }, /pear/);
    await refused({ secret: SECRET }, /login/);
    await refused({ secret: SECRET, name: 'b', pair: '5 or so' },
                  { code: 'LIMITREE_INVALID_CONFIG' });
  });
});
