// A program that a bundler joined into one file, with limitree inside or next
// to it.

import assert from 'node:assert/strict';
import {
  copyFileSync, cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync }
  from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';

import { build } from 'esbuild';
import webpack from 'webpack';

import { OWN, Packed } from './packed.mjs';
import { run } from './run.mjs';

const packed = await new Packed().install();
after(() => packed.remove());
const { app } = packed;

const ESM = `
import { Limiter } from 'limitree';
import { rateLimit } from 'limitree/http';
`;
const CJS = `
const { Limiter } = require('limitree');
const { rateLimit } = require('limitree/http');
`;
const BODY = `
const limiter = new Limiter({ limits: 'schema: {job: {limits: [4, 1, 60]}}' });
const limited = rateLimit({ limiter, path: () => ['job'] });
console.log(limiter.authorizeSync(['job']).remaining,
            limited.limiter === limiter);
try {
  new Limiter({ limits: 'nothing.yaml' });
} catch (error) {
  console.log(error.message);
}
`;
const PRINTS = '4 true\nnothing.yaml: there is no such file\n';
writeFileSync(join(app, 'in.mjs'), ESM + BODY);
writeFileSync(join(app, 'in.cjs'), CJS + BODY);
const outside = join(dirname(app), 'outside');

/** Bundles with esbuild; resolves to its warnings. */
async function esbuild(entry, out, format, external = []) {
  const { warnings } = await build({
    entryPoints: [join(app, entry)], outfile: join(app, out), bundle: true,
    platform: 'node', format, external, logLevel: 'silent' });
  return warnings.map(({ text }) => text);
}

/** The same with webpack. */
function pack(entry, out, more = {}) {
  const { promise, resolve, reject } = withResolvers();
  webpack({
    mode: 'production', target: 'node', context: app, entry: `./${entry}`,
    output: { path: join(app, dirname(out)), filename: out.split('/').pop() },
    ...more,
  }, (error, stats) => {
    if (error) return reject(error);
    const { errors, warnings } = stats.toJson({ all: false, errors: true,
                                                warnings: true });
    return resolve([...errors, ...warnings].map(({ message }) => message));
  });
  return promise;
}

function withResolvers() {
  const made = {};
  made.promise = new Promise((resolve, reject) => {
    Object.assign(made, { resolve, reject });
  });
  return made;
}

const start = (file, cwd = app) =>
  run(process.execPath, [file], { cwd });

const KINDS = {
  'esbuild, CommonJS of a module': [
    'out/a.cjs', () => esbuild('in.mjs', 'out/a.cjs', 'cjs')],
  'esbuild, CommonJS': [
    'out/b.cjs', () => esbuild('in.cjs', 'out/b.cjs', 'cjs')],
  'esbuild, a module': [
    'out/c.mjs', () => esbuild('in.mjs', 'out/c.mjs', 'esm')],
  'webpack of a module': [
    'out/d.cjs', () => pack('in.mjs', 'out/d.cjs')],
  'webpack of CommonJS': [
    'out/e.cjs', () => pack('in.cjs', 'out/e.cjs')],
};

for (const [name, [file, make]] of Object.entries(KINDS)) {
  describe(name, () => {
    it('has limitree in it, and finds its module', async () => {
      assert.deepEqual(await make(), []);
      assert.equal(await start(join(app, file)), PRINTS);
      assert.equal(await start(join(app, file), '/'), PRINTS);
    });

    it('says what to do where that is not, and does it', async () => {
      rmSync(outside, { recursive: true, force: true });
      mkdirSync(outside);
      const copy = join(outside, file.split('/').pop());
      copyFileSync(join(app, file), copy);
      await assert.rejects(start(copy, outside), (error) => {
        assert.match(error.message,
                     new RegExp(`limitree needs the package @limitree/${OWN}`));
        assert.match(error.message, /In a bundle: .*--external:limitree/);
        assert.match(error.message, /webpack by externals: \{limitree: "comm/);
        assert.match(error.message, /copy limitree\.node of that package be/);
        return true;
      });
      copyFileSync(packed.module, join(outside, 'limitree.node'));
      assert.equal(await start(copy, outside), PRINTS);
    });

    it('finds the package of the platform beside it', async () => {
      rmSync(outside, { recursive: true, force: true });
      const scope = join(outside, 'node_modules', '@limitree');
      cpSync(packed.native, join(scope, OWN), { recursive: true });
      const copy = join(outside, file.split('/').pop());
      copyFileSync(join(app, file), copy);
      assert.equal(await start(copy, '/'), PRINTS);
    });

    // As pnpm installs it: the project does not see the packages of limitree.
    it('finds the package that only limitree sees', async () => {
      rmSync(outside, { recursive: true, force: true });
      const store = join(outside, 'store', 'node_modules');
      for (const name of ['limitree', join('@limitree', OWN)]) {
        cpSync(join(app, 'node_modules', name), join(store, name),
               { recursive: true });
      }
      mkdirSync(join(outside, 'node_modules'));
      symlinkSync(join(store, 'limitree'),
                  join(outside, 'node_modules', 'limitree'));
      const copy = join(outside, file.split('/').pop());
      copyFileSync(join(app, file), copy);
      assert.equal(await start(copy, '/'), PRINTS);
    });
  });
}

// Node.js 18, and 20 before 20.16.
describe('without process.getBuiltinModule', () => {
  const older = (file) => run(process.execPath, [
    '--import', 'data:text/javascript,delete process.getBuiltinModule',
    join(app, file)], { cwd: app });

  it('CommonJS works', async () => {
    await esbuild('in.mjs', 'out/a.cjs', 'cjs');
    await pack('in.mjs', 'out/d.cjs');
    assert.equal(await older('in.mjs'), PRINTS);
    assert.equal(await older('out/a.cjs'), PRINTS);
    assert.equal(await older('out/d.cjs'), PRINTS);
  });

  it('a module says what to do, and does it', async () => {
    await esbuild('in.mjs', 'out/c.mjs', 'esm');
    await assert.rejects(older('out/c.mjs'),
                         /leave limitree out of it, with esbuild by --ext/);
    await esbuild('in.mjs', 'out/f.mjs', 'esm', ['limitree']);
    assert.equal(await older('out/f.mjs'), PRINTS);
  });
});

describe('with limitree beside it', () => {
  for (const [entry, out, format] of [
    ['in.mjs', 'out/f.mjs', 'esm'], ['in.cjs', 'out/g.cjs', 'cjs']]) {
    it(`esbuild, ${format}`, async () => {
      assert.deepEqual(await esbuild(entry, out, format, ['limitree']), []);
      assert.equal(await start(join(app, out)), PRINTS);
    });
  }

  it('webpack', async () => {
    assert.deepEqual(await pack('in.mjs', 'out/h.cjs', {
      externals: { limitree: 'commonjs limitree',
                   'limitree/http': 'commonjs limitree/http' } }), []);
    assert.equal(await start(join(app, 'out/h.cjs')), PRINTS);
  });
});
