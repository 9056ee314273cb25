// A Redis Cluster of one node, which has all slots: a request whose paths are
// in several of them takes a call for each.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export class RedisCluster {
  #folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  #process;
  port;

  get url() {
    return `redis+cluster://127.0.0.1:${this.port}`;
  }

  async start() {
    const { LD_PRELOAD, ...env } = process.env;
    for (let tries = 0; tries < 50; ++tries) {
      // The node also listens on this port + 10,000.
      this.port = 10_000 + Math.floor(Math.random() * 11_000);
      this.#process = spawn('redis-server', [
        '--port', String(this.port), '--bind', '127.0.0.1', '--save', '',
        '--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1',
        '--dir', this.#folder],
        { stdio: 'ignore', env, detached: true });
      if (await this.#isReady()) return this;
    }
    throw new Error('no node of a cluster answers');
  }

  /** Whether it has all slots; false if its ports were taken. */
  async #isReady() {
    for (let i = 0; i < 2000 && this.#process.exitCode === null; ++i) {
      const state = await this.command('CLUSTER', 'INFO').catch(() => '');
      if (state.includes('cluster_state:ok')) return true;
      if (state.includes('cluster_slots_assigned:0')) {
        await this.command('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
      }
      await sleep(10);
    }
    return false;
  }

  /** Sends a command, and returns its reply, which must be short. */
  async command(...words) {
    const socket = createConnection(this.port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      const text = words.map((word) =>
        `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
      socket.write(`*${words.length}\r\n${text.join('')}`);
      const [reply] = await once(socket, 'data');
      return reply.toString();
    } finally {
      socket.destroy();
    }
  }

  async stop() {
    if (this.#process.exitCode === null) {
      const gone = once(this.#process, 'exit');
      this.#process.kill('SIGKILL');
      await gone;
    }
    rmSync(this.#folder, { recursive: true });
  }
}
