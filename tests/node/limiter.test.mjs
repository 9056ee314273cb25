// The limiter in memory.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';

import { ConfigError, Decision, Limiter, version } from 'limitree';

const LIMITS = `
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
  job: {limits: [0, 1, 60]}
  free: {}
`;

/** A clock that stands still until it is told to move on. */
function clockAt(ms) {
  const clock = () => clock.now;
  clock.now = ms;
  return clock;
}

function made(options = {}) {
  return new Limiter({ limits: LIMITS, clock: clockAt(1.7e12), ...options });
}

describe('the operations', () => {
  it('charge all levels or none', async () => {
    const limiter = made();
    for (let i = 0; i < 6; ++i) {
      assert.equal(limiter.authorizeSync(['user', 'alex', 'trade']).limited,
                   false);
    }
    const denied = await limiter.authorize(['user', 'alex', 'trade']);
    assert.ok(denied instanceof Decision);
    assert.deepEqual([denied.limited, denied.limit, denied.remaining,
                      denied.retryAfterMs, denied.resetAfterMs],
                     [true, 6, 0, 1500, 12000]);
    assert.equal((await limiter.peek(['user', 'alex'], { cost: 0 })).remaining,
                 10);
  });

  it('answer by the paths and costs that are given', async () => {
    const limiter = made();
    assert.equal((await limiter.authorize(['user', 'bob', 'trade'],
                                          { cost: 2 })).remaining, 4);
    assert.equal((await limiter.spend(['user', 'bob', 'trade'],
                                      { cost: 99 })).limited, false);
    assert.equal((await limiter.authorize(['user', 'bob'])).limited, true);
    await limiter.refund(['user', 'bob', 'trade'], { cost: 6 });
    assert.equal((await limiter.authorize(['user', 'bob', 'trade'])).remaining,
                 5);
    assert.equal((await limiter.authorize(['user', 'bob'], { cost: 17 }))
      .retryAfterMs, Infinity);
    await limiter.reset(['user', 'bob', 'trade'], { leaf: true });
    assert.equal((await limiter.peek(['user', 'bob', 'trade'],
                                     { cost: 6 })).limited, true);
    await limiter.reset(['user', 'bob', 'trade']);
    assert.equal((await limiter.peek(['user', 'bob', 'trade'],
                                     { cost: 6 })).limited, false);
  });

  it('decide several paths at once', async () => {
    const limiter = made();
    const paths = [['job'], ['user', 'carol', 'trade']];
    const decision = await limiter.authorizeAll(paths, { levels: true });
    assert.deepEqual(
      decision.levels.map((level) => [level.policy, level.path]),
      [['job', 0], ['user:*', 1], ['user:*/trade', 1]]);
    assert.equal((await limiter.authorizeAll(paths)).limited, true);
    const costly = { path: paths[1], cost: 3 };
    assert.equal((await limiter.authorizeAll([costly, ['free']])).remaining, 2);
    assert.equal((await limiter.authorizeAll([{ path: ['free'] }, costly],
                                             { cost: 9 })).limited, true);
    await limiter.refund(costly.path, { cost: 3 });
    assert.equal((await limiter.peek(paths[1])).remaining, 4);
  });

  it('give each path a part of its own', async () => {
    const limiter = made();
    const job = { path: ['job'], part: 'spend_if_fits' };
    const carol = { path: ['user', 'carol', 'trade'], cost: 6, part: 'check' };
    const first = await limiter.authorizeAll([job, carol], { levels: true });
    assert.equal(first.allowed, true);
    assert.deepEqual(first.levels.map((level) => [level.mode, level.charged]),
                     [['shadow', true], ['check', false], ['check', false]]);
    const second = await limiter.authorizeAll([carol, job]);
    assert.deepEqual([second.allowed, second.shadowed], [true, true]);
    assert.equal((await limiter.authorizeAll([['job']])).limited, true);
    assert.equal((await limiter.peek(carol.path, { cost: 0 })).remaining, 6);
    for (const part of ['checks', 1, null, 'toString']) {
      await assert.rejects(
        limiter.authorizeAll([{ path: ['job'], part }]),
        { code: 'LIMITREE_INVALID_ARGUMENT',
          message: /^part must be charge, check or spend_if_fits, is / });
    }
  });

  it('miss the id of a path', async () => {
    const limiter = new Limiter({
      limits: { schema: { user: { children: { '*': { limits: '5/s' } } } } } });
    const refusal = {
      code: 'LIMITREE_INVALID_ARGUMENT',
      message:
        'the path ends at user, which has no limits; an id is missing' };
    await assert.rejects(limiter.authorize(['user']), refusal);
    await assert.rejects(limiter.peek(['user']), refusal);
    await assert.rejects(limiter.reset(['user']), refusal);
    await assert.rejects(limiter.authorizeAll([['user', 'a'], ['user']]),
                         refusal);
    assert.equal((await limiter.peek(['user', 'a'])).remaining, 4);
  });

  it('tell users by their denials', async () => {
    const limiter = made();
    for (let i = 0; i < 6; ++i) {
      assert.equal(await limiter.authorizeActionForUser('dora', 'trade'),
                   undefined);
    }
    const limited = await limiter.authorizeActionForUser('dora', 'trade');
    assert.equal(limited.limit, 6);
    assert.deepEqual(limited.cell, [1, 6, 0, 2, 12]);
  });

  it('know where no limit lies', () => {
    const decision = made().authorizeSync(['free']);
    assert.deepEqual([decision.unlimited, decision.limit, decision.remaining],
                     [true, -1, -1]);
    assert.deepEqual(decision.cell, [0, -1, -1, -1, 0]);
    assert.deepEqual(decision.headers(), {});
  });

  it('take whole numbers for their digits', async () => {
    const limiter = made();
    limiter.authorizeSync(['user', 42, 'trade']);
    limiter.authorizeSync(['user', 42n, 'trade']);
    assert.equal(limiter.authorizeSync(['user', '42', 'trade']).remaining, 3);
    for (const number of [0, -0, -7, Number.MAX_SAFE_INTEGER,
                          Number.MIN_SAFE_INTEGER]) {
      await limiter.reset(['user', number, 'trade']);
      limiter.authorizeSync(['user', number, 'trade']);
      assert.equal(limiter.authorizeSync(['user', `${number}`, 'trade'])
        .remaining, 4, String(number));
    }
  });

  it('take a number behind names that are long', () => {
    let node = { limits: [0, 1, 60] };
    for (let i = 0; i < 5; ++i) node = { children: { '*': node } };
    const limiter = made({ limits: { schema: { a: node } } });
    const long = 'x'.repeat(126);
    const path = ['a', long, long, long, long];
    for (const number of [1234567890123456, 123456789012345]) {
      assert.ok(limiter.authorizeSync([...path, number]).allowed);
      assert.ok(limiter.authorizeSync([...path, `${number}`]).limited);
    }
  });

  it('tell callers apart whose names are no ASCII, or long', () => {
    const limiter = made({ limits: `
schema: {user: {children: {"*": {limits: [0, 1, 60]}}}}` });
    const long = 'x'.repeat(5000);
    const names = ['\u00e9', '\u00ea', 'e\u0301', '\u{1f600}', '\u{1f601}',
                   '\u20ac', long, `${long}y`, `${long}\u00e9`, '\0', '',
                   'x'.repeat(126), 'x'.repeat(127), 'x'.repeat(128)];
    for (const name of names) {
      assert.ok(limiter.authorizeSync(['user', name]).allowed, name);
      assert.ok(limiter.authorizeSync(['user', name]).limited, name);
    }
  });

  it('take paths of any length', () => {
    const limiter = made();
    for (const length of [3, 7, 8, 9, 40]) {
      const path = ['user', 'e', 'trade', ...Array(length - 3).fill('x')];
      assert.ok(limiter.authorizeSync(path).allowed);
    }
    assert.equal(limiter.authorizeSync(['user', 'e', 'trade']).remaining, 0);
  });
});

