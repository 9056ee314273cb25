// Loads the native module, or says what to do if there is none.

import { fs } from './builtins.js';
import { LimitreeError } from './errors.js';
import { candidates, foreign, isBundled } from './find.js';
import { PLATFORMS, platform } from './platform.js';

/** The module must have the same version: both use one array of numbers. */
const { version: VERSION } = require('../../package.json') as
  { readonly version: string };

/** Who decided. */
export type Source =
  'store' | 'deny_cache' | 'lease' | 'local' | 'allow' | 'deny';

/** How a limit takes part, from `limits.yaml`. */
export type Mode = 'enforce' | 'shadow' | 'check';

/** Keys and values in turn, flags, hits, requests per unit and unit. */
export type NativeDescriptor =
  [string[], number, number, number, number, number];

/** What native code answers: bindings/node/envoy.cpp has the order. */
export type NativeAnswer = [
  overallCode: number, flags: number, source: number, headerStatus: number,
  metadata: string | undefined, statuses: NativeStatus[]];
export type NativeStatus = [
  code: number, match: number, requests: number, periodNs: number,
  remaining: number, untilResetNs: number, retryAfterNs: number,
  resetAfterNs: number, flags: number, quota: number,
  multiplier: number, unit: string, name: string];

/** Labels, and values by their names; one empty label for all of a limiter. */
export type Counters = readonly [string, Readonly<Record<string, number>>][];

/** The functions of a limiter; bindings/node/calls.hpp describes them. */
export interface Functions {
  /** Whether a decision may have to wait for another machine. */
  readonly isRemote: boolean;
  /** Whether other processes can share the buckets. */
  readonly isShared: boolean;
  /** These return the receipt of a reservation. */
  decide(...segments: unknown[]): string | undefined;
  start(...segments: unknown[]): string | undefined;
  explain(...segments: unknown[]): string;
  reload(limits: string[]): Promise<number>;
  reloadDescriptors(files: string[]): Promise<number>;
  shouldRateLimit(
    domain: string, descriptors: NativeDescriptor[], hitsAddend: number,
    flags: number, resets: boolean,
  ): NativeAnswer | Promise<NativeAnswer>;
  descriptorStats(): Counters;
  envoyStats(): Counters;
  /** `replace` is one of LIMITREE_REPLACE_* of limitree.h. */
  put(name: string, yaml: string, replace: number): Promise<number>;
  ping(): Promise<number>;
  stats(): Counters;
  limitStats(): Counters;
  reasonStats(): Counters;
  /** Messages about the store: [event, text]. */
  takeLog(): [number, string][];
  prometheus(): string;
  setPressure(pressure: number): void;
  /** The texts of a level. */
  names(number: number): [policy: string, unit: string];
  root(name: string): number;
  close(): void;
  /** For a client of the program; see client.ts. */
  runLoop(): number;
  takeCommands():
    [token: number, key: number, ...words: (string | Uint8Array)[]][];
  reply(token: number, reply: number, text: string): void;
}

const BUNDLE = 'In a bundle: leave limitree out of it, with esbuild by ' +
  '--external:limitree and with webpack by externals: {limitree: "commonjs ' +
  'limitree"}; or copy limitree.node of that package beside the bundle';

function absent(kind: string, version: string): string {
  const name = `@limitree/${kind}`;
  const others = foreign().map((other) => `@limitree/${other}`);
  const why = others.length > 0
    ? `There is ${others.join(' and ')}: node_modules comes from another ` +
      'platform'
    : 'Package managers leave it out with --omit=optional, without a ' +
      'network, and if the lock file comes from another platform';
  return `limitree needs the package ${name}, which is not installed. ` +
    `${why}. To install it: npm install --save-optional ${name}@${version}`;
}

/** The error message; `failed` has the files that do not load, and why. */
function explain(failed: readonly string[], version: string): string {
  const kind = platform();
  const build = 'from the sources: npm install --no-save ' +
    `@limitree/source@${version} && npx limitree-build`;
  const lines: string[] = [];
  if (process.env['LIMITREE_NATIVE_PATH'] && failed.length === 0) {
    lines.push('limitree has no native module: there is no file ' +
      `${process.env['LIMITREE_NATIVE_PATH']}, which LIMITREE_NATIVE_PATH ` +
      'names');
  } else if (failed.length > 0) {
    lines.push(`limitree cannot load its native module for ${kind}, ` +
      `${process.release.name} ${process.versions.node}:`,
      ...failed.map((line) => `  ${line}`), `To build it ${build}`);
  } else if (PLATFORMS.includes(kind)) {
    lines.push(absent(kind, version));
    if (isBundled()) lines.push(BUNDLE);
  } else {
    lines.push(`limitree has no native module for ${kind}; there are some ` +
      `for ${PLATFORMS.join(', ')}. To build it ${build}`);
  }
  return lines.join('\n');
}

function refuse(): never {
  throw new LimitreeError('LIMITREE_CANCELLED', 'the limiter is closed');
}

/** The functions `open` of a limiter after it was closed. */
export function closed(open: Functions): Functions {
  const { close, isRemote, isShared } = open;
  const refused = Object.keys(open).map((name) => [name, refuse]);
  return { ...Object.fromEntries(refused), takeLog: () => [], close, isRemote,
           isShared } as unknown as Functions;
}

export interface Native {
  readonly version: string;
  readonly opensslVersion: string;
  readonly algorithms: readonly string[];
  /** The options of a limiter, by their names in the core. */
  readonly options: readonly string[];
  /** The styles of headers. */
  readonly styles: readonly string[];
  /** Who decided, by the numbers of the core. */
  readonly sources: readonly Source[];
  /** How a level takes part, by the numbers of the core. */
  readonly modes: readonly Mode[];
  /** The array of layout.ts. */
  readonly numbers: Float64Array;
  connect(
    makeError: (status: string, reason: string, messages: string[]) => Error,
    deliver: (count: number, errors: Error[]) => void,
  ): void;
  open(
    limits: string[],
    options: string[],
    share: string,
    hasClock: boolean,
    descriptors: string[],
    mergeDomains: boolean,
    client?: number,
    wake?: () => void,
  ): Functions;
  canonicalIp(address: string, ipv6Prefix: number): string;
  /** Milliseconds of `"1m30s"`. */
  parseDuration(text: string): number;
  /**
   * Names and values in turn, for the decision at INPUT_SIZE of `numbers` and
   * its levels, whose names are `policies`; undefined: they are not known.
   */
  httpHeaders(
    style: string,
    nowMs: number,
    policies: readonly string[] | undefined,
  ): string[];
  /** The body of a denial; `policies` as for httpHeaders. */
  httpProblem(status: number, policies: readonly string[] | undefined): string;
  proxies(
    isForwarded: boolean,
    hops: number,
    trusted: readonly string[],
    ipv6Prefix: number,
  ): (peer: string, ...lines: readonly string[]) => string;
}

/** Does not use `require`, which a bundler would replace. */
function open(file: string): Native {
  const loaded = { exports: {} };
  process.dlopen(loaded, file);
  const found = loaded.exports as Native;
  if (found.version === VERSION) return found;
  throw new Error(`is of version ${found.version}, not ${VERSION}`);
}

function load(): Native {
  const failed: string[] = [];
  for (const file of candidates()) {
    if (!fs.existsSync(file)) continue;
    try {
      return open(file);
    } catch (error) {
      failed.push(`${file}: ${(error as Error).message}`);
    }
  }
  throw new LimitreeError('LIMITREE_NO_NATIVE', explain(failed, VERSION));
}

export const native = load();
