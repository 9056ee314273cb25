// Packages of platforms that this machine is not, with modules that no system
// loads.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ROOT } from './packed.mjs';
import { run } from './run.mjs';

/** The beginning of a module of this platform. */
export function fakeModule(platform) {
  const [os, arch, musl] = platform.split('-');
  const head = Buffer.alloc(64);
  if (os === 'darwin') {
    head.writeUInt32LE(0xfeedfacf, 0);
    head.writeUInt32LE(arch === 'x64' ? 0x01000007 : 0x0100000c, 4);
    return head;
  }
  head.write('\x7fELF', 'latin1');
  head.writeUInt16LE(arch === 'x64' ? 62 : 183, 18);
  return Buffer.concat([head, Buffer.from(musl ? 'libc.so' : 'GLIBC_2.17')]);
}

/** Packs these bytes as the module of the platform into the folder `out`. */
export async function packPlatform(
  out, platform, bytes, extra = ['THIRD-PARTY.txt', 'sbom.cdx.json']) {
  const folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  try {
    for (const name of ['THIRD-PARTY.txt', 'sbom.cdx.json']) {
      writeFileSync(join(folder, name), '{}');
    }
    writeFileSync(join(folder, 'limitree.node'), bytes);
    await run(process.execPath, [
      join(ROOT, 'node', 'scripts', 'platform-package.mjs'), platform,
      'limitree.node', out, ...extra], { cwd: folder });
  } finally {
    rmSync(folder, { recursive: true });
  }
}
