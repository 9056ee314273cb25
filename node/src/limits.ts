// The sources of limits and options, and their form for the core: text.

import { fs, path, url } from './builtins.js';
import { ConfigError, invalidArgument } from './errors.js';
import { native, type Functions } from './native.js';
import type { StoreName } from './stores.js';
import { checkNames, shown } from './words.js';
import { yamlOf } from './yaml.js';

/** A `file:` URL, as `new URL('limits.yaml', import.meta.url)` makes one. */
export interface FileUrl {
  readonly href: string;
}

/**
 * A tree of limits: the name of a file, YAML, the URL of a file, or an object
 * with the shape of a `limits.yaml`.  A text with a newline or a colon is YAML.
 * Several of them with different top-level names make up one tree.
 */
export type Limits = OneLimits | readonly OneLimits[];
export type OneLimits = string | FileUrl | LimitTree;

export interface LimitTree {
  readonly schema: object;
}

/** Files of envoyproxy/ratelimit: as Limits, and folders of files. */
export type DescriptorFiles = OneDescriptors | readonly OneDescriptors[];
export type OneDescriptors = string | FileUrl | {
  readonly domain: string;
  readonly descriptors?: readonly object[];
};

/** YAML and the name it has in messages, in turn. */
export type Texts = string[];

function isUrl(limits: object): limits is FileUrl {
  return 'href' in limits && typeof limits.href === 'string';
}

/** The name of the file, or undefined if `limits` is not a file. */
function fileOf(limits: OneLimits): string | undefined {
  if (typeof limits === 'string') {
    return /[\n:]/.test(limits) ? undefined : limits;
  }
  if (typeof limits !== 'object' || limits === null) {
    throw invalidArgument('limits must be the name of a file, YAML, a URL or ' +
      `an object, is ${shown(limits)}`);
  }
  return isUrl(limits) ? fileOfUrl(limits) : undefined;
}

function fileOfUrl(file: FileUrl): string {
  try {
    return url.fileURLToPath(file.href);
  } catch (error) {
    throw Object.assign(
      invalidArgument(`limits must be a file: URL, is ${file.href}`),
      { cause: error });
  }
}

function textOf(limits: string | LimitTree): Texts {
  return [typeof limits === 'string' ? limits
    : yamlOf(limits, 'limits', 'schema'), 'limits'];
}

/** YAML of what stands below one name of a `limits.yaml`. */
export function textOfNode(node: string | object): string {
  if (typeof node === 'string') return node;
  if (typeof node === 'object' && node !== null) {
    return yamlOf(node, 'limits', 'children');
  }
  throw invalidArgument(`a node must be YAML or an object, is ${shown(node)}`);
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOfFile(file: string, bytes: Uint8Array): Texts {
  try {
    return [DECODER.decode(bytes), file];
  } catch {
    throw new ConfigError([`${file}: is not UTF-8`], file);
  }
}

/** The words of the C library for the most frequent errors of files. */
const TROUBLES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file', EACCES: 'permission denied',
  EISDIR: 'is a folder',
};

/** Whether a text begins as `5/minute` does; `2026/limits.yaml` does not. */
function isLimit(text: string): boolean {
  const [, period] =
    /^\s*\d+\s*(?:\/|per\s)\s*([\d.]*\s*[a-z]+)(?:[\s;,]|$)/i.exec(text) ?? [];
  try {
    return period !== undefined && native.parseDuration(period) > 0;
  } catch {
    return false;
  }
}

/** The error for a file that cannot be read; `tree`: it should have one. */
function unreadable(file: string, error: unknown, tree: boolean): ConfigError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const isOther = tree && code === 'ENOENT' && isLimit(file);
  const what = !isOther ? TROUBLES[code] ?? message :
    'limits are a tree, and this is one limit: name what it is for, as in ' +
    `{schema: {job: {limits: '${file}'}}}`;
  const found = new ConfigError([`${file}: ${what}`], file);
  return Object.assign(found, { cause: error });
}

function readFileNow(file: string, tree: boolean): Uint8Array {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    throw unreadable(file, error, tree);
  }
}

function readFileSoon(file: string): Promise<Uint8Array> {
  return fs.promises.readFile(file).catch((error) => {
    throw unreadable(file, error, true);
  });
}

/** The files of a folder, without its folders; undefined for anything else. */
function filesIn(folder: string): string[] | undefined {
  if (!fs.statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    return undefined;
  }
  return fs.readdirSync(folder).sort()
    .map((name) => path.join(folder, name))
    .filter((file) => fs.statSync(file).isFile());
}

