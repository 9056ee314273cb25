// An installed package can build its native module: it compiles the whole
// library again, in a folder with nothing but the package.

import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';

import { Packed } from './packed.mjs';
import { run } from './run.mjs';

const PROGRAM = `
const { Limiter } = require('limitree');
const limiter = new Limiter({ limits: 'schema: {job: {limits: [4, 1, 60]}}' });
console.log(limiter.authorizeSync(['job']).remaining);
`;

it('limitree-build', async (t) => {
  const packed = await new Packed().install();
  t.after(() => packed.remove());
  const cwd = packed.app;
  const program = () => run(process.execPath, ['-e', PROGRAM], { cwd });
  rmSync(join(packed.installed, 'prebuilds'), { recursive: true });
  await assert.rejects(program, /npx limitree-build/);
  // With the flags of the other build, so that ccache, if installed, has the
  // results.
  const env = { ...process.env, CCACHE_BASEDIR: packed.installed };
  await run('npx', ['--offline', 'limitree-build', '-DLIMITREE_WERROR=ON',
                    '-G', 'Ninja'], { cwd, env });
  assert.equal(await program(), '4\n');
});
