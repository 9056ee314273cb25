// The tarball that npm makes of the package: it works where it is installed,
// without a compiler, a network, or scripts.

import assert from 'node:assert/strict';
import {
  copyFileSync, existsSync, readFileSync, readdirSync, renameSync,
  writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { platform } from '../../node/dist/platform.js';
import { Packed, ROOT } from './packed.mjs';
import { run } from './run.mjs';

const BIN = join(ROOT, 'node_modules', '.bin');

const packed = await new Packed().install();
after(() => packed.remove());
const { app, installed, tarball } = packed;

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
  return text.replace(/: \[boolean, number\]|: Promise<void>/g, '')
    .replace(/: Decision \| undefined/, '').replace('await using', 'const');
}

describe('the tarball', () => {
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
    await run(join(BIN, 'attw'), [tarball, '--profile', 'node16',
                                  '--no-emoji', '--no-color']);
  });

  it('runs no scripts and needs no packages', () => {
    const manifest = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'));
    assert.equal(manifest.dependencies, undefined);
    for (const name of ['preinstall', 'install', 'postinstall', 'prepare']) {
      assert.equal(manifest.scripts[name], undefined);
    }
    // npm would run node-gyp if this file existed.
    assert.ok(!existsSync(join(installed, 'binding.gyp')));
    assert.deepEqual(readdirSync(join(app, 'node_modules')).filter((name) =>
      !name.startsWith('.')), ['limitree']);
  });

  it('says which OpenSSL is in the module', async () => {
    const notice = readFileSync(
      join(installed, 'prebuilds', platform(), 'NOTICE.txt'), 'utf8');
    const version = await run(process.execPath, [
      '-e', "process.stdout.write(require('limitree').opensslVersion)"],
      { cwd: app });
    assert.match(version, /^OpenSSL \d+\.\d+\.\d+/);
    assert.ok(notice.includes(` ${version};`), notice);
  });

  it('has the version of the library', () => {
    const { version } = JSON.parse(
      readFileSync(join(installed, 'package.json'), 'utf8'));
    const cmake = readFileSync(join(installed, 'CMakeLists.txt'), 'utf8');
    assert.ok(cmake.includes(`project(limitree VERSION ${version} `));
  });

  it('has nothing that is not needed', () => {
    for (const name of ['tests', 'python', 'bench', 'docs', 'node/src',
                        'bindings/python', 'capi/abi', 'build']) {
      assert.ok(!existsSync(join(installed, name)), name);
    }
  });
});

describe('without a module for this machine', () => {
  const program = "require('limitree')";
  const [prebuilds, away] = ['prebuilds', 'away'].map((name) =>
    join(installed, name));

  it('it says what was tried', async () => {
    renameSync(prebuilds, away);
    try {
      await assert.rejects(
        run(process.execPath, ['-e', program], { cwd: app }), (error) => {
          assert.match(error.message, /LIMITREE_NO_NATIVE/);
          assert.match(error.message, new RegExp(
            `no native module for ${process.platform}-${process.arch}`));
          assert.match(error.message, /limitree\.node: is not there/);
          assert.match(error.message, /npx limitree-build/);
          return true;
        });
    } finally {
      renameSync(away, prebuilds);
    }
  });

  it('or why it was not taken', async () => {
    const file = join(app, 'broken.node');
    writeFileSync(file, 'no module');
    const env = { ...process.env, LIMITREE_NATIVE_PATH: file };
    await assert.rejects(
      run(process.execPath, ['-e', program], { cwd: app, env }),
      /broken\.node: .*(header|short)/);
    copyFileSync(join(prebuilds, platform(), 'limitree.node'), file);
    await run(process.execPath, ['-e', program], { cwd: app, env });
  });
});
