// Mistakes of callers: each gets an error, and has no other effect.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';

import {
  ConfigError, Limiter, LimitreeError, clientIp, configure } from 'limitree';

const LIMITS =
  'schema: {user: {children: {"*": {limits: [9, 1, 60]}}}, job: {}}';
const INVALID = 'LIMITREE_INVALID_ARGUMENT';

const limiter = new Limiter({ limits: LIMITS });

/** Checks that the sync call and all async calls fail with the same error. */
async function refuses(path, options, code, message) {
  const check = (error) => {
    assert.ok(error instanceof LimitreeError, error);
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.ok(!error.message.includes('\n'));
    return true;
  };
  assert.throws(() => limiter.authorizeSync(path, options), check);
  for (const call of ['authorize', 'peek', 'spend', 'refund']) {
    await assert.rejects(limiter[call](path, options), check);
  }
}

describe('a path', () => {
  const wrong = [
    [undefined, /^path must be an array, is undefined$/],
    [null, /^path must be an array, is null$/],
    ['user', /^path must be an array, is the text "user"$/],
    [{ 0: 'user', length: 1 }, /^path must be an array, is an object$/],
    [new Set(['user']), /^path must be an array, is an object$/],
    [[], /empty/],
    [['user', undefined], /^path\[1\] must be a string, is undefined$/],
    [['user', null], /^path\[1\] must be a string, is null$/],
    [['user', true], /^path\[1\] must be a string, is a boolean$/],
    [['user', Symbol('a')], /^path\[1\] must be a string, is a symbol$/],
    [['user', {}], /^path\[1\] must be a string, is an object$/],
    [['user', ['a']], /^path\[1\] must be a string, is an object$/],
    [['user', Object('a')], /^path\[1\] must be a string, is an object$/],
    [['user', () => 'a'], /^path\[1\] must be a string, is a function$/],
    [['user', NaN], /^path\[1\] must be a string or a whole number/],
    [['user', Infinity], /^path\[1\] must be a string or a whole number/],
    [['user', 1.5], /^path\[1\] must be a string or a whole number/],
    [['user', 2 ** 53], /^path\[1\] must be a string or a whole number/],
    [['user', 'a\ud800'], /^path\[1\] has an unpaired surrogate/],
    [['user', '\udc00'], /^path\[1\] has an unpaired surrogate/],
    [['user', '\ude00\ud83d'], /^path\[1\] has an unpaired surrogate/],
    [['user', 'x'.repeat(300) + '\ud800'], /^path\[1\] has an unpaired sur/],
    [[undefined, 'user'], /^path\[0\] must be a string, is undefined$/],
    // eslint-disable-next-line no-sparse-arrays
    [['user', , 'trade'], /^path\[1\] must be a string, is undefined$/],
    [['user', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', {}],
     /^path\[9\] must be a string, is an object$/],
  ];
  for (const [path, message] of wrong) {
    it(`is not ${String(message)}`, () => refuses(path, {}, INVALID, message));
  }

  it('has a known root', () =>
    refuses(['users', 'a'], {}, 'LIMITREE_UNKNOWN_ROOT', /unknown root/));

  it('is read the same once its root is known', async () => {
    limiter.authorizeSync(['job']);
    await refuses(['job', undefined], {}, INVALID, /^path\[1\] must/);
    await refuses(['job', 'a', null], {}, INVALID, /^path\[2\] must/);
    const copy = new Limiter({ limits: LIMITS });
    copy.authorizeSync(['job']);
    await copy.reload('schema: {other: {}}');
    assert.throws(() => copy.authorizeSync(['job', 'a']),
                  { code: 'LIMITREE_UNKNOWN_ROOT' });
  });
});

describe('a cost', () => {
  for (const cost of [NaN, Infinity, 0.5, '1', null, 2 ** 53, {}, 1n, true]) {
    it(`is not ${typeof cost} ${String(cost)}`, () =>
      refuses(['user', 'a'], { cost }, INVALID, /^cost must be a whole/));
  }

  it('is not negative', () =>
    refuses(['user', 'a'], { cost: -1 }, INVALID, /cost.* negative|negative/));
});

describe('options', () => {
  const signal = new AbortController().signal;

  it('have names', async () => {
    for (const [options, message] of [
      [{ costs: 2 }, /^there is no option costs, did you mean cost\?$/],
      [{ Cost: 2 }, /did you mean cost\?$/],
      [{ level: true }, /did you mean levels\?$/],
      [{ leaf: true }, /^there is no option leaf, there are: cost, levels/],
    ]) await refuses(['user', 'a'], options, INVALID, message);
    for (const call of ['authorizeAll', 'peekAll', 'spendAll', 'refundAll']) {
      await assert.rejects(limiter[call]([['job']], { costs: 2 }),
                           { code: INVALID, message: /did you mean cost\?$/ });
      await assert.rejects(limiter[call]([{ path: ['job'], costs: 2 }]),
                           { code: INVALID, message: /did you mean cost\?$/ });
    }
    await assert.rejects(
      limiter.authorizeActionForUser('a', 'b', { signl: signal }),
      { code: INVALID, message: /did you mean signal\?$/ });
    assert.throws(() => limiter.authorizeSync(['job'], { signal }),
                  { code: INVALID, message: /there are: cost, levels$/ });
    await assert.rejects(limiter.reset(['job'], { leave: true }),
                         { code: INVALID, message: /no option leave, / });
    assert.throws(() => clientIp({ trustedProxy: ['::1'] }),
                  { code: INVALID, message: /did you mean trustedProxies\?$/ });
    const decision = limiter.authorizeSync(['user', 'a']);
    assert.throws(() => decision.headers('legacy', { resets: 'epoch' }),
                  { code: INVALID, message: /did you mean reset\?$/ });
  });

  it('have types', async () => {
    for (const [options, message] of [
      [{ cost: '2' }, /^cost must be a whole number, is the text "2"$/],
      [{ cost: 2n }, /^cost must be a whole number, is the bigint 2n$/],
      [{ levels: 1 }, /^levels must be true or false, is 1$/],
    ]) await refuses(['user', 'a'], options, INVALID, message);
    for (const [wrong, message] of [
      [{}, /^signal must be an AbortSignal, is an object$/],
      [null, /is null$/], [new AbortController(), /is an object$/],
    ]) {
      for (const call of ['authorize', 'peek']) {
        await assert.rejects(limiter[call](['job'], { signal: wrong }),
                             { code: INVALID, message });
      }
    }
    await assert.rejects(limiter.reset(['job'], { leaf: 1 }),
                         { code: INVALID, message: /^leaf must be true or f/ });
    await limiter.authorize(['job'], {
      signal, cost: undefined, levels: undefined });
  });
});

describe('a method', () => {
  it('is its limiter\'s, also where it is taken out', async () => {
    const one = new Limiter({ limits: LIMITS });
    const { authorize, authorizeSync, peek, stats, close } = one;
    assert.equal((await authorize(['user', 'z'])).remaining, 9);
    assert.equal(authorizeSync(['user', 'z']).remaining, 8);
    assert.equal((await [['user', 'z']].map(peek, undefined)[0]
      .catch(({ message }) => message)), 'options must be an object such as ' +
      '{cost: 2}, is 0');
    assert.equal(stats().allowed, 2);
    assert.deepEqual(Object.keys(one), []);
    await close();
    assert.ok(one.closed);
    class Mine extends Limiter {
      authorizeSync(path) { return super.authorizeSync(path, { cost: 2 }); }
    }
    const { authorizeSync: mine } = new Mine({ limits: LIMITS });
    assert.equal(mine(['user', 'z']).remaining, 8);
  });
});

describe('other arguments', () => {
  it('are options', async () => {
    for (const options of [null, 2, 'cost']) {
      await refuses(['user', 'a'], options, INVALID,
                    /^options must be an object/);
    }
  });

  it('of authorizeAll', async () => {
    for (const [paths, message] of [
      [undefined, /^paths must be an array, is undefined$/],
      [['user'], /^paths\[0\] must be an array/],
      [[['job'], ['user', null]], /^paths\[1\]\[1\] must be a string, is null/],
      [[['job'], []], /empty/],
      [[{ path: 'job' }], /^paths\[0\]\.path must be an array/],
      [[{ path: ['job'], cost: 0.5 }], /^cost must be a whole number/],
      [[null], /^paths\[0\] must be an array, is null$/],
      [[], /no paths/],
      [Array(5000).fill(['job']), /there are 5000 paths, the most is 4096/],
    ]) {
      await assert.rejects(limiter.authorizeAll(paths),
                           { code: INVALID, message });
    }
  });

  it('of authorizeActionForUser', async () => {
    for (const [user, action, message] of [
      [undefined, 'trade', /^user must be a string, is undefined$/],
      ['alex', undefined, /^action must be a string, is undefined$/],
      ['alex', {}, /^action must be a string, is an object$/],
      [NaN, 'trade', /^user must be a string or a whole number/],
    ]) {
      // Before and after its root is known.
      const fresh = new Limiter({ limits: LIMITS });
      await assert.rejects(fresh.authorizeActionForUser(user, action),
                           { code: INVALID, message });
      await fresh.authorizeActionForUser('alex', 'trade');
      await assert.rejects(fresh.authorizeActionForUser(user, action),
                           { code: INVALID, message });
    }
  });

  it('of reset', async () => {
    await assert.rejects(limiter.reset('job'), { code: INVALID });
    await assert.rejects(limiter.reset(['job', null]), { code: INVALID });
    await assert.rejects(limiter.reset(['jobs']),
                         { code: 'LIMITREE_UNKNOWN_ROOT' });
    await assert.rejects(limiter.reset(['job'], null), { code: INVALID });
  });

  it('of headers', () => {
    const decision = limiter.authorizeSync(['user', 'a']);
    assert.throws(() => decision.headers(), { message: /levels/ });
    assert.throws(() => decision.headers('draft-5'),
                  { code: INVALID, message: /^unknown style of headers/ });
    assert.throws(() => decision.headers('legacy', { reset: 'unix' }),
                  { code: INVALID, message: /^reset must be delta or epoch/ });
    assert.throws(() => limiter.authorizeSync(['job']).headers('x'),
                  { code: INVALID });
    assert.throws(() => decision.problem(), { code: INVALID });
  });
});

describe('a new limiter', () => {
  const wrong = [
    [undefined, INVALID, /^options must be an object/],
    [{}, INVALID, /^limits must be .*, is undefined$/],
    [{ limits: null }, INVALID, /^limits must be .*, is null$/],
    [{ limits: 7 }, INVALID, /^limits must be .*, is 7$/],
    [{ limits: LIMITS, clock: 7 }, INVALID, /^clock must be a function/],
    [{ limits: LIMITS, clock: () => 'now' }, INVALID, /^clock must return/],
    [{ limits: LIMITS, clock: () => NaN }, INVALID, /^clock must return/],
    [{ limits: LIMITS, maxBucket: 7 }, INVALID,
     /^there is no option maxBucket, did you mean maxBuckets\?$/],
    [{ limits: LIMITS, max_buckets: 7 }, INVALID,
     /^there is no option max_buckets, did you mean maxBuckets\?$/],
    [{ limits: LIMITS, stroe: 'memory://' }, INVALID, /did you mean store\?$/],
    [{ limits: LIMITS, level: true }, INVALID, /did you mean levels\?$/],
    [{ limit: LIMITS }, INVALID, /did you mean limits\?$/],
    [{ limits: LIMITS, levels: 'yes' }, INVALID,
     /^levels must be true or false, is the text "yes"$/],
    [{ limits: LIMITS, maxBuckets: -7 }, 'LIMITREE_INVALID_CONFIG',
     /^maxBuckets: must be a whole number/],
    [{ limits: LIMITS, tlsCertFile: 'a' }, 'LIMITREE_INVALID_CONFIG',
     /^tlsCertFile: needs a store with TLS/],
    [{ limits: LIMITS, store: 'rediss://a', tlsCertFile: 'a' },
     'LIMITREE_INVALID_CONFIG', /^tlsCertFile: needs tlsKeyFile$/],
    [{ limits: LIMITS, onStoreError: 'ignore' }, 'LIMITREE_INVALID_CONFIG',
     /^onStoreError: must be raise, /],
    [{ limits: LIMITS, timeout: {} }, INVALID, /^timeout must be/],
    [{ limits: LIMITS, timeout: NaN }, INVALID, /^timeout must be/],
    [{ limits: LIMITS, timeout: 'soon' }, 'LIMITREE_INVALID_CONFIG', /timeout/],
    ...['50', ' 50 ', '0.5'].map((text) => [
      { limits: LIMITS, timeout: text }, INVALID,
      /^timeout must have a unit if it is a text: say "[\d.]+ms" or/]),
    [{ limits: LIMITS, connectTimeout: '1' }, INVALID,
     /^connectTimeout must have a unit .* or the number 1 for milliseconds$/],
    [{ limits: LIMITS, connectTimeout: 0 }, 'LIMITREE_INVALID_CONFIG',
     /^connectTimeout: must be a duration from 1ms to 1m$/],
    [{ limits: LIMITS, store: 7 }, 'LIMITREE_INVALID_CONFIG', /^store: /],
    [{ limits: LIMITS, store: 'mysql://' }, 'LIMITREE_INVALID_CONFIG', /store/],
    [{ limits: LIMITS, share: '' }, INVALID, /^share must be a name/],
    [{ limits: LIMITS, share: 'a', clock: Date.now }, INVALID, /^share: /],
    [{ limits: LIMITS, share: 'a', store: 'redis://a' }, INVALID, /^share: /],
    [{ limits: { schema: () => 7 } }, INVALID, /^limits must be made of/],
    [{ limits: { schemas: {} } }, 'LIMITREE_INVALID_CONFIG', /schemas/],
    [{ limits: { schema: { a: { limits: [1, NaN, 1] } } } },
     'LIMITREE_INVALID_CONFIG', /^limits:1:\d+: .*must be.*"NaN"/],
    ...['limits', 'children', 'key', 'overrides'].map((name) => [
      { limits: { schema: { a: { [name]: undefined } } } }, INVALID,
      new RegExp(`^limits have an undefined part: "${name}"$`)]),
    ...[{ alex: undefined }, { a: { children: {
      count: { limits: '1/s' }, alex: undefined } } }].map((schema) => [
      { limits: { schema } }, INVALID, /^limits have an undefined part: "alex"/,
    ]),
    [{ limits: {} }, 'LIMITREE_INVALID_CONFIG', /schema/],
    [{ limits: LIMITS, descriptors: { domain: 'a', descriptors: () => 7 } },
     INVALID, /^descriptors must be made of objects/],
    [{ limits: '5/minute' }, 'LIMITREE_INVALID_CONFIG',
     /^5\/minute: limits are a tree, .*\{job: \{limits: '5\/minute'\}\}/],
    [{ limits: '5 per 2 minutes; 9/hour' }, 'LIMITREE_INVALID_CONFIG',
     /: limits are a tree/],
    ...['2026/limits.yaml', '5/limits', '5/', 'minute'].map((file) => [
      { limits: file }, 'LIMITREE_INVALID_CONFIG',
      new RegExp(`^${file}: there is no such file$`)]),
    [{ limits: LIMITS, descriptors: '5/minute' }, 'LIMITREE_INVALID_CONFIG',
     /^5\/minute: there is no such file$/],
    [{ limits: { schema: { '\ud800': {} } } }, 'LIMITREE_INVALID_CONFIG', /./],
    [{ limits: 'nothing.yaml' }, 'LIMITREE_INVALID_CONFIG',
     /^nothing\.yaml: there is no such file$/],
    [{ limits: 'docs' }, 'LIMITREE_INVALID_CONFIG', /^docs: is a folder$/],
    [{ limits: new URL('http://a/b') }, INVALID,
     /^limits must be a file: URL, is http:\/\/a\/b$/],
  ];
  for (const [options, code, message] of wrong) {
    it(`is refused: ${String(message)}`, () => {
      assert.throws(() => new Limiter(options), { code, message });
      assert.throws(() => configure(options), { code, message });
    });
  }

  it('is not refused: an option that is undefined', () => {
    const name = undefined;
    new Limiter({
      limits: { schema: { a: { mode: name, limits: [
        { count: 1, period: '1m', burst: undefined }, { block: true, name },
      ] } } },
      descriptors: { domain: 'a', descriptors: [
        { key: 'k', value: undefined,
          rate_limit: { unit: 'day', requests_per_unit: 1, name } },
        { key: 'other', descriptors: undefined }] },
    }).close();
    new Limiter({ limits: LIMITS,
                  descriptors: { domain: 'a', descriptors: name } }).close();
  });

  it('knows every option of docs/configuration.md', () => {
    const page = new URL('../../docs/configuration.md', import.meta.url);
    const names = [...readFileSync(page, 'utf8').matchAll(
      /^\| `(\w+)` \| (?:`|  ?\|)/gm)].map(([, name]) =>
      name.replace(/_(.)/g, (_, letter) => letter.toUpperCase()));
    assert.ok(names.length >= 19);
    assert.throws(() => new Limiter({ limits: LIMITS, no: 1 }), {
      message: `there is no option no, there are: ${
        [...names, 'limits', 'clock', 'levels', 'share', 'descriptors',
         'mergeDomains'].join(', ')}` });

    const types = new URL('../../node/src/limits.ts', import.meta.url);
    const options = [...readFileSync(types, 'utf8').matchAll(
      /interface (?:Store|Descriptor)Options \{(.*?)\n\}/gs)]
      .map(([, one]) => one).join('\n');
    assert.deepEqual(
      [...options.matchAll(/^  readonly (\w+)\?/gm)].map(([, name]) => name)
        .sort(), [...names, 'descriptors', 'mergeDomains'].sort());
  });

  it('knows from the core whether its store is remote', async () => {
    const stores = { 'memory://': false, 'redis://127.0.0.1:1': true,
                     'valkey+cluster://127.0.0.1:1': true,
                     'redis+unix:///nowhere': true };
    for (const [store, isRemote] of Object.entries(stores)) {
      const made = new Limiter({ limits: LIMITS, store });
      const facts = () => [made.isRemote, made.isShared];
      assert.deepEqual(facts(), [isRemote, isRemote], store);
      await made.close();
      assert.deepEqual(facts(), [isRemote, isRemote], store);
    }
  });

  it('of a file that is not there', async () => {
    await assert.rejects(Limiter.fromFile('nothing.yaml'), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.equal(error.cause.code, 'ENOENT');
      assert.ok(error.file.endsWith('/nothing.yaml'));
      return true;
    });
    const kept = new Limiter({ limits: LIMITS });
    await assert.rejects(kept.reload('nothing.yaml'), ConfigError);
    await kept.close();
    await assert.rejects(Limiter.fromFile(7), { code: INVALID });
    await assert.rejects(Limiter.fromFile('a.yaml', null), { code: INVALID });
  });

  it('needs new', () => assert.throws(() => Limiter({}), TypeError));
});

describe('a clock', () => {
  it('that fails is told of, and nothing is charged', async () => {
    let fails = false;
    const clock = () => {
      if (fails) throw new RangeError('no time');
      return 1.7e12;
    };
    const timed = new Limiter({ limits: LIMITS, clock });
    fails = true;
    await assert.rejects(timed.authorize(['user', 'a']), RangeError);
    assert.throws(() => timed.authorizeSync(['user', 'a']), RangeError);
    fails = false;
    assert.equal(timed.authorizeSync(['user', 'a']).remaining, 9);
  });

  it('may ask another limiter meanwhile', () => {
    const clock = () => {
      limiter.authorizeSync(['user', 'elsewhere'], { cost: 3 });
      return 1.7e12;
    };
    const timed = new Limiter({ limits: LIMITS, clock });
    assert.equal(timed.authorizeSync(['user', 'a'], { cost: 2 }).remaining, 8);
    const path = { 0: 'user', length: 2, get 1() { clock(); return 'a'; } };
    const sly = Object.assign(['user', 'x'], {});
    Object.defineProperty(sly, 1, Object.getOwnPropertyDescriptor(path, 1));
    assert.equal(timed.authorizeSync(sly, { cost: 2 }).remaining, 6);
  });
});

describe('a closed limiter', () => {
  it('says so, whatever is called', async () => {
    const closed = new Limiter({ limits: LIMITS });
    const kept = closed.authorizeSync(['user', 'a'], { levels: true });
    await closed.close();
    await closed.close();
    const code = 'LIMITREE_CANCELLED';
    for (const [call, ...args] of [
      ['authorize', ['job']], ['peek', ['job']], ['spend', ['job']],
      ['refund', ['job']], ['authorizeAll', [['job']]], ['ping'],
      ['authorizeActionForUser', 'a', 'b'], ['reset', ['job']],
      ['reload', LIMITS], ['put', 'x', {}]]) {
      await assert.rejects(closed[call](...args), { code }, call);
    }
    for (const [call, ...args] of [
      ['authorizeSync', ['job']], ['stats'], ['limitStats'], ['reasonStats'],
      ['prometheus'], ['explain', ['job']]]) {
      assert.throws(() => closed[call](...args), { code }, call);
    }
    assert.equal(kept.levels[0].policy, 'user:*');
  });
});