describe('the clock', () => {
  it('may tell milliseconds or nanoseconds', () => {
    for (const [at, later] of [[1.7e12, 1.7e12 + 1500],
                               [1_700_000_000_000_000_001n,
                                1_700_000_001_500_000_001n]]) {
      const clock = clockAt(at);
      const limiter = made({ clock });
      limiter.authorizeSync(['user', 'alex', 'trade'], { cost: 6 });
      assert.ok(limiter.authorizeSync(['user', 'alex', 'trade']).limited);
      clock.now = later;
      assert.ok(limiter.authorizeSync(['user', 'alex', 'trade']).allowed);
    }
  });

  it('is the system\'s by default', () => {
    const limits = 'schema: {job: {limits: [9, 1, 9]}}';
    const limiter = new Limiter({ limits });
    limiter.authorizeSync(['job']);
    const { resetAfterMs } = limiter.authorizeSync(['job']);
    assert.ok(resetAfterMs > 17_000 && resetAfterMs < 18_000);
  });
});

describe('limits', () => {
  const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'limits.yaml');
  writeFileSync(file, LIMITS);

  it('are a file, a URL, a text or an object', async () => {
    const tree = { schema: { job: { limits: [0, 1, 60] } } };
    for (const limits of [file, pathToFileURL(file), LIMITS, tree]) {
      const limiter = new Limiter({ limits });
      assert.ok(limiter.authorizeSync(['job']).allowed);
      assert.ok(limiter.authorizeSync(['job']).limited);
    }
    const limiter = await Limiter.fromFile(file, { levels: true });
    assert.equal(limiter.authorizeSync(['job']).levels.length, 1);
  });

  it('are one tree of several', async () => {
    const more = 'schema: {more: {limits: [2, 1, 60]}}';
    const limiter = new Limiter({ limits: [file, more] });
    assert.equal(limiter.authorizeSync(['more']).limit, 3);
    assert.equal(limiter.authorizeSync(['job']).limit, 1);
    await limiter.reload([more, { schema: { job: { limits: [3, 1, 60] } } }]);
    assert.equal(limiter.authorizeSync(['job']).limit, 4);
    assert.throws(() => new Limiter({ limits: [more, more] }), ConfigError);
    assert.throws(() => new Limiter({ limits: [] }),
                  { code: 'LIMITREE_INVALID_ARGUMENT' });
  });

  it('are UTF-8', async () => {
    const bad = join(folder, 'bad.yaml');
    writeFileSync(bad, Buffer.from('schema: {a\xff: {}}', 'latin1'));
    const wrong = { name: 'ConfigError', message: `${bad}: is not UTF-8` };
    assert.throws(() => new Limiter({ limits: bad }), wrong);
    await assert.rejects(Limiter.fromFile(bad), wrong);
  });

  it('can be any text that JSON can say', () => {
    const name = 'a\u0085b\u2028c\ufeff"\\\n\u{1f600}';
    const limiter = new Limiter({
      limits: { schema: { [name]: { limits: { count: 1, period: '1h' } } } } });
    assert.equal(limiter.authorizeSync([name]).limit, 1);
  });

  it('are swapped all or nothing', async () => {
    const limiter = await Limiter.fromFile(file);
    limiter.authorizeSync(['job']);
    await assert.rejects(limiter.reload('schema: {job: {limits: [0]}}'),
                         ConfigError);
    assert.ok(limiter.authorizeSync(['job']).limited);
    await limiter.reload('schema: {job: {limits: [9, 10, 60]}}');
    assert.equal(limiter.authorizeSync(['job']).limit, 10);
    writeFileSync(file, 'schema: {job: {limits: [7, 10, 60]}}');
    await limiter.reload({ schema: { job: { limits: [6, 10, 60] } } });
    assert.equal(limiter.authorizeSync(['job']).limit, 7);
    assert.equal(limiter.stats().reloads, 2);
    const other = await Limiter.fromFile(file);
    writeFileSync(file, 'schema: {job: {limits: [2, 10, 60]}}');
    await other.reload();
    assert.equal(other.authorizeSync(['job']).limit, 3);
  });

  it('take one name more, and read no other', async () => {
    const limiter = new Limiter({ limits: 'schema: {job: {limits: 3/hour}}' });
    limiter.authorizeSync(['job']);
    await limiter.put('report', { children: { '*': { limits: '5/hour' } } });
    await limiter.put('task', 'limits: 4/hour\n');
    assert.equal(limiter.authorizeSync(['report', 'x']).remaining, 4);
    assert.equal(limiter.authorizeSync(['task']).limit, 4);
    assert.equal(limiter.authorizeSync(['job']).remaining, 1);
    for (const options of [undefined, { replace: false }]) {
      await assert.rejects(
        limiter.put('report', { limits: '9/hour' }, options),
        (error) => error instanceof ConfigError &&
          error.message === '"report" is a top-level name already');
    }
    await assert.rejects(
      limiter.put('job', { limits: '9/hour' }, { replace: 'added' }),
      ConfigError);
    await limiter.put('report', { limits: '9/hour' }, { replace: 'added' });
    await limiter.put('job', { limits: '9/hour' }, { replace: true });
    assert.equal(limiter.authorizeSync(['job']).limit, 9);
    // An added name stays; a replaced name is again as in the limits.
    await limiter.reload();
    assert.equal(limiter.authorizeSync(['report']).limit, 9);
    assert.equal(limiter.authorizeSync(['job'], { cost: 0 }).limit, 3);
    await assert.rejects(limiter.reload('schema: {report: {}}'), ConfigError);
  });

  it('take no name that is wrong', async () => {
    const limiter = new Limiter({ limits: 'schema: {job: {limits: 3/hour}}' });
    await assert.rejects(
      limiter.put('task', 'limits: 0/hour\n'),
      (error) => error instanceof ConfigError && error.line === 1 &&
        error.column === 9);
    for (const [name, node, options] of [
      ['a', 5], ['a', null], [5, {}], ['a', {}, { replace: 'all' }],
      ['a', {}, { replaces: true }]]) {
      await assert.rejects(limiter.put(name, node, options),
                           { code: 'LIMITREE_INVALID_ARGUMENT' });
    }
    assert.equal(limiter.stats().reloads, 0);
  });

  it('are refused with every mistake in them', () => {
    const limits = 'schema:\n  job:\n    limits: [0, -3, 60]\n    limit: 1\n';
    assert.throws(() => new Limiter({ limits }), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.equal(error.code, 'LIMITREE_INVALID_CONFIG');
      assert.deepEqual([error.file, error.line, error.column],
                       ['limits', 3, 17]);
      assert.equal(error.messages.length, 2);
      assert.equal(error.message, error.messages.join('\n'));
      return true;
    });
  });
});

