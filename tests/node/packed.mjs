// The packages as they are published, and installed in a separate folder.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync }
  from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { run } from './run.mjs';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const QUIET = ['--no-audit', '--no-fund', '--loglevel', 'error'];

/** The modules of node/src by their names, also those that are not exported. */
export const load = createRequire(import.meta.url)(
  join(ROOT, 'node', 'dist', 'core.js'));
export const OWN = load('platform.js').platform();
const { version: VERSION } = createRequire(import.meta.url)(
  join(ROOT, 'package.json'));

export class Packed {
  folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  /** A folder with nothing but the packages. */
  app = join(this.folder, 'app');
  installed = join(this.app, 'node_modules', 'limitree');
  /** The package of this platform, and its file. */
  native = join(this.app, 'node_modules', '@limitree', OWN);
  module = join(this.native, 'limitree.node');
  /** The tarballs, and folders with what is in them. */
  out = join(this.folder, 'out');

  /** The tarball of `limitree-<name>`, or of limitree. */
  tarball(name) {
    const file = name === undefined ? 'limitree' : `limitree-${name}`;
    return join(this.out, `${file}-${VERSION}.tgz`);
  }

  /** Takes what the test node/packed has packed for all, if it has. */
  async pack() {
    const packed = process.env.LIMITREE_PACKED;
    if (packed === undefined) return await this.packAgain();
    cpSync(packed, this.out, { recursive: true });
    return this;
  }

  async packAgain() {
    await run(process.execPath, [
      join(ROOT, 'node', 'scripts', 'pack.mjs'), '--own', this.out]);
    return this;
  }

  /** Runs `npm install` for these packages in a new folder of this name. */
  async installNames(folder, names, options) {
    mkdirSync(folder);
    writeFileSync(join(folder, 'package.json'), '{"private": true}');
    await run('npm', ['install', '--ignore-scripts', ...options, ...QUIET,
                      ...names], { cwd: folder });
  }

  /** The same for these tarballs. */
  installIn(folder, names, options = ['--offline']) {
    return this.installNames(folder, names.map((name) => this.tarball(name)),
                             options);
  }

  async install() {
    await this.pack();
    await this.installIn(this.app, [undefined, OWN]);
    return this;
  }

  remove() {
    rmSync(this.folder, { recursive: true });
  }
}
