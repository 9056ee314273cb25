// try_node.mjs <folder>: installs limitree from the tarballs in the folder with
// each version of Node.js and each package manager, without install scripts,
// and runs a program with it.  Then the same with test runners, bundlers, Bun
// and Deno.
//
// Prints a row for each, and fails if one fails.  Downloads the tools of
// node_tools.json and Node.js into build/try-node.

import { execFile } from 'node:child_process';
import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync }
  from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { serve } from './registry.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
const TOOLS = join(ROOT, 'build', 'try-node');
const NODES = ['18.20.8', '20.20.2', '22.23.3', '24.21.0'];

const work = mkdtempSync(join(tmpdir(), 'limitree-try-'));
const major = (version) => version.split('.')[0];
const tool = (...names) => join(TOOLS, 'node_modules', ...names);
const nodeOf = (version) => tool(`node${major(version)}`, 'bin', 'node');
const versionOf = (name) =>
  JSON.parse(readFileSync(tool(name, 'package.json'), 'utf8')).version;

/** Resolves to what the program prints. */
async function run(program, args, { cwd, env = {} }) {
  const { stdout } = await promisify(execFile)(program, args, {
    cwd, maxBuffer: 2 ** 26, timeout: 300_000,
    env: { PATH: process.env.PATH, HOME: work, NO_COLOR: '1', ...env } });
  return stdout;
}

// ---- Programs ---------------------------------------------------------------

/** Prints `ok`, or what is wrong. */
const BODY = `
const expect = (found, wanted) => {
  if (found !== wanted) throw new Error(found + ' is not ' + wanted);
};
async function main() {
  const limits = 'schema: {job: {limits: [1, 1, 60]}}';
  const limiter = new Limiter({ limits });
  expect(limiter.authorizeSync(['job']).remaining, 1);
  expect((await limiter.authorize(['job'])).allowed, true);
  expect((await limiter.authorize(['job'])).limited, true);
  expect(typeof rateLimit, 'function');
  expect(await outage(limits), REMOTE);
  console.log('ok');
}
async function outage(limits) {
  try {
    const store = 'redis://127.0.0.1:1';
    await new Limiter({ limits, store }).authorize(['job']);
  } catch (error) {
    return error.code;
  }
}
`;
const IMPORT = "import { Limiter } from 'limitree';\n" +
  "import { rateLimit } from 'limitree/http';\n";
const REQUIRE = "const { Limiter } = require('limitree');\n" +
  "const { rateLimit } = require('limitree/http');\n";

/** With a store on another machine Bun and Deno say that it takes Node.js. */
function programs(remote) {
  const body = `const REMOTE = '${remote}';\n${BODY}`;
  return {
    'a.mjs': `${IMPORT}${body}await main();\n`,
    'a.cjs': `${REQUIRE}${body}main();\n`,
    'a.test.js': `${REQUIRE}${body}test('a', main);\n`,
    'b.test.js': `${REQUIRE}${body}test('b', main);\n`,
    'a.spec.mjs': `${IMPORT}${body}test('a', main);\n`,
  };
}

let folders = 0;

