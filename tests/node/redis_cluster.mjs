// A Redis Cluster, whose nodes share the slots.  Also with one node, which has
// all of them, a request whose paths are in several takes a call for each.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const HOST = '127.0.0.1';
const SLOTS = 16384;

class Node {
  #process;
  port;

  async start(folder) {
    const { LD_PRELOAD, ...env } = process.env;
    for (let tries = 0; tries < 50; ++tries) {
      // The node also listens on this port + 10,000, below `freePort`.
      this.port = 10_000 + Math.floor(Math.random() * 6000);
      this.#process = spawn('redis-server', [
        '--port', String(this.port), '--bind', HOST, '--save', '',
        '--cluster-enabled', 'yes', '--cluster-announce-ip', HOST,
        '--cluster-config-file', `${this.port}.conf`, '--dir', folder],
        { stdio: ['ignore', 'pipe', 'ignore'], env, detached: true });
      // Its own output: if the port was taken, the other node answers there.
      let log = '';
      for await (const text of this.#process.stdout) {
        log += text;
        if (log.includes('Ready to accept connections')) return;
      }
    }
    throw new Error('no node of a cluster answers');
  }

  /** Waits until it says all of that; false if it does not. */
  async says(...words) {
    for (let i = 0; i < 2000 && this.#process.exitCode === null; ++i) {
      const state = await this.command('CLUSTER', 'INFO').catch(() => '');
      if (words.every((word) => state.includes(word))) return true;
      await sleep(10);
    }
    return false;
  }

  /** Sends a command, and returns its reply, which must be short. */
  async command(...words) {
    const socket = createConnection(this.port, HOST);
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
    if (this.#process.exitCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await gone;
  }
}

export class RedisCluster {
  #folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  nodes;

  constructor(count = 1) {
    this.nodes = Array.from({ length: count }, () => new Node());
  }

  /** That of the first node. */
  get port() {
    return this.nodes[0].port;
  }

  get url() {
    return `redis+cluster://${HOST}:${this.port}`;
  }

  async start() {
    const nodes = this.nodes;
    const share = Math.ceil(SLOTS / nodes.length);
    for (const [i, node] of nodes.entries()) {
      await node.start(this.#folder);
      await node.command('CLUSTER', 'ADDSLOTSRANGE', String(i * share),
                         String(Math.min((i + 1) * share, SLOTS) - 1));
      if (i > 0) await node.command('CLUSTER', 'MEET', HOST, String(this.port));
    }
    for (const node of nodes) {
      if (!await node.says('cluster_state:ok', `slots_assigned:${SLOTS}`,
                           `cluster_known_nodes:${nodes.length}`)) {
        throw new Error(await node.command('CLUSTER', 'INFO'));
      }
    }
    return this;
  }

  /** Sends a command to the first node. */
  command(...words) {
    return this.nodes[0].command(...words);
  }

  async stop() {
    await Promise.all(this.nodes.map((node) => node.stop()));
    rmSync(this.#folder, { recursive: true });
  }
}
