// Where limits and options come from, and how the core takes them: as text.

import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { ConfigError, invalidArgument } from './errors.js';

/** A `file:` URL, as `new URL('limits.yaml', import.meta.url)` makes one. */
export interface FileUrl {
  readonly href: string;
}

/**
 * A tree of limits: the name of a file, YAML, a file's URL, or an object of the
 * shape of a `limits.yaml`.  A text with a newline or a colon in it is YAML.
 * Several of them, without a top-level name in common, are one tree.
 */
export type Limits = OneLimits | readonly OneLimits[];
export type OneLimits = string | FileUrl | LimitTree;

export interface LimitTree {
  readonly schema: object;
}

/** YAML and the name it has in messages, in turn. */
export type Texts = string[];

/** JSON has them as they are; to YAML they are line breaks, or unprintable. */
const UNPRINTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

function isUrl(limits: object): limits is FileUrl {
  return 'href' in limits && typeof limits.href === 'string';
}

/** The name of the file, or undefined if `limits` are no file. */
function fileOf(limits: OneLimits): string | undefined {
  if (typeof limits === 'string') {
    return /[\n:]/.test(limits) ? undefined : limits;
  }
  if (typeof limits !== 'object' || limits === null) {
    throw invalidArgument('limits must be the name of a file, YAML, a URL or ' +
      `an object, is ${limits === null ? 'null' : typeof limits}`);
  }
  return isUrl(limits) ? fileURLToPath(limits.href) : undefined;
}

function textOf(limits: string | LimitTree): Texts {
  return [typeof limits === 'string' ? limits : yamlOf(limits), 'limits'];
}

const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOfFile(file: string, bytes: Uint8Array): Texts {
  try {
    return [DECODER.decode(bytes), file];
  } catch {
    throw new ConfigError([`${file}: is not UTF-8`]);
  }
}

/** Limits that have been read. */
export class ReadLimits implements LimitTree {
  readonly schema = {};

  constructor(readonly from: Limits, readonly texts: Texts) {}
}

/** A file whatever its name looks like. */
export function fileUrl(file: string | FileUrl): FileUrl {
  if (typeof file === 'string') return pathToFileURL(file);
  if (typeof file !== 'object' || file === null || !isUrl(file)) {
    throw invalidArgument('file must be a name or a URL');
  }
  return file;
}

function yamlOf(tree: object): string {
  const text = JSON.stringify(tree, (name, value: unknown) => {
    if (typeof value === 'bigint') return Number(value);
    if (typeof value === 'function' || typeof value === 'symbol') {
      throw invalidArgument('limits must be made of objects, arrays, texts ' +
        `and numbers; "${name}" is a ${typeof value}`);
    }
    return value;
  });
  return text.replace(UNPRINTABLE, (found) =>
    `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function listOf(limits: Limits): readonly OneLimits[] {
  if (!Array.isArray(limits)) return [limits as OneLimits];
  if (limits.length === 0) throw invalidArgument('limits must not be empty');
  return limits as readonly OneLimits[];
}

/** Reads `limits`; what a file system has to say is thrown as it is. */
export function readSync(limits: Limits): Texts {
  if (limits instanceof ReadLimits) return limits.texts;
  return listOf(limits).flatMap((one) => {
    const file = fileOf(one);
    return file === undefined ? textOf(one as string | LimitTree)
      : textOfFile(file, readFileSync(file));
  });
}

/** The same without blocking. */
export async function read(limits: Limits): Promise<Texts> {
  const texts: Texts = [];
  for (const one of listOf(limits)) {
    const file = fileOf(one);
    texts.push(...file === undefined ? textOf(one as string | LimitTree)
      : textOfFile(file, await readFile(file)));
  }
  return texts;
}

/** The options of docs/configuration.md; undefined leaves the default. */
export interface StoreOptions {
  /** Where buckets are kept: `memory://`, `redis://host:6379`, ... */
  readonly store?: string | undefined;
  /** The most buckets kept in memory. */
  readonly maxBuckets?: number | undefined;
  /** How long a call may take: milliseconds, or a text such as `"2s"`. */
  readonly timeout?: number | string | undefined;
  /** Connections to each server for calls that block. */
  readonly connections?: number | undefined;
  /** What the name of every key in Redis begins with. */
  readonly prefix?: string | undefined;
  /** How connections call themselves. */
  readonly clientName?: string | undefined;
  readonly lowLatency?: boolean | undefined;
  /** Whether requests that wait at the same time share calls to Redis. */
  readonly shareCalls?: boolean | undefined;
  /** What is decided when the store fails. */
  readonly onStoreError?: 'raise' | 'allow' | 'deny' | 'local' | undefined;
  /** This process's part of every limit under `onStoreError: 'local'`. */
  readonly localShare?: number | string | undefined;
  /** Whether to deny again what the store has just denied. */
  readonly denyCache?: boolean | undefined;
  readonly denyCacheSize?: number | undefined;
  /** Which part of a limit has to be used to be counted as near it. */
  readonly nearLimit?: number | string | undefined;
  readonly tlsCaFile?: string | undefined;
  readonly tlsCertFile?: string | undefined;
  readonly tlsKeyFile?: string | undefined;
  readonly tlsServerName?: string | undefined;
  readonly tlsVerify?: boolean | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
}

const OPTIONS: readonly (keyof StoreOptions)[] = [
  'store', 'maxBuckets', 'timeout', 'connections', 'prefix', 'clientName',
  'lowLatency', 'shareCalls', 'onStoreError', 'localShare', 'denyCache',
  'denyCacheSize', 'nearLimit', 'tlsCaFile', 'tlsCertFile', 'tlsKeyFile',
  'tlsServerName', 'tlsVerify', 'sentinelUsername', 'sentinelPassword'];

/** Names and values in turn, as the core takes them. */
export function textOfOptions(options: object): string[] {
  const text: string[] = [];
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (!(OPTIONS as readonly string[]).includes(name)) {
      throw invalidArgument(
        `no option "${name}", there are: ${OPTIONS.join(', ')}`);
    }
    if (value === undefined) continue;
    const name_ = name.replace(/[A-Z]/g, (c) => `_${c.toLowerCase()}`);
    text.push(name_, textOfOption(name, value));
  }
  return text;
}

function textOfOption(name: string, value: unknown): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) {
    return name === 'timeout' ? `${Math.round(value)}ms` : String(value);
  }
  throw invalidArgument(`${name} must be a text, a number or a boolean, is ` +
    String(value));
}
