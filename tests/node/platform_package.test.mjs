// The package of one platform, and modules that do not belong into it.

import assert from 'node:assert/strict';
import {
  existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync }
  from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { ROOT, load } from './packed.mjs';
import { fakeModule, packPlatform } from './platform_modules.mjs';
import { run } from './run.mjs';

const { PLATFORMS } = load('platform.js');
const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
after(() => rmSync(folder, { recursive: true }));
const at = (...names) => join(folder, ...names);

const pack = (platform, bytes, extra) =>
  packPlatform(at('out'), platform, bytes, extra);

for (const platform of PLATFORMS) {
  it(`is made for ${platform}`, async () => {
    const [os, cpu, musl] = platform.split('-');
    await pack(platform, fakeModule(platform));
    const place = at('out', platform);
    const manifest = JSON.parse(
      readFileSync(join(place, 'package.json'), 'utf8'));
    const main = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    assert.equal(manifest.name, `@limitree/${platform}`);
    for (const name of ['version', 'license', 'repository', 'engines']) {
      assert.deepEqual(manifest[name], main[name]);
    }
    assert.deepEqual([manifest.os, manifest.cpu], [[os], [cpu]]);
    assert.deepEqual(manifest.libc,
                     os === 'linux' ? [musl ?? 'glibc'] : undefined);
    assert.equal(manifest.main, 'limitree.node');
    assert.equal(manifest.scripts, undefined);
    const names = ['LICENSE', 'README.md', 'THIRD-PARTY.txt', 'limitree.node',
                   'package.json', 'sbom.cdx.json'];
    assert.deepEqual(readdirSync(place).sort(), names);
    assert.equal(statSync(join(place, 'limitree.node')).mode & 0o777, 0o644);
    const tarball = at('out', `limitree-${platform}-${main.version}.tgz`);
    const packed = await run('tar', ['-tzf', tarball]);
    assert.deepEqual(packed.trim().split('\n').sort(),
                     names.map((name) => `package/${name}`));
  });
}

describe('is not made', () => {
  const linux = fakeModule('linux-x64');
  const symbols = Buffer.concat([linux, Buffer.from('\0.symtab\0')]);
  const WRONG = [
    ['linux-x64', fakeModule('linux-arm64'), /limitree\.node is not for x64/],
    ['linux-arm64-musl', fakeModule('linux-x64-musl'), /is not for arm64/],
    ['linux-x64', fakeModule('linux-x64-musl'), /is not for glibc/],
    ['linux-x64-musl', linux, /is not for musl/],
    ['linux-x64', fakeModule('darwin-x64'), /is not ELF/],
    ['linux-x64', symbols, /is not stripped/],
    ['darwin-x64', linux, /is not Mach-O/],
    ['darwin-arm64', fakeModule('darwin-x64'), /is not for arm64/],
    ['linux-pdp11', linux, /there is no platform linux-pdp11/],
    ['toString-x64', linux, /there is no platform toString-x64/],
  ];
  for (const [platform, bytes, message] of WRONG) {
    it(`${platform}: ${message.source}`, async () => {
      rmSync(at('out'), { recursive: true, force: true });
      await assert.rejects(pack(platform, bytes), message);
      assert.ok(!existsSync(at('out', platform)));
    });
  }

  it('without licences, files, or arguments', async () => {
    await assert.rejects(pack('linux-x64', linux, []),
                         /THIRD-PARTY\.txt, are missing/);
    await assert.rejects(
      pack('linux-x64', linux, ['THIRD-PARTY.txt', 'nothing']),
      /nothing: there is no such file/);
    await assert.rejects(
      run(process.execPath, [
        join(ROOT, 'node', 'scripts', 'platform-package.mjs'), 'linux-x64']),
      /usage: platform-package\.mjs/);
  });
});