/** Reads files of envoyproxy/ratelimit, as readSync; folders, too. */
export function readDescriptors(
  sources: DescriptorFiles | undefined,
): Texts {
  if (sources === undefined) return [];
  return listOf(sources as Limits).flatMap((one) => {
    const file = fileOf(one);
    if (file === undefined) {
      return [typeof one === 'string' ? one : yamlOf(one, 'descriptors'),
              'descriptors'];
    }
    return (filesIn(file) ?? [file]).flatMap((each) =>
      textOfFile(each, readFileNow(each, false)));
  });
}

/** Limits that have been read. */
export class ReadLimits implements LimitTree {
  readonly schema = {};

  constructor(readonly from: Limits, readonly texts: Texts) {}
}

/** The URL of a file, even if its name looks like YAML. */
export function fileUrl(file: string | FileUrl): FileUrl {
  if (typeof file === 'string') return url.pathToFileURL(file);
  if (typeof file !== 'object' || file === null || !isUrl(file)) {
    throw invalidArgument(
      `file must be a name or a URL, is ${shown(file)}`);
  }
  return file;
}

function listOf(limits: Limits): readonly OneLimits[] {
  if (!Array.isArray(limits)) return [limits as OneLimits];
  if (limits.length === 0) throw invalidArgument('limits must not be empty');
  return limits as readonly OneLimits[];
}

/** Reads `limits`; throws ConfigError for a file that cannot be read. */
export function readSync(limits: Limits): Texts {
  if (limits instanceof ReadLimits) return limits.texts;
  return listOf(limits).flatMap((one) => {
    const file = fileOf(one);
    return file === undefined ? textOf(one as string | LimitTree)
      : textOfFile(file, readFileNow(file, true));
  });
}

/** The same without blocking. */
export async function read(limits: Limits): Promise<Texts> {
  const texts: Texts = [];
  for (const one of listOf(limits)) {
    const file = fileOf(one);
    texts.push(...file === undefined ? textOf(one as string | LimitTree)
      : textOfFile(file, await readFileSoon(file)));
  }
  return texts;
}

/** The options of docs/configuration.md; undefined leaves the default. */
export interface StoreOptions {
  /**
   * Where buckets are kept: `memory://`, `shm://myapp` for several processes,
   * `redis://host:6379`, ..., or a client of ioredis or node-redis.
   */
  readonly store?: StoreName | undefined;
  /** The most buckets kept in memory. */
  readonly maxBuckets?: number | undefined;
  /** The most memory for buckets and logs, in bytes; default `"auto"`. */
  readonly maxBytes?: number | 'auto' | undefined;
  /** How long a call may take: milliseconds, or a text such as `"2s"`. */
  readonly timeout?: number | string | undefined;
  /** How long an attempt to connect may take, like `timeout`. */
  readonly connectTimeout?: number | string | undefined;
  /** Connections to each server for calls that block. */
  readonly connections?: number | undefined;
  /** The prefix of every key in Redis. */
  readonly prefix?: string | undefined;
  /** The name of connections, for CLIENT LIST. */
  readonly clientName?: string | undefined;
  /** Whether a call that blocks looks for its answer before it sleeps. */
  readonly lowLatency?: boolean | 'auto' | undefined;
  /** Whether requests that wait at the same time share calls to Redis. */
  readonly shareCalls?: boolean | undefined;
  /** What to do when the store fails. */
  readonly onStoreError?: 'raise' | 'allow' | 'deny' | 'local' | undefined;
  /** This process's part of every limit under `onStoreError: 'local'`. */
  readonly localShare?: number | string | undefined;
  /** Whether to repeat denials of the store without asking it. */
  readonly denyCache?: boolean | undefined;
  readonly denyCacheSize?: number | undefined;
  /**
   * How much later than they have to denied callers are told to come back:
   * milliseconds, or a text such as `"10s"`.
   */
  readonly retrySpread?: number | string | undefined;
  /** Which stores this process takes leases from. */
  readonly leases?: 'remote' | 'always' | 'off' | undefined;
  /** The used part of a limit from which a request counts as near it. */
  readonly nearLimit?: number | string | undefined;
  /** Whether no limit denies, and each counts what it would deny. */
  readonly shadowMode?: boolean | undefined;
  /** The URL of another Redis store, for limits of a second or less. */
  readonly perSecondStore?: string | undefined;
  /** File of the password of a Redis store, read for each connection. */
  readonly passwordFile?: string | undefined;
  readonly tlsCaFile?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  /** `"authority"`: whatever the name in the certificate. */
  readonly tlsVerify?: boolean | 'authority' | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  readonly sentinelPasswordFile?: string | undefined;
}