/** A project with the programs and nothing installed. */
function project(remote = 'LIMITREE_STORE_UNAVAILABLE') {
  const folder = join(work, `project${++folders}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'),
                JSON.stringify({ name: 'app', version: '1.0.0' }));
  for (const [name, text] of Object.entries(programs(remote))) {
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function same(found, wanted) {
  if (found !== wanted) throw new Error(`printed ${JSON.stringify(found)}`);
}

/** Runs both programs with `program`. */
async function works(cwd, program, args = [], env = {}) {
  for (const file of ['a.mjs', 'a.cjs']) {
    same(await run(program, [...args, file], { cwd, env }), 'ok\n');
  }
}

// ---- Rows -------------------------------------------------------------------

const rows = [];
const row = (name, version, check) => rows.push({ name, version, check });

/** A project in which npm, run by this Node.js, has installed limitree. */
async function installed(url, node = process.execPath, options = []) {
  const cwd = project();
  await run(node, [
    tool('npm', 'bin', 'npm-cli.js'), 'install', 'limitree', '--ignore-scripts',
    '--no-audit', '--no-fund', '--registry', url, ...options], { cwd });
  return cwd;
}

function addNodes(url) {
  for (const version of NODES) {
    row(`Node.js ${major(version)}, npm ${versionOf('npm')}`, version,
        async () => {
          const node = nodeOf(version);
          same(await run(node, ['-p', 'process.versions.node'], {}),
               `${version}\n`);
          await works(await installed(url, node), node);
        });
  }
}

function addManagers(url) {
  const env = { npm_config_registry: url, YARN_REGISTRY: url,
                YARN_ENABLE_TELEMETRY: '0' };
  row('pnpm', versionOf('pnpm'), async () => {
    const cwd = project();
    await run(process.execPath, [
      tool('pnpm', 'bin', 'pnpm.cjs'), 'add', 'limitree', '--ignore-scripts',
      '--store-dir', join(work, 'pnpm')], { cwd, env });
    await works(cwd, process.execPath);
  });
  row('yarn', versionOf('yarn'), async () => {
    const cwd = project();
    await run(process.execPath, [
      tool('yarn', 'bin', 'yarn.js'), 'add', 'limitree', '--ignore-scripts',
      '--registry', url, '--no-lockfile'], { cwd, env });
    await works(cwd, process.execPath);
  });
  for (const linker of ['node-modules', 'pnp', 'pnpm']) {
    row(`yarn, ${linker}`, versionOf('@yarnpkg/cli-dist'), async () => {
      const cwd = project();
      const yarn = tool('@yarnpkg', 'cli-dist', 'bin', 'yarn.js');
      writeFileSync(join(cwd, 'yarn.lock'), '');
      writeFileSync(join(cwd, '.yarnrc.yml'), `nodeLinker: ${linker}
npmRegistryServer: "${url}"
unsafeHttpWhitelist: [127.0.0.1]
enableScripts: false
enableGlobalCache: false
pnpEnableEsmLoader: true
`);
      await run(process.execPath, [yarn, 'add', 'limitree'], { cwd, env });
      await works(cwd, process.execPath, [yarn, 'node'], env);
    });
  }
}

function addRunners(url) {
  // Two files, which each load limitree in one process.
  row('jest', versionOf('jest'), async () => {
    const cwd = await installed(url);
    await run(process.execPath, [
      tool('jest', 'bin', 'jest.js'), '--rootDir', cwd, '--runInBand',
      '--testRegex', '\\.test\\.js$'], { cwd });
  });
  row('vitest', versionOf('vitest'), async () => {
    const cwd = await installed(url);
    await run(nodeOf(NODES.at(-1)), [
      tool('vitest', 'vitest.mjs'), 'run', '--globals', '--root', cwd,
      'a.spec.mjs'], { cwd });
  });
}

function addBundlers(url) {
  const require = createRequire(join(TOOLS, 'package.json'));
  for (const format of ['cjs', 'esm']) {
    row(`esbuild, ${format}`, versionOf('esbuild'), async () => {
      const cwd = await installed(url);
      const out = join(cwd, 'out', `a.${format === 'cjs' ? 'cjs' : 'mjs'}`);
      // Top-level await is for modules.
      const file = format === 'cjs' ? 'a.cjs' : 'a.mjs';
      const { warnings } = await require('esbuild').build({
        entryPoints: [join(cwd, file)], outfile: out, bundle: true, format,
        platform: 'node', logLevel: 'silent' });
      same(warnings.length, 0);
      same(await run(process.execPath, [out], { cwd: '/' }), 'ok\n');
    });
  }
  row('webpack', versionOf('webpack'), async () => {
    const cwd = await installed(url);
    const stats = await promisify(require('webpack'))({
      mode: 'production', target: 'node', context: cwd, entry: './a.cjs',
      output: { path: join(cwd, 'out'), filename: 'a.cjs' } });
    const { errors, warnings } = stats.toJson();
    same(JSON.stringify([...errors, ...warnings]), '[]');
    same(await run(process.execPath, ['out/a.cjs'], { cwd }), 'ok\n');
  });
}

function addRuntimes(url) {
  const libc = process.platform === 'linux' ? '-glibc' : '';
  const cpu = process.arch === 'arm64' ? 'aarch64' : 'x64';
  const bun = tool('@oven', `bun-${process.platform}-${cpu}`, 'bin', 'bun');
  const deno = tool('@deno', `${process.platform}-${process.arch}${libc}`,
                    'deno');
  const env = { NPM_CONFIG_REGISTRY: url, npm_config_registry: url,
                DENO_DIR: join(work, 'deno'),
                BUN_INSTALL_CACHE_DIR: join(work, 'bun') };
  row('Bun', versionOf('bun'), async () => {
    const cwd = project('LIMITREE_INVALID_CONFIG');
    await run(bun, ['add', 'limitree', '--ignore-scripts'], { cwd, env });
    await works(cwd, bun, [], env);
  });
  row('Deno', versionOf('deno'), async () => {
    const cwd = project('LIMITREE_INVALID_CONFIG');
    await run(deno, ['add', 'npm:limitree'], { cwd, env });
    await works(cwd, deno, ['run', '--allow-env', '--allow-read', '--allow-ffi',
                            '--allow-net'], env);
  });
}

/** The one sentence where the package of the platform is missing. */
function addMissing(url) {
  for (const [name, options] of Object.entries({
    'npm --omit=optional': ['--omit=optional'],
    'npm, main package without a network': undefined })) {
    row(name, versionOf('npm'), async () => {
      let cwd;
      if (options === undefined) {
        cwd = project();
        await run(process.execPath, [
          tool('npm', 'bin', 'npm-cli.js'), 'install', '--ignore-scripts',
          '--no-audit', '--no-fund', '--offline', mainTarball()], { cwd });
      } else {
        cwd = await installed(url, process.execPath, options);
      }
      const found = await run(process.execPath, [
        '-e', "try { require('limitree') } catch (e) { console.log(e.message) }"
      ], { cwd });
      if (!/^limitree needs the package @limitree\/\S+, which is not installed/
        .test(found)) {
        throw new Error(`printed ${found}`);
      }
    });
  }
}

// ---- All of them ------------------------------------------------------------

const folder = resolve(process.argv[2] ?? join(ROOT, 'build', 'packages'));
const { version } = JSON.parse(
  readFileSync(join(ROOT, 'package.json'), 'utf8'));

function mainTarball() {
  return join(folder, `limitree-${version}.tgz`);
}

/** Installs the tools: once, and again when they change. */
async function setUp() {
  const manifest = JSON.parse(
    readFileSync(join(HERE, 'node_tools.json'), 'utf8'));
  for (const one of NODES) {
    manifest.dependencies[`node${major(one)}`] =
      `npm:node-${process.platform}-${process.arch}@${one}`;
  }
  const text = JSON.stringify(manifest);
  const file = join(TOOLS, 'package.json');
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  rmSync(TOOLS, { recursive: true, force: true });
  mkdirSync(TOOLS, { recursive: true });
  writeFileSync(file, text);
  try {
    await promisify(execFile)('npm', [
      'install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'],
      { cwd: TOOLS });
  } catch (error) {
    rmSync(file);
    throw error;
  }
}

/** The line of an error that says the most. */
function reason(error) {
  const text = [error.message, error.stdout, error.stderr].join('\n');
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.find((line) => /Error: |error /.test(line)) ?? lines[0];
}

const { PLATFORMS } = createRequire(import.meta.url)(
  join(ROOT, 'node', 'dist', 'core.js'))('platform.js');
// Yarn installs nothing if the package of any platform does not exist.
const absent = [mainTarball(), ...PLATFORMS.map((name) =>
  join(folder, `limitree-${name}-${version}.tgz`))]
  .filter((file) => !existsSync(file));
if (absent.length > 0) {
  console.error(`try_node: there is no ${absent.join(', ')}`);
  process.exit(1);
}
await setUp();
const registry = await serve(folder);
for (const add of [addNodes, addManagers, addRunners, addBundlers, addRuntimes,
                   addMissing]) {
  add(registry.url);
}
let failed = 0;
for (const { name, version: of, check } of rows) {
  let result = 'ok';
  try {
    await check();
  } catch (error) {
    ++failed;
    result = `failed: ${reason(error)}`;
    if (process.env.LIMITREE_TRY_VERBOSE) console.error(error);
  }
  console.log(`${name.padEnd(38)} ${of.padEnd(9)} ${result}`);
}
registry.close();
rmSync(work, { recursive: true });
process.exit(failed === 0 ? 0 : 1);
