// A redis-server or a memcached for one test, on a socket in its own folder.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** The timeout of limiters in these tests: long, for a busy machine. */
export const PATIENT = '5s';

/** Waits until the store answers a limiter whose timeout is short. */
export async function ready(limiter) {
  while (!await limiter.ping().then(() => true, () => false)) await sleep(20);
}

async function answers(path, ping = 'PING\r\n', pong = '+PONG\r\n') {
  const socket = createConnection(path);
  try {
    await once(socket, 'connect');
    socket.write(ping);
    const [answer] = await once(socket, 'data');
    return answer.toString() === pong;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

export class RedisServer {
  #folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  #process;

  get path() {
    return join(this.#folder, 'redis.sock');
  }

  get url() {
    return `redis+unix://${this.path}`;
  }

  /** Starts the server, also after kill(), and waits until it answers. */
  async start(...options) {
    // The server must not load the sanitizer of this process.
    const { LD_PRELOAD, ...env } = process.env;
    this.#process = spawn('redis-server', [
      '--port', '0', '--unixsocket', this.path, '--save', '',
      '--dir', this.#folder, ...options],
      // Detached, in its own session: without a terminal, the kernel may hang
      // up a process group that has a stopped process.
      { stdio: 'ignore', env, detached: true });
    for (let i = 0; i < 1000; ++i) {
      if (await answers(this.path)) return this;
      await sleep(10);
    }
    throw new Error('redis-server does not answer');
  }

  /** Sends a command, and returns its reply, which must be short. */
  async command(...words) {
    const socket = createConnection(this.path);
    const text = words.map((word) =>
      `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    socket.write(`*${words.length}\r\n${text.join('')}`);
    const [reply] = await once(socket, 'data');
    socket.destroy();
    return reply.toString();
  }

  signal(name) {
    const { pid } = this.#process;
    this.#process.kill(name);
    if (name !== 'SIGSTOP' || process.platform !== 'linux') return;
    // Until then, the server may answer on another processor.
    while (!readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') T ')) ;
  }

  async kill() {
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
  }

  async stop() {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }
}

export class MemcachedServer {
  #folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  #process;
  #stores = 0;

  /** Options of a limiter whose store is empty. */
  newStore() {
    return { store: `memcached+unix://${this.#folder}/socket`,
             prefix: `${++this.#stores}:` };
  }

  async start() {
    const { LD_PRELOAD, ...env } = process.env;
    const user = process.getuid() === 0 ? ['-u', 'root'] : [];
    this.#process = spawn('memcached', [
      '-s', `${this.#folder}/socket`, ...user],
      { stdio: 'ignore', env, detached: true });
    for (let i = 0; i < 1000; ++i) {
      if (await answers(`${this.#folder}/socket`, 'mn\r\n', 'MN\r\n')) {
        return this;
      }
      await sleep(10);
    }
    throw new Error('memcached does not answer');
  }

  async stop() {
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
    rmSync(this.#folder, { recursive: true });
  }
}

/** Starts a server that runs as long as `test`. */
export async function serverFor(test) {
  const server = await new RedisServer().start();
  test.after(() => server.stop());
  return server;
}
