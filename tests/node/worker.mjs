// A thread of threads.test.mjs.

import { parentPort, workerData } from 'node:worker_threads';

import { Limiter, authorizeActionForUser } from 'limitree';

const { task, options, calls, path } = workerData;

async function run() {
  if (task === 'default') {
    let allowed = 0;
    for (let i = 0; i < calls; ++i) {
      const limited = await authorizeActionForUser('alex', 'trade');
      if (!limited) ++allowed;
    }
    return allowed;
  }
  const limiter = new Limiter(options);
  if (task === 'hang') {  // until it is terminated
    for (let i = 0; i < calls; ++i) limiter.peek(path);
    limiter.ping().catch(() => {});
    parentPort.postMessage('asking');
    for (;;) await limiter.peek(path).catch(() => {});
  }
  const answers = [];
  for (let i = 0; i < calls; ++i) answers.push(limiter.authorize(path));
  const decisions = await Promise.all(answers);
  return decisions.filter(({ allowed }) => allowed).length;
}

parentPort.postMessage(await run());