describe('the rest', () => {
  it('counts the callers that are forgotten, and tells of them', async () => {
    const warnings = [];
    const note = (warning) => warnings.push(warning);
    process.on('warning', note);
    const ways = [
      (limiter, user) => limiter.spend(['user', user], { cost: 16 }),
      (limiter, user) => limiter.spendAll([['user', user]], { cost: 16 }),
      (limiter, user) =>
        limiter.authorizeActionForUser(user, 'x', { cost: 16 }),
    ];
    for (const [count, way] of ways.entries()) {
      const limiter = made({ maxBuckets: 4 });
      for (let i = 0; i < 4; ++i) await way(limiter, `${i}`);
      await new Promise(setImmediate);
      assert.equal(warnings.length, count);
      for (let i = 4; i < 10; ++i) await way(limiter, `${i}`);
      const { evictions, forgottenLimited } = limiter.stats();
      assert.deepEqual([evictions, forgottenLimited], [6, 6]);
      await new Promise(setImmediate);
      assert.equal(warnings.length, count + 1);  // once for each limiter
    }
    process.off('warning', note);
    assert.equal(warnings[0].code, 'LIMITREE_FULL');
    assert.match(warnings[0].message, /full of callers at their limits/);
  });

  it('has the counters that its types name', () => {
    const limiter = made();
    limiter.authorizeSync(['job']);
    const found = {
      Stats: limiter.stats(),
      LimitStats: limiter.limitStats()[0],
      EnvoyStats: limiter.envoyStats(),
    };
    for (const [name, counters] of Object.entries(found)) {
      const file = name === 'EnvoyStats' ? 'envoy.ts' : 'stats.ts';
      const text = readFileSync(new URL(`../../node/src/${file}`,
                                        import.meta.url), 'utf8');
      const [, fields] = new RegExp(`interface ${name} {(.*?)^}`, 'ms')
        .exec(text);
      const typed = [...fields.matchAll(/readonly (\w+):/g)].map(
        ([, field]) => field);
      assert.deepEqual(Object.keys(counters).sort(), typed.sort(), name);
    }
  });

  it('counts', async () => {
    const limiter = made({ maxBuckets: 5000 });
    limiter.authorizeSync(['job']);
    limiter.authorizeSync(['job']);
    const stats = limiter.stats();
    assert.deepEqual([stats.allowed, stats.limited, stats.limits, stats.buckets,
                      stats.maxBuckets], [1, 1, 3, 1, 5000]);
    const [, , job] = limiter.limitStats();
    assert.deepEqual(job, { policy: 'job', allowed: 1, limited: 1,
                            shadowLimited: 0, nearLimit: 1, soft: 0 });
    assert.match(limiter.prometheus(), /^limitree_\w+.* 1$/m);
    assert.ok(await limiter.ping() >= 0);
  });

  it('explains a path', () => {
    const children = { '*': { limits: '5/h' } };
    const limiter = new Limiter({ limits: { schema: { user: { children } } } });
    const { explain } = limiter;
    const text = explain(['user', 7]);
    assert.match(text, /user:\*/);
    assert.match(text, /user:7/);
    assert.equal(limiter.stats().allowed, 0);
    for (const [path, code] of [
      [['team'], 'LIMITREE_UNKNOWN_ROOT'],
      [['user'], 'LIMITREE_INVALID_ARGUMENT'],
      [[], 'LIMITREE_INVALID_ARGUMENT'],
      ['user', 'LIMITREE_INVALID_ARGUMENT'],
      [['user', {}], 'LIMITREE_INVALID_ARGUMENT']]) {
      assert.throws(() => explain(path), { code }, String(path));
    }
  });

  it('ends', async () => {
    const limiter = made();
    assert.equal(limiter.closed, false);
    await limiter.close();
    await limiter[Symbol.asyncDispose]();
    assert.equal(limiter.closed, true);
    await assert.rejects(limiter.authorize(['job']),
                         { code: 'LIMITREE_CANCELLED' });
    assert.throws(() => limiter.stats(), { code: 'LIMITREE_CANCELLED' });
  });

  it('is shown with its store, but not with what is secret', async () => {
    for (const [store, shown] of [
      [undefined, 'memory://'], ['memory://', 'memory://'],
      ['redis://alex:a%40b@10.0.0.1:7/5', 'redis://10.0.0.1:7/5'],
      ['redis+unix://:secret@/run/redis.sock?db=2',
       'redis+unix:///run/redis.sock'],
      ['rediss://a.example', 'rediss://a.example'],
      [`shm://${tmpdir()}/a@${process.pid}?max_buckets=1000`,
       `shm://${tmpdir()}/a@${process.pid}`],
      ['redis+cluster://u:p@a:1,b:2', 'redis+cluster://a:1,b:2']]) {
      const limiter = made({ clock: undefined, store });
      assert.equal(limiter.store, shown);
      assert.equal(inspect(limiter, { breakLength: 200 }),
                   `Limiter { store: '${shown}', ` +
                   "limits: 'given as text', closed: false }");
      await limiter.close();
      rmSync(shown.slice('shm://'.length), { force: true });
    }
    const limiter = new Limiter({ limits: 'examples/limits.yaml' });
    await limiter.close();
    assert.equal(inspect(limiter), "Limiter { store: 'memory://', " +
      "limits: 'examples/limits.yaml', closed: true }");
  });

  it('has a version', () => assert.match(version, /^\d+\.\d+\.\d+$/));
});
