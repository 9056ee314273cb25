// The package as npm packs and installs it, in a separate folder.

import {
  mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { run } from './run.mjs';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const QUIET = ['--no-audit', '--no-fund', '--loglevel', 'error'];

export class Packed {
  #folder = mkdtempSync(join(tmpdir(), 'limitree-'));
  /** A folder with nothing but the package. */
  app = join(this.#folder, 'app');
  installed = join(this.app, 'node_modules', 'limitree');
  tarball;

  async install() {
    await run('npm', ['pack', '--pack-destination', this.#folder, '--silent'],
              { cwd: ROOT });
    this.tarball = join(this.#folder, readdirSync(this.#folder).find((name) =>
      name.endsWith('.tgz')));
    mkdirSync(this.app);
    writeFileSync(join(this.app, 'package.json'), '{"private": true}');
    await run('npm', ['install', '--ignore-scripts', '--offline', ...QUIET,
                      this.tarball], { cwd: this.app });
    return this;
  }

  remove() {
    rmSync(this.#folder, { recursive: true });
  }
}
