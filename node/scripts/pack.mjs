// pack.mjs [--own] [folder]: makes the tarballs of limitree, without a native
// module, and of @limitree/source, from which limitree-build makes one; by
// default in build/packages.
//
// With --own also the package of the platform that it runs on, from the module
// in prebuilds/.  Platforms of a release: platform-package.mjs.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';

import { packPlatform } from './platform-package.mjs';
import {
  MANIFEST, ROOT, fail, sharedFields, stage, tarballOf } from './staging.mjs';

const CORE = join(ROOT, 'node', 'dist', 'core.js');
if (!existsSync(CORE)) fail('node/dist is missing: run ./dev build node');
const { PLATFORMS, platform } = createRequire(import.meta.url)(CORE)(
  'platform.js');

/** Paths of the clone by their names in a package: the same. */
function same(names) {
  return Object.fromEntries(names.map((name) => [name, join(ROOT, name)]));
}

/**
 * The manifest of the clone, without the parts for the clone, plus the
 * platforms.
 */
function mainManifest() {
  const { devDependencies, scripts, private: _, ...manifest } = MANIFEST;
  return {
    ...manifest,
    optionalDependencies: Object.fromEntries(PLATFORMS.map((name) =>
      [`@limitree/${name}`, MANIFEST.version])),
  };
}

/** What limitree-build compiles; from capi only the files, not the folders. */
const SOURCES = ['CMakeLists.txt', 'LICENSE', 'bindings/limitree.hpp',
                 'bindings/log_queue.hpp',
                 'bindings/node', 'cmake', 'core', 'io',
                 ...readdirSync(join(ROOT, 'capi'), { withFileTypes: true })
                   .filter((one) => one.isFile())
                   .map((one) => `capi/${one.name}`)];
/** The headers of Node-API, so that compiling takes no network. */
const HEADERS = {
  'node-api-headers': ['include/js_native_api.h',
                       'include/js_native_api_types.h', 'include/node_api.h',
                       'include/node_api_types.h', 'LICENSE'],
  'node-addon-api': ['napi.h', 'napi-inl.h', 'LICENSE.md'],
};

function headers() {
  return Object.fromEntries(Object.entries(HEADERS).flatMap(([name, files]) =>
    files.map((file) => [`node/headers/${name}/${file}`,
                         join(ROOT, 'node_modules', name, file)])));
}

function packMain(out) {
  const folder = join(out, 'limitree');
  stage(folder, mainManifest(), same([
    'LICENSE', 'README.md', 'node/dist', 'node/scripts/limitree-build.mjs']));
  tarballOf(folder, out);
}

function packSource(out) {
  const folder = join(out, 'source');
  stage(folder, {
    name: '@limitree/source',
    description: 'The sources of the native module of limitree, for ' +
      'limitree-build',
    ...sharedFields(),
  }, { ...same(SOURCES), ...headers() }, {
    'README.md': `# @limitree/source

The C++ sources of the native module of [limitree](${MANIFEST.homepage}).
\`npx limitree-build\`, a command of limitree, compiles them where no package
has a module for the platform.
`,
  });
  tarballOf(folder, out);
}

/** Packs the module without symbols, as in a release. */
function packOwn(out) {
  const own = join(ROOT, 'prebuilds', platform(), 'limitree.node');
  if (!existsSync(own)) fail(`${own} is missing: run ./dev build node`);
  const stripped = join(out, 'limitree.node');
  const flag = process.platform === 'darwin' ? '-x' : '--strip-unneeded';
  const done = spawnSync('strip', [flag, '-o', stripped, own],
                         { stdio: 'inherit' });
  if (done.status !== 0) fail('cannot run strip, of binutils');
  packPlatform(platform(), stripped, out, [
    join(ROOT, 'node', 'THIRD-PARTY.txt')]);
  rmSync(stripped);
}

const isOwn = process.argv[2] === '--own';
const out = resolve(
  process.argv[isOwn ? 3 : 2] ?? join(ROOT, 'build', 'packages'));
mkdirSync(out, { recursive: true });
packMain(out);
packSource(out);
if (isOwn) packOwn(out);
