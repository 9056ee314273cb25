// Where the native module is missing, or is not the right one: one message that
// says so, and what to do.

import assert from 'node:assert/strict';
import {
  copyFileSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync,
  writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';

import { OWN, Packed } from './packed.mjs';
import { run } from './run.mjs';

const packed = await new Packed().install();
after(() => packed.remove());
const { app, installed } = packed;
const { version } = JSON.parse(
  readFileSync(join(installed, 'package.json'), 'utf8'));
const scope = join(app, 'node_modules', '@limitree');

const MISSING = `limitree needs the package @limitree/${OWN}, which is not ` +
  'installed. Package managers leave it out with --omit=optional, without a ' +
  'network, and if the lock file comes from another platform. To install it: ' +
  `npm install --save-optional @limitree/${OWN}@${version}`;

/** Prints the error of importing limitree, or nothing. */
const PROGRAM = `
try {
  require('limitree');
} catch (error) {
  process.stdout.write(error.code + ' ' + error.message);
}`;

const start = (cwd = app, env = {}, before = '') =>
  run(process.execPath, ['-e', before + PROGRAM],
      { cwd, env: { ...process.env, ...env } });

describe('without the package of this platform', () => {
  const away = join(packed.folder, 'away');
  beforeEach(() => renameSync(scope, away));
  afterEach(() => {
    rmSync(scope, { recursive: true, force: true });
    renameSync(away, scope);
  });

  it('says which is missing, why, and what to do', async () => {
    assert.equal(await start(), `LIMITREE_NO_NATIVE ${MISSING}`);
  });

  it('says so again to who tries again', async () => {
    assert.equal(await start(app, {}, PROGRAM),
                 `LIMITREE_NO_NATIVE ${MISSING}`.repeat(2));
  });

  it('says so to a module, too', async () => {
    await assert.rejects(
      run(process.execPath, ['--input-type=module', '-e',
                             "import 'limitree';"], { cwd: app }),
      (error) => error.message.includes(`LimitreeError: ${MISSING}`));
  });

  it('names packages of other platforms that are there', async () => {
    const other = join(scope, 'darwin-arm64');
    cpSync(join(away, OWN), other, { recursive: true });
    assert.match(await start(), new RegExp(
      'not installed\\. There is @limitree/darwin-arm64: node_modules comes ' +
      `from another platform\\. To install it: npm install .*${OWN}@`));
  });

  it('takes what limitree-build has made', async () => {
    const place = join(installed, 'prebuilds', OWN);
    mkdirSync(place, { recursive: true });
    copyFileSync(join(away, OWN, 'limitree.node'),
                 join(place, 'limitree.node'));
    assert.equal(await start(), '');
    rmSync(join(installed, 'prebuilds'), { recursive: true });
  });
});

describe('how a package manager leaves it out', () => {
  let count = 0;
  const cases = {
    'without a network': [[undefined], ['--offline']],
    'with a network that does not answer': [[undefined], [
      '--registry', 'http://127.0.0.1:9', '--fetch-retries', '0']],
    'by --omit=optional': [[undefined], ['--omit=optional', '--offline']],
  };
  for (const [name, [names, options]] of Object.entries(cases)) {
    it(name, async () => {
      const folder = join(packed.folder, `without${++count}`);
      await packed.installIn(folder, names, [
        ...options, '--cache', join(packed.folder, 'empty')]);
      assert.equal(await start(folder), `LIMITREE_NO_NATIVE ${MISSING}`);
    });
  }
});

it('says that there is none for the platform', async () => {
  const before = "Object.defineProperty(process, 'arch', {value: 'pdp11'});";
  const name = OWN.replace(process.arch, 'pdp11');
  assert.equal(await start(app, {}, before),
    `LIMITREE_NO_NATIVE limitree has no native module for ${name}; there are ` +
    'some for darwin-arm64, darwin-x64, linux-arm64, linux-arm64-musl, ' +
    'linux-x64, linux-x64-musl. To build it from the sources: npm install ' +
    `--no-save @limitree/source@${version} && npx limitree-build`);
});

describe('a module that cannot be loaded', () => {
  const file = join(app, 'own.node');
  const env = { LIMITREE_NATIVE_PATH: file };

  it('says why, and how to build one', async () => {
    writeFileSync(file, 'no module');
    const text = await start(app, env);
    assert.match(text, new RegExp(
      '^LIMITREE_NO_NATIVE limitree cannot load its native module for ' +
      `${OWN}, node \\d+\\.\\d+\\.\\d+:\n  .*own\\.node: ` +
      '.*(header|short).*\nTo build it from the sources: npm install ' +
      '--no-save @limitree/source@'));
  });

  it('names the variable if there is no such file', async () => {
    rmSync(file);
    assert.equal(await start(app, env),
      'LIMITREE_NO_NATIVE limitree has no native module: there is no file ' +
      `${file}, which LIMITREE_NATIVE_PATH names`);
    copyFileSync(packed.module, file);
    assert.equal(await start(app, env), '');
  });

  it('is passed over for one that can', async () => {
    const place = join(installed, 'prebuilds', OWN);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, 'limitree.node'), 'no module');
    assert.equal(await start(), '');
    rmSync(join(installed, 'prebuilds'), { recursive: true });
  });

  it('is not taken if it is of another version', async () => {
    const core = join(installed, 'node', 'dist', 'core.js');
    const text = readFileSync(core, 'utf8');
    writeFileSync(core, text.replace(
      `{"version":"${version}"}`, '{"version":"99.0.0"}'));
    assert.match(await start(), new RegExp(
      `limitree\\.node: is of version ${version}, not 99\\.0\\.0\n`));
    writeFileSync(core, text);
    assert.equal(await start(), '');
  });
});
