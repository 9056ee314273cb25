// Finds and loads the native module.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { LimitreeError } from './errors.js';
import { ROOT, platform } from './platform.js';

/** What a limiter is made of; bindings/node/requests.hpp says what they do. */
export interface Functions {
  decide(...segments: unknown[]): void;
  start(...segments: unknown[]): void;
  reset(...segments: unknown[]): Promise<number> | undefined;
  reload(limits: string[]): Promise<number>;
  ping(): Promise<number>;
  stats(): number[];
  limitStats(): [string, number, number, number, number, number][];
  prometheus(): string;
  setPressure(pressure: number): void;
  policy(number: number): string;
  root(name: string): number;
  close(): void;
}

export interface Native {
  readonly version: string;
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
    isRemote: boolean,
    hasClock: boolean,
  ): Functions;
  canonicalIp(address: string, ipv6Prefix: number): string;
  proxies(
    isForwarded: boolean,
    hops: number,
    trusted: readonly string[],
    ipv6Prefix: number,
  ): (peer: string, ...lines: readonly string[]) => string;
}

function candidates(): string[] {
  const own = process.env['LIMITREE_NATIVE_PATH'];
  if (own) return [own];
  return [join(ROOT, 'prebuilds', platform(), 'limitree.node')];
}

function load(): Native {
  const tried: string[] = [];
  for (const file of candidates()) {
    if (!existsSync(file)) {
      tried.push(`${file}: is not there`);
      continue;
    }
    try {
      return require(file) as Native;
    } catch (error) {
      tried.push(`${file}: ${(error as Error).message}`);
    }
  }
  throw new LimitreeError(
    'LIMITREE_NO_NATIVE',
    [
      `limitree has no native module for ${platform()}, Node.js ` +
        `${process.versions.node}; tried`,
      ...tried.map((line) => `  ${line}`),
      'To build it from the sources in the package: npx limitree-build',
    ].join('\n'),
  );
}

export const native = load();
