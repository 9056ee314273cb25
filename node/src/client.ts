// A client of the program in place of limitree's connections to Redis: ioredis
// or node-redis.  The core says what to send, and reads the answers.

import { invalidArgument } from './errors.js';
import { checkRuntime, textOfOptions } from './limits.js';
import type { Functions } from './native.js';
import { shownStore, type ClientStore } from './stores.js';
import { checkNames, shown } from './words.js';

type Word = string | Uint8Array;
type Answers = Promise<unknown>;

/** What became of a command: the numbers of LIMITREE_REPLY_* in limitree.h. */
const TEXT = 0;
const OTHER = 1;
const ERROR = 2;
const LOST = 3;
const UNSENT = 4;

/** LIMITREE_CLIENT_CLUSTER. */
const CLUSTER = 1;

/** Sends a command whose first key is the word at `key`; 0: it has none. */
type Send = (words: Word[], key: number) => Answers;

interface Way {
  readonly send: Send;
  readonly flags: number;
}

/** How to send by `client`, which the option `name` is. */
export function wayOf(client: unknown, name = 'store.client'): Way {
  const has = (name: string) =>
    typeof (client as Record<string, unknown> | null)?.[name] === 'function';
  if (typeof client === 'object' && client !== null) {
    if (has('call') && has('defineCommand')) return ioredisWay(client as never);
    if (has('sendCommand')) return nodeRedisWay(client as never);
  }
  throw invalidArgument(`${name} must be a client of ioredis or ` +
    `node-redis, is ${typeof client === 'string' ? 'a text' : shown(client)}`);
}

function ioredisWay(client: {
  call(name: string, ...words: Word[]): Answers;
  readonly isCluster?: boolean;
  readonly status?: string;
}): Way {
  return {
    flags: client.isCluster === true ? CLUSTER : 0,
    send: ([name, ...words]) => {
      if (client.status === 'end') throw new Unsent('Connection is closed.');
      // Its table of commands, which has the places of keys, is in lower case.
      return client.call(String(name).toLowerCase(), ...words);
    },
  };
}

function nodeRedisWay(client: {
  sendCommand(...args: unknown[]): Answers;
}): Way {
  if ('masters' in client) {
    return { flags: CLUSTER, send: (words, key) =>
      client.sendCommand(key === 0 ? undefined : words[key], false, words) };
  }
  if ('getSentinelNode' in client) {
    return { flags: 0, send: (words) => client.sendCommand(false, words) };
  }
  return { flags: 0, send: (words) => client.sendCommand(words) };
}

/** The server has not seen the command. */
class Unsent extends Error {}

/** Errors of clients that have not sent a command, by name, code or text. */
const UNSENT_ERRORS = /^(ClientClosedError|ClientOfflineError|ECONNREFUSED)$/;
const UNSENT_TEXT = /enableOfflineQueue options is false/;

/** The names of an error's classes. */
function* classesOf(error: Error): Generator<string> {
  for (let at: unknown = error; at !== null && at !== undefined;
       at = Object.getPrototypeOf(at)) {
    const name = (at as object).constructor?.name;
    yield name;
    if (name === 'Error') return;
  }
}

/** What a client's error says about a command. */
function failureOf(error: unknown): [number, string] {
  try {
    return readFailure(error);
  } catch {
    // Nobody would catch what an error throws that is read.
    return [LOST, 'an error that cannot be read'];
  }
}

function readFailure(error: unknown): [number, string] {
  if (!(error instanceof Error)) return [LOST, String(error)];
  const { message, code } = error as Error & { readonly code?: unknown };
  const names = [error.name, ...classesOf(error)];
  if (names.some((name) => /^(ReplyError|ErrorReply)$/.test(name))) {
    return [ERROR, String(message)];
  }
  const isUnsent = error instanceof Unsent || UNSENT_TEXT.test(message) ||
    [...names, code].some((one) => UNSENT_ERRORS.test(String(one)));
  return [isUnsent ? UNSENT : LOST, String(message || names[0])];
}

/** The most commands that a client has not answered. */
const MOST_OPEN = 16384;

