// An installed package can build its native module from @limitree/source: it
// compiles the whole library again, in a folder with nothing but the packages.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync }
  from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { Packed } from './packed.mjs';
import { run } from './run.mjs';

const PROGRAM = `
const { Limiter } = require('limitree');
const limiter = new Limiter({ limits: 'schema: {job: {limits: [4, 1, 60]}}' });
console.log(limiter.authorizeSync(['job']).remaining);
`;

const packed = await new Packed().install();
after(() => packed.remove());
const cwd = packed.app;
const source = join(cwd, 'node_modules', '@limitree', 'source');
const build = (...options) => run(
  'npx', ['--offline', 'limitree-build', ...options], { cwd });
const { version } = JSON.parse(
  readFileSync(join(packed.installed, 'package.json'), 'utf8'));
const INSTALL = `run npm install --no-save @limitree/source@${version}\n`;

describe('limitree-build', () => {
  it('says that there are no sources', async () => {
    await assert.rejects(build(), (error) => error.message.includes(
      'limitree-build: the sources, the package @limitree/source, are ' +
      `missing: ${INSTALL}`));
  });

  it('refuses those of another version', async () => {
    mkdirSync(source);
    writeFileSync(join(source, 'package.json'), '{"version": "9.9.9"}');
    await assert.rejects(build(), (error) => error.message.includes(
      'limitree-build: @limitree/source is of version 9.9.9, not ' +
      `${version}: ${INSTALL}`));
    rmSync(source, { recursive: true });
  });

  it('says that there is no CMake', async () => {
    await unpack();
    const programs = join(packed.folder, 'programs');
    mkdirSync(programs);
    symlinkSync(process.execPath, join(programs, 'node'));
    const file = join(packed.installed, 'node/scripts/limitree-build.mjs');
    await assert.rejects(
      run(process.execPath, [file], { cwd, env: { PATH: programs } }),
      /limitree-build: cannot run cmake: .*ENOENT/);
  });

  it('says before it compiles that the module has no place', async () => {
    const place = join(packed.installed, 'prebuilds');
    rmSync(place, { recursive: true, force: true });
    writeFileSync(place, '');
    await assert.rejects(
      build(), /limitree-build: cannot put the module into .*prebuilds.*: E/);
    rmSync(place);
  });

  it('compiles a module, which is taken', async () => {
    const program = () => run(process.execPath, ['-e', PROGRAM], { cwd });
    rmSync(packed.native, { recursive: true });
    await assert.rejects(program, /limitree needs the package @limitree/);
    await unpack();
    // Whether it compiles and links, in a fifth of the time.
    await build('-DCMAKE_CXX_FLAGS_RELEASE=-O0', '-DCMAKE_UNITY_BUILD=ON',
                '-DCMAKE_UNITY_BUILD_BATCH_SIZE=40', '-G', 'Ninja');
    assert.equal(await program(), '4\n');
  });
});

/** As `npm install` does, which would install the native module again. */
async function unpack() {
  rmSync(source, { recursive: true, force: true });
  mkdirSync(source, { recursive: true });
  await run('tar', ['-xzf', packed.tarball('source'), '-C', source,
                    '--strip-components=1']);
}
