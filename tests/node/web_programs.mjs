// Programs that serve HTTP on the port that PORT names.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const PORTS = [26_000, 32_000];
let next = PORTS[0] + Math.floor(Math.random() * (PORTS[1] - PORTS[0]));

/**
 * A port that nobody uses, of those that no system gives to a connection: it
 * is still free when a program has started.
 */
export async function freePort() {
  for (;;) {
    if (next === PORTS[1]) [next] = PORTS;
    const port = next++;
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening')
      .then(() => true, () => false);
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

/**
 * Runs `use(get)` while the program `file`, in `cwd`, serves requests.  `file`
 * may be an array with the program's arguments.
 */
export async function withProgram(file, use, cwd = '.') {
  const port = await freePort();
  const program = spawn(process.execPath, [file].flat(), {
    cwd, env: { ...process.env, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true });  // the leader of a group, with its workers
  let errors = '';
  program.stderr.on('data', (text) => { errors += text; });
  const gone = once(program, 'exit');
  const get = (path = '/', init = {}) =>
    fetch(`http://localhost:${port}${path}`, init);
  try {
    for (;;) {
      if (program.exitCode !== null) assert.fail(`${file}: ${errors}`);
      const answer = await get('/there').catch(() => undefined);
      if (answer !== undefined) break;
      await sleep(20);
    }
    await use(get);
  } finally {
    if (program.exitCode === null) process.kill(-program.pid);
    await gone;
  }
  assert.equal(errors, '');
}
