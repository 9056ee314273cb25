// A package in a folder of its own, with nothing but what is published, and the
// tarball that npm makes of it.  The package.json of the clone is not changed:
// it has no optional dependencies, which npm ci could not find before they are
// published.

import { spawnSync } from 'node:child_process';
import {
  chmodSync, cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync,
  writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const MANIFEST = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'));

/** Ends the process with this message. */
export function fail(message) {
  console.error(`pack: ${message}`);
  process.exit(1);
}

/** The fields that the other packages share with the main one. */
export function sharedFields() {
  const { version, license, repository, homepage, bugs, engines } = MANIFEST;
  return { version, license, repository, homepage, bugs, engines,
           publishConfig: { access: 'public' } };
}

/**
 * Sets the same permissions for everyone who packs, so that the bytes are the
 * same.
 */
function setModes(folder, programs) {
  for (const name of readdirSync(folder, { recursive: true })) {
    const file = join(folder, name);
    const isOpen = statSync(file).isDirectory() || programs.includes(name);
    chmodSync(file, isOpen ? 0o755 : 0o644);
  }
}

/**
 * Fills `folder`, which is emptied before, with the package of this manifest:
 * `files` has paths, and `texts` has texts, by their names in the package.
 */
export function stage(folder, manifest, files, texts = {}) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, file] of Object.entries(files)) {
    cpSync(file, join(folder, name), { recursive: true });
  }
  for (const [name, text] of Object.entries(texts)) {
    writeFileSync(join(folder, name), text);
  }
  writeFileSync(join(folder, 'package.json'),
                `${JSON.stringify(manifest, null, 2)}\n`);
  setModes(folder, Object.values(manifest.bin ?? {}));
}

/** Makes the tarball of `folder` in `out`; returns its name. */
export function tarballOf(folder, out) {
  const done = spawnSync(
    'npm', ['pack', folder, '--json', '--ignore-scripts', '--loglevel',
            'error', '--pack-destination', out],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (done.status !== 0) fail(`npm pack failed in ${folder}`);
  const [{ filename, unpackedSize }] = JSON.parse(done.stdout);
  const name = join(out, filename);
  console.log(`${name}: ${(unpackedSize / 1e6).toFixed(2)} MB unpacked`);
  return name;
}