/** Sends the commands of one limiter, and runs its loop. */
export class Sender {
  readonly flags: number;
  readonly #send: Send;
  #native: Functions | undefined;
  #isDue = false;
  #open = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(client: unknown) {
    const { send, flags } = wayOf(client);
    this.#send = send;
    this.flags = flags;
  }

  /** The functions of a limiter, of which those that ask send by the client. */
  bind(native: Functions): Functions {
    this.#native = native;
    const start = (...segments: unknown[]) => {
      const receipt = native.start(...segments);
      this.soon();
      return receipt;
    };
    const shouldRateLimit: Functions['shouldRateLimit'] = (...request) => {
      const answer = native.shouldRateLimit(...request);
      this.soon();
      return answer;
    };
    const close = () => {
      clearTimeout(this.#timer);
      this.#native = undefined;
      native.close();
    };
    return { ...native, start, shouldRateLimit, close };
  }

  /** Runs the loop once for all that happens until then. */
  readonly soon = (): void => {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(this.#run);
  };

  readonly #run = (): void => {
    this.#isDue = false;
    const native = this.#native;
    if (native === undefined) return;
    const ms = native.runLoop();
    for (const [token, key, ...words] of native.takeCommands()) {
      this.#ask(token, words, key);
    }
    if (ms < 0 || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#run();
    }, Math.ceil(ms));
  };

  #ask(token: number, words: Word[], key: number): void {
    if (this.#open >= MOST_OPEN) {
      return this.#reply(token, UNSENT, 'too many commands wait');
    }
    let answer: Answers;
    try {
      answer = this.#send(words, key);
    } catch (error) {
      const [kind, text] = failureOf(error);
      return this.#reply(token, kind, text);
    }
    ++this.#open;
    Promise.resolve(answer).then((value) => {
      --this.#open;
      if (Buffer.isBuffer(value)) value = value.toString();
      if (typeof value === 'string') this.#reply(token, TEXT, value);
      else this.#reply(token, OTHER, '');
    }, (error: unknown) => {
      --this.#open;
      this.#reply(token, ...failureOf(error));
    });
  }

  #reply(token: number, kind: number, text: string): void {
    this.#native?.reply(token, kind, text);
    this.soon();
  }
}

/** A store of a limiter that is being made. */
interface Store {
  /** The options for the core, as texts. */
  readonly texts: string[];
  /** The name of the store. */
  readonly store: string;
  /** The last arguments of `open`. */
  readonly client: [flags?: number, wake?: () => void];
  /** The functions of the limiter, as they are to be used. */
  readonly bind: (opened: Functions) => Functions;
}

/** Refuses a store whose client is none. */
export function checkClientStore(store: object): void {
  checkNames(store, ['client'], '{client: redis}');
  wayOf((store as ClientStore).client);
}

/** Refuses a store that is neither a URL nor has a client. */
export function checkLimiterStore(store: unknown): void {
  if (store === undefined || typeof store === 'string') return;
  if (typeof store !== 'object' || store === null) {
    throw invalidArgument('store must be a URL such as ' +
      `"redis://127.0.0.1", or { client }, is ${shown(store)}`);
  }
  checkClientStore(store);
}

/** Native code keeps the function, which must not keep what is native. */
function wakerOf(sender: WeakRef<Sender>): () => void {
  return () => sender.deref()?.soon();
}

/** Reads the options of a store, which may be one with a client. */
export function readStore(options: { readonly store?: unknown }): Store {
  const { store } = options;
  if (typeof store !== 'object' || store === null) {
    const texts = textOfOptions(options);
    const url = typeof store === 'string' ? store : undefined;
    return { texts, store: shownStore(url), client: [], bind: checkRuntime };
  }
  checkClientStore(store);
  const sender = new Sender((store as ClientStore).client);
  return { texts: textOfOptions({ ...options, store: undefined }),
           store: shownStore(store as ClientStore),
           client: [sender.flags, wakerOf(new WeakRef(sender))],
           bind: (opened) => sender.bind(opened) };
}
