// The package in runtimes other than Node.js: what works, and the errors for
// the rest.

import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { Packed, ROOT } from './packed.mjs';
import { run } from './run.mjs';
import { PATIENT, RedisServer } from './servers.mjs';
import { STORES } from './shared_files.mjs';

const packed = await new Packed().install();
after(() => packed.remove());
const { app } = packed;

// The packages `bun` and `deno` bring a program for each platform.
const { platform, arch } = process;
const libc = platform === 'linux' ? '-glibc' : '';
const RUNTIMES = {
  bun: [join('@oven', `bun-${platform}-${arch === 'arm64' ? 'aarch64' : arch}`,
             'bin', 'bun')],
  deno: [join('@deno', `${platform}-${arch}${libc}`, 'deno'), 'run',
         '--allow-ffi', '--allow-env', '--allow-read', '--allow-net'],
};

const ANSWERS = `
const store = process.env.STORE;
const limits = { schema: { user: { children: { '*': {
  limits: [1, 1, 60], children: { trade: { limits: [0, 1, 60] } } } } } } };
const limiter = new Limiter({ limits, store, levels: true });
const seen = [];
seen.push(limiter.authorizeSync(['user', 'a']).remaining);
const allowed = await limiter.authorize(['user', 'a', 'trade']);
seen.push(allowed.headers().RateLimit);
const denied = await limiter.authorizeActionForUser('a', 'trade');
seen.push(denied.limited, denied.retryAfterMs > 50_000);
seen.push((await limiter.authorizeAll([['user', 'b'], ['user', 'c']])).allowed);
await limiter.reset(['user', 'a', 'trade']);
await limiter.reload(limits);
seen.push((await limiter.peek(['user', 'a', 'trade'])).allowed);
for (const wrong of [() => limiter.authorizeSync(['users']),
                     () => new Limiter({ limits: 'schema: {a: 1}' })]) {
  try { wrong(); } catch (error) {
    seen.push(error instanceof LimitreeError, error.code);
  }
}
await limiter.close();

const limited = rateLimit({ limit: 2, store });
const server = createServer(async (request, response) => {
  if (!await limited(request, response)) response.end('hello');
}).listen(0, '127.0.0.1');
await new Promise((resolve) => server.on('listening', resolve));
for (let i = 0; i < 3; ++i) {
  const answer = await fetch('http://127.0.0.1:' + server.address().port);
  await answer.text();
  seen.push(answer.status);
}
server.close();
console.log(JSON.stringify(seen));
process.exit(0);
`;
const IMPORTS = `
import { createServer } from 'node:http';
import { Limiter, LimitreeError } from 'limitree';
import { rateLimit } from 'limitree/http';
`;
const REQUIRES = `
const { createServer } = require('node:http');
const { Limiter, LimitreeError } = require('limitree');
const { rateLimit } = require('limitree/http');
`;
const EXPECTED = [1, '"user:*";r=0;t=60, "user:*/trade";r=0;t=60', true, true,
                  true, true, true, 'LIMITREE_UNKNOWN_ROOT', true,
                  'LIMITREE_INVALID_CONFIG', 200, 200, 429];
writeFileSync(join(app, 'a.mjs'), IMPORTS + ANSWERS);
writeFileSync(join(app, 'a.cjs'),
              `${REQUIRES}(async () => {${ANSWERS}})();`);
writeFileSync(join(app, 'redis.mjs'), `${IMPORTS}
for (const store of ['redis://127.0.0.1', 'rediss://127.0.0.1',
                     'redis+unix:///nowhere']) {
  for (const make of [() => new Limiter({ store, limits: 'schema: {a: {}}' }),
                      () => rateLimit({ store, limit: 1 })]) {
    try { make(); } catch (error) { console.log(error.code, error.message); }
  }
}
process.exit(0);
`);
// What a client of the program asks needs no event loop of libuv.
for (const name of ['ioredis', 'redis', '@redis', '@ioredis',
                    'cluster-key-slot', 'debug', 'denque', 'ms',
                    'redis-errors', 'redis-parser', 'standard-as-callback',
                    'lodash.defaults', 'lodash.isarguments']) {
  const from = join(ROOT, 'node_modules', name);
  if (existsSync(from)) {
    cpSync(from, join(app, 'node_modules', name), { recursive: true });
  }
}
writeFileSync(join(app, 'client.mjs'), `${IMPORTS}
import { rateLimit as limitFetch } from 'limitree/fetch';
import Redis from 'ioredis';
import { createClient } from 'redis';
const path = process.env.STORE;
const limits = { schema: { user: { children: { '*': {
  limits: [99, 1, 3600] } } } } };
const never = { call: () => new Promise(() => {}), defineCommand() {} };
for (const client of [new Redis(path),
                      await createClient({ socket: { path } }).connect()]) {
  const limiter = new Limiter({ limits, store: { client },
                                timeout: '${PATIENT}' });
  const all = await Promise.all(Array.from(
    { length: 120 }, () => limiter.authorize(['user', 'a'])));
  console.log(all.filter(({ allowed }) => allowed).length);
  console.log(await limiter.ping() > 0);
  await limiter.reset(['user', 'a']);
  console.log((await limiter.authorize(['user', 'a'])).remaining);
  await limiter.reset(['user', 'a']);
  const silent = new Limiter({ limits, store: { client: never },
                               timeout: '1s' });
  await silent.authorize(['user', 'a']).catch(
    ({ reason }) => console.log(reason));
  const limited = limitFetch({ limit: 1, windowMs: '1h', name: 'web',
    store: { client }, timeout: '${PATIENT}', keyGenerator: () => 'a' });
  const handler = limited.wrap(() => new Response('hello'));
  for (let i = 0; i < 2; ++i) {
    console.log((await handler(new Request('http://here/'))).status);
  }
  await limited.resetKey('a');
  await Promise.all([limiter, silent, limited].map((one) => one.close()));
}
process.exit(0);
`);
writeFileSync(join(app, 'ends.mjs'), `${IMPORTS}
const limiter = new Limiter({ limits: 'schema: {job: {limits: [4, 1, 60]}}' });
console.log(limiter.authorizeSync(['job']).remaining);
`);

