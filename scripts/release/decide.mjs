// Decides with the installed package: memory, shared memory, and a Redis that
// is not there.
//
// usage: decide.mjs <examples/limits.yaml>, in a folder with node_modules

import assert from 'node:assert/strict';
import { unlinkSync } from 'node:fs';

import { Limiter, opensslVersion } from 'limitree';

const [limits] = process.argv.slice(2);
const EXPECTED = [...Array(6).fill(true), false, false];

/** Whether each of eight trades is allowed. */
async function trades(limiter, user) {
  const answers = [];
  for (let trade = 0; trade < 8; ++trade) {
    const { limited } = await limiter.authorize(['user', user, 'trade']);
    answers.push(!limited);
  }
  return answers;
}

assert.deepEqual(await trades(new Limiter({ limits }), 'alex'), EXPECTED);
if (process.platform === 'linux') {
  const name = `limitree-release-${process.pid}`;
  const limiter = new Limiter({ limits, store: `shm://${name}` });
  try {
    assert.deepEqual(await trades(limiter, 'alex'), EXPECTED);
  } finally {
    limiter.close();
    unlinkSync(`/dev/shm/${name}`);
  }
}
for (const store of ['redis://127.0.0.1:1', 'rediss://127.0.0.1:1']) {
  const limiter = new Limiter({ limits, store });
  await assert.rejects(limiter.ping(), /127\.0\.0\.1:1/);
  limiter.close();
}
assert.ok(opensslVersion);
const { glibcVersionRuntime: libc } = process.report.getReport().header;
console.log(`Node.js ${process.versions.node} ${libc ? `glibc ${libc}` : ''}`);
