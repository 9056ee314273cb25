// The default limiter of the process, and time that stands still.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, mock } from 'node:test';

import FakeTimers from '@sinonjs/fake-timers';

import {
  Limiter, authorizeActionForUser, configure, defaultLimiter } from 'limitree';

const LIMITS = 'schema: {user: {children: {"*": {limits: [0, 1, 60]}}}}';

describe('the default limiter', () => {
  const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  after(() => rmSync(folder, { recursive: true }));

  it('is told of by the environment, or missing', async () => {
    delete process.env.LIMITREE_LIMITS;
    await assert.rejects(authorizeActionForUser('alex', 'trade'), {
      code: 'LIMITREE_INVALID_CONFIG',
      message: 'there are no limits: call configure() or set LIMITREE_LIMITS',
    });
    assert.throws(() => defaultLimiter(), { name: 'ConfigError' });
    process.env.LIMITREE_LIMITS = join(folder, 'limits.yaml');
    await assert.rejects(authorizeActionForUser('alex', 'trade'),
                         { code: 'LIMITREE_INVALID_CONFIG',
                           message: /limits\.yaml: there is no such file$/ });
    writeFileSync(process.env.LIMITREE_LIMITS, LIMITS);
    assert.equal(await authorizeActionForUser('alex', 'trade'), undefined);
    assert.equal((await authorizeActionForUser('alex', 'trade')).limit, 1);
    assert.equal(defaultLimiter(), defaultLimiter());
  });

  it('is what was configured', async () => {
    const before = defaultLimiter();
    const limiter = configure({ limits: LIMITS });
    assert.equal(defaultLimiter(), limiter);
    assert.notEqual(limiter, before);
    assert.equal(await authorizeActionForUser('alex', 'trade'), undefined);
    let answer;
    await authorizeActionForUser('alex', 'trade').then((limited) => {
      if (limited) answer = limited.retryAfterMs;
    });
    assert.ok(answer > 59_000 && answer <= 60_000);
    assert.equal(await authorizeActionForUser('bob', 'x', { cost: 0 }),
                 undefined);
  });
});

/** Acts like a test of a program: all is denied until a minute has passed. */
async function waitAMinute(advance) {
  const limiter = new Limiter({ limits: LIMITS, clock: () => Date.now() });
  assert.equal(limiter.authorizeSync(['user', 'alex']).allowed, true);
  assert.equal(limiter.authorizeSync(['user', 'alex']).retryAfterMs, 60_000);
  advance(59_999);
  assert.equal(limiter.authorizeSync(['user', 'alex']).retryAfterMs, 1);
  advance(1);
  assert.equal((await limiter.authorize(['user', 'alex'])).allowed, true);
  await limiter.close();
}

describe('time that stands still', () => {
  it('under the fake timers of jest and vitest', async () => {
    const clock = FakeTimers.install({ now: 1.7e12 });
    try {
      await waitAMinute((ms) => clock.tick(ms));
    } finally {
      clock.uninstall();
    }
  });

  it('under those of node:test', async () => {
    mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1.7e12 });
    try {
      await waitAMinute((ms) => mock.timers.tick(ms));
    } finally {
      mock.timers.reset();
    }
  });
});