// What each runtime passes beside a request tells the client's address.  The
// calls are those of the page, on a free port.
const page = readFileSync(join(ROOT, 'docs', 'node-fetch.md'), 'utf8');
const callOf = (name) =>
  new RegExp(`^\\| ${name} \\| \`(.*)\` \\|$`, 'm').exec(page)[1];
const FREE = "{ port: 0, hostname: '127.0.0.1', ";
writeFileSync(join(app, 'serves.mjs'), `
import { rateLimit } from 'limitree/fetch';
const limited = rateLimit({ limit: 2 });
const handler = limited.wrap(() => new Response('hello'));
const server = globalThis.Deno === undefined
  ? ${callOf('Bun').replace('{ ', FREE)}
  : ${callOf('Deno').replace('(', `(${FREE}onListen() {} }, `)};
const port = server.port ?? server.addr.port;
const seen = [];
for (let i = 0; i < 3; ++i) {
  const answer = await fetch('http://127.0.0.1:' + port);
  await answer.text();
  seen.push(answer.status, answer.headers.get('ratelimit'));
}
seen.push((await limited.getKey('127.0.0.1')).used);
console.log(JSON.stringify(seen));
process.exit(0);
`);

for (const [name, [program, ...args]] of Object.entries(RUNTIMES)) {
  const start = (file, STORE, more = []) => run(
    join(ROOT, 'node_modules', program), [...args, ...more, join(app, file)],
    { cwd: app, timeout: 120_000, env: { ...process.env, STORE } });

  describe(name, () => {
    for (const file of ['a.mjs', 'a.cjs']) {
      for (const [kind, urlOf] of Object.entries(STORES)) {
        it(`decides, ${kind}, ${file}`, async () => {
          const seen = JSON.parse(await start(file, urlOf()));
          assert.deepEqual(seen, EXPECTED);
        });
      }
    }

    it('serves requests, whose clients have addresses', async () => {
      const seen = JSON.parse(await start('serves.mjs', ''));
      assert.deepEqual(seen.map((one) =>
        typeof one === 'string' ? /;r=(\d)/.exec(one)[1] : one),
                       [200, '1', 200, '0', 429, '0', 2]);
    });

    // Its own end, not that of process.exit(), releases what is open.
    it('ends with an open limiter', async () => {
      assert.equal(await start('ends.mjs', ''), '4\n');
    });

    it('asks through a client', async () => {
      const server = await new RedisServer().start();
      try {
        // Deno wants that for the Unix socket.
        const more = name === 'deno' ? ['--allow-write'] : [];
        const seen = await start('client.mjs', server.path, more);
        const lines = ['100', 'true', '99', 'timeout', '200', '429'];
        assert.deepEqual(seen.split('\n'), [...lines, ...lines, '']);
      } finally {
        await server.stop();
      }
    });

    it('says that it cannot ask a store on another machine', async () => {
      const lines = (await start('redis.mjs', '')).trimEnd().split('\n');
      assert.equal(lines.length, 6);
      for (const line of lines) {
        assert.match(line, new RegExp(
          '^LIMITREE_INVALID_CONFIG store: a store on another machine needs ' +
          `Node\\.js, for ${name === 'bun' ? 'Bun' : 'Deno'} \\d.*: use ` +
          'shm:// or memory://, a client as the store, or Node\\.js$'));
      }
    });
  });
}
