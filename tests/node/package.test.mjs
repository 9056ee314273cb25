// The tarballs of limitree and of this platform: they work where they are
// installed, without a compiler, a network, or scripts.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync }
  from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { OWN, Packed, ROOT, load } from './packed.mjs';
import { run } from './run.mjs';

const BIN = join(ROOT, 'node_modules', '.bin');

const packed = await new Packed().install();
after(() => packed.remove());
const { app, installed } = packed;

const BODY = `
const limiter = new Limiter({
  limits: { schema: { job: { limits: [0, 1, 60] } } } });
const answers: [boolean, number] = [
  limiter.authorizeSync(['job']).allowed,
  limiter.authorizeSync(['job']).limit];
async function main(): Promise<void> {
  const limited: Decision | undefined =
    await limiter.authorizeActionForUser('alex', 'trade').catch((error) => {
      if (!(error instanceof LimitreeError)) throw error;
      return undefined;
    });
  const denied = await limiter.authorize(['job'], {
    signal: new AbortController().signal, cost: 1 });
  console.log(...answers, limited, denied.limited, denied.cell[0]);
  await using other = new Limiter({ limits: 'schema: {job: {}}' });
  await other.peek(['job', 7]);
  await using held = await limiter.reserve(['job'], { hold: '5m' });
  const counts: number[] = [
    await held.settle({ request: 1 }), await limiter.cancel(held.receipt)];
  if (counts.some((count) => count > 0)) console.log(held.held);
  await limiter.close();
}
main();
`;
const IMPORT = "import { Limiter, LimitreeError } from 'limitree';\n";
const IMPORT_TYPE = "import type { Decision } from 'limitree';\n";
const REQUIRE = "import limitree = require('limitree');\n" +
  'const { Limiter, LimitreeError } = limitree;\n' +
  'type Decision = limitree.Decision;\n';
const PRINTS = 'true 1 undefined true 1\n';

/** The program in JavaScript. */
function untyped(text) {
  return text
    .replace(/: \[boolean, number\]|: Promise<void>|: number\[\]/g, '')
    .replace(/: Decision \| undefined/, '').replaceAll('await using', 'const');
}

const manifestOf = (folder) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const namesIn = (folder) => readdirSync(folder).filter((name) =>
  !name.startsWith('.')).sort();
const sizeOf = (folder) => readdirSync(folder, { recursive: true })
  .map((name) => statSync(join(folder, name)))
  .reduce((sum, one) => sum + (one.isFile() ? one.size : 0), 0);

describe('the tarballs', () => {
  it('works as a module', async () => {
    writeFileSync(join(app, 'a.mjs'), IMPORT + untyped(BODY));
    assert.equal(await run(process.execPath, ['a.mjs'], { cwd: app }), PRINTS);
  });

  it('works as CommonJS', async () => {
    writeFileSync(join(app, 'a.cjs'), untyped(
      "const { Limiter, LimitreeError } = require('limitree');\n" + BODY));
    assert.equal(await run(process.execPath, ['a.cjs'], { cwd: app }), PRINTS);
  });

  it('is one package however it was loaded', async () => {
    writeFileSync(join(app, 'b.mjs'), `
      import * as esm from 'limitree';
      import { createRequire } from 'node:module';
      const cjs = createRequire(import.meta.url)('limitree');
      const names = Object.keys(cjs).filter((name) => cjs[name] !== esm[name]);
      console.log(names.length, Object.keys(cjs).length > 5);`);
    assert.equal(await run(process.execPath, ['b.mjs'], { cwd: app }),
                 '0 true\n');
  });

  for (const [kind, text] of [['mts', IMPORT + IMPORT_TYPE + BODY],
                              ['cts', REQUIRE + BODY]]) {
    it(`works in TypeScript, .${kind}`, async () => {
      writeFileSync(join(app, `c.${kind}`), text);
      // Checks our types strictly, too, and without the types of Node.js.
      writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({
        files: [`c.${kind}`], compilerOptions: {
          strict: true, module: 'node16', target: 'es2022', types: [],
          lib: ['es2022', 'dom'], exactOptionalPropertyTypes: true } }));
      await run(join(BIN, 'tsc'), [], { cwd: app });
      const made = kind.replace('ts', 'js');
      assert.equal(await run(process.execPath, [`c.${made}`], { cwd: app }),
                   PRINTS);
    });
  }

  it('has types and entry points as they should be', async () => {
    await run(join(BIN, 'publint'), ['run', installed, '--strict']);
    // Strict: also for "moduleResolution": "node10" and "bundler".
    await run(join(BIN, 'attw'), [packed.tarball(), '--profile', 'strict',
                                  '--no-emoji', '--no-color']);
  });

  it('runs no scripts and needs no packages but that of a platform', () => {
    const manifest = manifestOf(installed);
    assert.equal(manifest.dependencies, undefined);
    assert.deepEqual(
      manifest.optionalDependencies,
      Object.fromEntries(load('platform.js').PLATFORMS.map((name) =>
        [`@limitree/${name}`, manifest.version])));
    for (const folder of [installed, packed.native]) {
      assert.equal(manifestOf(folder).scripts, undefined);
      // npm would run node-gyp if this file existed.
      assert.ok(!existsSync(join(folder, 'binding.gyp')));
    }
    assert.deepEqual(namesIn(join(app, 'node_modules')),
                     ['@limitree', 'limitree']);
    assert.deepEqual(namesIn(join(app, 'node_modules', '@limitree')), [OWN]);
  });

  it('says which OpenSSL is in the module', async () => {
    const readme = readFileSync(join(packed.native, 'README.md'), 'utf8');
    const version = await run(process.execPath, [
      '-e', "process.stdout.write(require('limitree').opensslVersion)"],
      { cwd: app });
    assert.match(version, /^OpenSSL \d+\.\d+\.\d+/);
    assert.ok(readme.includes(`It contains ${version} and`), readme);
  });

  it('has the version of the library', async () => {
    const version = await run(process.execPath, [
      '-e', "process.stdout.write(require('limitree').version)"],
      { cwd: app });
    assert.equal(version, manifestOf(installed).version);
    assert.equal(version, manifestOf(packed.native).version);
  });

  it('is small, because it has no sources and no module', () => {
    assert.deepEqual(namesIn(installed), [
      'LICENSE', 'README.md', 'node', 'package.json']);
    assert.deepEqual(namesIn(join(installed, 'node')), ['dist', 'scripts']);
    assert.deepEqual(namesIn(join(installed, 'node', 'scripts')),
                     ['limitree-build.mjs']);
    assert.ok(sizeOf(installed) < 800_000);
  });

  it('is as before in the clone', async () => {
    assert.equal(manifestOf(ROOT).optionalDependencies, undefined);
    await assert.rejects(
      run('npm', ['pack', '--pack-destination', app], { cwd: ROOT }),
      /instead of npm pack: npm run tarballs/);
    assert.equal(manifestOf(ROOT).private, true);
  });
});

it('packed twice, it has the same bytes', async (t) => {
  const again = await new Packed().packAgain();
  t.after(() => again.remove());
  for (const name of [undefined, 'source', OWN]) {
    assert.ok(readFileSync(again.tarball(name)).equals(
      readFileSync(packed.tarball(name))), name);
  }
});
