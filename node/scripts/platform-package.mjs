// platform-package.mjs <platform> <limitree.node> <folder> [file ...]: makes
// the package of one platform, @limitree/<platform>, in <folder>/<platform>,
// and its tarball in <folder>.
//
// The package has the native module and these files, such as THIRD-PARTY.txt
// and sbom.cdx.json.  It has no scripts.

import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

import {
  MANIFEST, ROOT, fail, sharedFields, stage, tarballOf } from './staging.mjs';

/** ELF's numbers of machines. */
const ELF = { x64: 62, arm64: 183 };
const SYSTEMS = { linux: 'Linux', darwin: 'macOS' };

/** What is wrong with a module of Linux, or undefined. */
function wrongElf(bytes, arch, libc) {
  if (bytes.toString('latin1', 0, 4) !== '\x7fELF') return 'is not ELF';
  if (bytes.readUInt16LE(18) !== ELF[arch]) return `is not for ${arch}`;
  if (bytes.includes('GLIBC_2.') !== (libc === 'glibc')) {
    return `is not for ${libc}`;
  }
  return bytes.includes('\0.symtab\0') ? 'is not stripped' : undefined;
}

/** The same for macOS: Mach-O of 64 bits, whose second word is the machine. */
function wrongMachO(bytes, arch) {
  if (bytes.readUInt32LE(0) !== 0xfeedfacf) return 'is not Mach-O';
  const machine = { x64: 0x01000007, arm64: 0x0100000c }[arch];
  return bytes.readUInt32LE(4) === machine ? undefined : `is not for ${arch}`;
}

/** The first sentence of the README, and what the package says it is. */
function describe(os, arch, libc) {
  const more = libc === undefined ? '' : ` with ${libc}`;
  return `The native module of limitree for ${SYSTEMS[os]} on ${arch}${more}`;
}

/**
 * The TLS library in the module, found in its bytes, because a module for
 * another platform cannot run here.
 */
function contents(bytes) {
  const [found] = bytes.toString('latin1').match(
    /OpenSSL \d+\.\d+\.\d+\w* \d+ \w+ \d{4}|AWS-LC \d+\.\d+\.\d+/) ?? [];
  return found === undefined ? '' : `${found} and `;
}

/** Makes the package of `platform` from the file `native`, with `files`. */
export function packPlatform(platform, native, out, files) {
  const [os, arch, musl] = platform.split('-');
  if (!Object.hasOwn(SYSTEMS, os) || !Object.hasOwn(ELF, arch)) {
    fail(`there is no platform ${platform}`);
  }
  const libc = os === 'linux' ? musl ?? 'glibc' : undefined;
  const absent = [native, ...files].filter((file) => !existsSync(file));
  if (absent.length > 0) fail(`${absent.join(', ')}: there is no such file`);
  const bytes = readFileSync(native);
  const wrong = os === 'linux' ? wrongElf(bytes, arch, libc)
    : wrongMachO(bytes, arch);
  if (wrong !== undefined) fail(`${native} ${wrong}`);
  const folder = join(out, platform);
  stage(folder, {
    name: `@limitree/${platform}`,
    description: describe(os, arch, libc),
    ...sharedFields(),
    main: 'limitree.node',
    os: [os],
    cpu: [arch],
    ...libc && { libc: [libc] },
    // Yarn would keep it in an archive, from which no system can load it.
    preferUnplugged: true,
    files: ['limitree.node', ...files.map((file) => basename(file))],
  }, {
    LICENSE: join(ROOT, 'LICENSE'), 'limitree.node': native,
    ...Object.fromEntries(files.map((file) => [basename(file), file])),
  }, {
    'README.md': `# @limitree/${platform}

${describe(os, arch, libc)}: npm installs it together with
[limitree](${MANIFEST.homepage}).
It contains ${contents(bytes)}what THIRD-PARTY.txt names.
`,
  });
  return tarballOf(folder, out);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [platform, native, out, ...files] = process.argv.slice(2);
  if (out === undefined) {
    fail('usage: platform-package.mjs <platform> <limitree.node> <folder> ' +
      '[file ...]');
  }
  if (!files.some((file) => basename(file) === 'THIRD-PARTY.txt')) {
    fail('the licences of what is in the module, THIRD-PARTY.txt, are missing');
  }
  mkdirSync(out, { recursive: true });
  packPlatform(platform, native, resolve(out), files);
}