/** Options for `shouldRateLimit` alone. */
export interface DescriptorOptions {
  /** Files of envoyproxy/ratelimit, for `shouldRateLimit`. */
  readonly descriptors?: DescriptorFiles | undefined;
  /** Whether several of these files may have one domain. */
  readonly mergeDomains?: boolean | undefined;
  /** For descriptors: whether to treat all as if they had `quota_mode`. */
  readonly quotaMode?: boolean | undefined;
  /** For descriptors: whether one that is over keeps others from counting. */
  readonly stopIncrement?: boolean | 'enforced' | undefined;
  /** For descriptors: how many counters known to be over are remembered. */
  readonly overCacheSize?: number | undefined;
  /** For descriptors: the most names in metrics that requests may add. */
  readonly maxMetricKeys?: number | undefined;
}

/** `maxBuckets`, as JavaScript spells the name of an option. */
function spelledName(name: string): string {
  return name.replace(/_[a-z]/g, (part) => part[1]!.toUpperCase());
}

const OPTIONS = native.options.map(spelledName);

/** `max_buckets`, the name of an option in the core. */
function coreName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Names of options in JavaScript by their names in the core, if different. */
const SPELLED = new Map(
  [...OPTIONS, 'trustedHops', 'trustedProxies', 'ipv6Prefix']
    .map((name): [string, string] => [coreName(name), name])
    .filter(([name, spelled]) => name !== spelled));

const NAMES = new RegExp(
  `(?<![\\w"])(${[...SPELLED.keys()].join('|')})(?![\\w"])`, 'g');

/**
 * A message of the core, with the names of options as in JavaScript.  A message
 * with a place in a file does not change, because it is about the text of that
 * file.
 */
export function spelled(message: string): string {
  if (/^.*?:\d+:\d+: /.test(message)) return message;
  return message.replace(NAMES, (name) => SPELLED.get(name)!);
}

/** Refuses names that no limiter takes. */
export function checkLimiterNames(options: object): void {
  checkNames(options, [...OPTIONS, 'limits', 'clock', 'levels', 'share',
                       'descriptors', 'mergeDomains'],
             "{limits: 'limits.yaml'}");
}

/** Refuses options that a limiter shared by threads cannot have. */
export function checkShare(
  options: { readonly share?: unknown; readonly clock?: unknown },
): void {
  const { share } = options;
  if (share === undefined) return;
  if (typeof share !== 'string' || share === '') {
    throw invalidArgument(`share must be a name, is ${shown(share)}`);
  }
  if (options.clock !== undefined) {
    throw invalidArgument('share: threads cannot share a clock');
  }
}

/** Refuses runtimes that cannot watch a connection for native code. */
export function checkRuntime(made: Functions): Functions {
  const { bun, deno } = process.versions;
  if (!made.isRemote || (bun === undefined && deno === undefined)) return made;
  made.close();
  const why = bun === undefined
    ? `Deno ${deno} never tells that it has answered`
    : `Bun ${bun} has no uv_poll_init`;
  throw new ConfigError(['store: a store on another machine needs Node.js, ' +
    `for ${why}: use shm:// or memory://, a client as the store, or Node.js`]);
}

/** The name of the file of limits, or a description of other limits. */
export function shownLimits(limits: Limits | undefined): string {
  if (limits === undefined) return 'none';
  const files = listOf(limits).map(fileOf);
  return files.map((file) => file ?? 'given as text').join(', ');
}

/** Names and values in turn, as the core takes them. */
export function textOfOptions(options: object): string[] {
  const text: string[] = [];
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (value === undefined) continue;
    text.push(coreName(name), textOfOption(name, value));
  }
  return text;
}

/** The options for which a number is milliseconds. */
const DURATIONS = ['timeout', 'connectTimeout', 'retrySpread'];

/**
 * Refuses a number as text: the core takes it as seconds, but a number is
 * milliseconds here.
 */
function checkUnit(duration: string, name: string): void {
  if (!/^\s*\d+(\.\d+)?\s*$/.test(duration)) return;
  const number = duration.trim();
  throw invalidArgument(`${name} must have a unit if it is a text: say ` +
    `"${number}ms" or "${number}s", or the number ${number} for milliseconds`);
}

/** Milliseconds of a duration; errors call it `name`. */
export function msOf(duration: unknown, name: string): number {
  if (typeof duration === 'number' && duration >= 0) return duration;
  if (typeof duration !== 'string') {
    throw invalidArgument(`${name} must be milliseconds or a text such as ` +
      `"2s", is ${shown(duration)}`);
  }
  try {
    const ms = native.parseDuration(duration);
    checkUnit(duration, name);
    return ms;
  } catch (error) {
    throw error instanceof ConfigError
      ? new ConfigError([`${name} ${error.message}`]) : error;
  }
}

function textOfOption(name: string, value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') {
    if (DURATIONS.includes(name)) checkUnit(value, name);
    return value;
  }
  if (typeof value === 'number' && Number.isFinite(value)) {
    return DURATIONS.includes(name) ? `${Math.round(value)}ms` : String(value);
  }
  throw invalidArgument(`${name} must be a text, a number or a boolean, is ` +
    shown(value));
}
