// Clients that do not behave.

import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const REQUEST = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n';

/** Sends requests and leaves without waiting for the answer. */
async function leave(port, count, how) {
  const socket = connect(port, '127.0.0.1');
  const gone = once(socket, 'close');
  socket.on('error', () => {});  // the server may be faster
  await once(socket, 'connect');
  socket.write(REQUEST.repeat(count), () => socket[how]());
  await gone;
}

/** Many clients that leave, alone and with several requests at once. */
export async function leaveOften(url, times = 10) {
  const { port } = new URL(url);
  for (let i = 0; i < times; ++i) {
    for (const how of ['resetAndDestroy', 'destroy']) {
      await leave(Number(port), 1 + i % 3, how);
    }
  }
  await sleep(50);  // until the server has seen the last ones
}
