// The native module is self-contained: it exports only its entry points, and
// uses nothing of the OpenSSL that Node.js exports.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

import { run } from './run.mjs';
import { freePort } from './web_programs.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const PREBUILDS = join(ROOT, 'prebuilds');
const NM = process.env.LIMITREE_NM || 'nm';

const namesOf = (listing) => listing.trim().split('\n').map((line) =>
  line.split(' ').at(-1).split('@')[0]);

for (const platform of readdirSync(PREBUILDS)) {
  describe(`the module for ${platform}`, () =>
    checkModule(join(PREBUILDS, platform, 'limitree.node')));
}

function checkModule(file) {
  it('shows its entry points only', async () => {
    const listing = await run(NM, ['-D', '--defined-only', file]);
    const names = namesOf(listing).filter((name) =>
      name !== '_init' && name !== '_fini');  // the linker's own marks
    assert.deepEqual(names.sort(), ['napi_register_module_v1',
                                    'node_api_module_get_api_version_v1']);
  });

  it('takes only what Node-API, libuv and the system have', async () => {
    const listing = await run(NM, ['-D', '--undefined-only', file]);
    const foreign = namesOf(listing).filter((name) =>
      /^(SSL|TLS|BIO|EVP|X509|CRYPTO|OPENSSL|yaml|redis|_ZN?S|_ZTVN10)/
        .test(name));
    assert.deepEqual(foreign, []);
    const uv = namesOf(listing).filter((name) => name.startsWith('uv_'));
    const source = readFileSync(join(ROOT, 'bindings/node/watch.cpp'), 'utf8');
    for (const name of uv) assert.ok(source.includes(` ${name}(`), name);
    const napi = namesOf(listing).filter((name) =>
      name.startsWith('napi_') || name.startsWith('node_api_'));
    assert.ok(napi.length > 20);
  });

  // These need a newer glibc than the rest of the module: arc4random() came
  // with 2.36, and _dl_find_object(), which a copy of libgcc calls, with 2.35.
  it('asks for no newer C library than it needs', async () => {
    const listing = await run(NM, ['-D', '--undefined-only', file]);
    const names = new Set(namesOf(listing));
    assert.ok(names.has('getentropy'));
    for (const name of ['arc4random', '_dl_find_object']) {
      assert.ok(!names.has(name), name);
    }
  });

  it('stays mapped', async () => {
    assert.match(await run('readelf', ['-d', file]), /NODELETE/);
  });
}

describe('over TLS', () => {
  const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  const file = (name) => join(folder, name);
  let port;
  let server;

  before(async () => {
    port = await freePort();
    await run('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt',
      'ec_paramgen_curve:P-256', '-nodes', '-keyout', file('key'), '-out',
      file('crt'), '-days', '30', '-subj', '/CN=localhost', '-addext',
      'subjectAltName=DNS:localhost,IP:127.0.0.1']);
    server = spawn('redis-server', [
      '--port', '0', '--tls-port', String(port), '--save', '', '--dir', folder,
      '--tls-cert-file', file('crt'), '--tls-key-file', file('key'),
      '--tls-ca-cert-file', file('crt'), '--tls-auth-clients', 'no'],
      { stdio: ['ignore', 'pipe', 'ignore'] });
    for await (const text of server.stdout) {
      if (text.includes('Ready to accept connections')) break;
    }
  });
  after(() => {
    server.kill();
    rmSync(folder, { recursive: true });
  });

  it('it is the module\'s own OpenSSL that runs', async () => {
    const program = `
      const { Limiter } = require('limitree');
      const limiter = new Limiter({
        limits: 'schema: {job: {limits: [4, 1, 60]}}', timeout: '10s',
        store: 'rediss://localhost:${port}', tlsCaFile: '${file('crt')}' });
      limiter.authorize(['job']).then(({ remaining, source }) =>
        console.log(remaining, source));`;
    const printed = await run(process.execPath, ['-e', program], {
      cwd: ROOT, env: { ...process.env, LD_BIND_NOW: '1',
                        LD_DEBUG: 'bindings',
                        LD_DEBUG_OUTPUT: file('bindings') } });
    assert.equal(printed, '4 store\n');
    const bindings = readdirSync(folder).filter((name) =>
      name.startsWith('bindings.')).map((name) =>
      readFileSync(file(name), 'utf8')).join('');
    // The libraries to which the linker has bound the symbols of the module.
    const own = bindings.split('\n').filter((line) =>
      /binding file \S*limitree\.node /.test(line));
    assert.ok(own.some((line) => line.includes('`napi_get_cb_info\'')));
    assert.deepEqual(own.filter((line) => /`(SSL|TLS|X509)_/.test(line)), []);
  });
});
