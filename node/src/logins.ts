/**
 * Passwords that are guessed: failed logins are counted, and success forgives.
 *
 *     import { Logins } from 'limitree/logins';
 *     const logins = await Logins.of(limiter, { secret });
 *     const attempt = await logins.attempt(account, ip, { device: cookie });
 *     if (attempt.decision.limited) ...  // 429, without a look at the password
 *     if (isRight(account, password)) cookie = await attempt.succeed();
 *
 * docs/logins.md says why nobody can lock the owner of an account out.
 */

import type * as Crypto from 'node:crypto';

import { crypto } from './builtins.js';
import type { Decision } from './decision.js';
import { LimitreeError, invalidArgument, isDone } from './errors.js';
import type { Limiter } from './limiter.js';
import { wellFormed, type Path } from './paths.js';
import { checkNames, shown } from './words.js';

export interface LoginsOptions {
  /** Signs the tokens of devices: at least 16 bytes that all processes have. */
  readonly secret: string | Uint8Array;
  /** What an address may fail at one account.  Default `"5/15 minutes"`. */
  readonly pair?: string | object | undefined;
  /** What all addresses together may fail there.  Default `"20/hour"`. */
  readonly account?: string | object | undefined;
  /** What an address may fail at all accounts.  Default `"100/hour"`. */
  readonly address?: string | object | undefined;
  /**
   * What a known device may fail at the account that it has logged in to
   * before.  Default `"10/15 minutes"`.
   */
  readonly device?: string | object | undefined;
  /** The top-level name of these limits.  Default `"login"`. */
  readonly name?: string | undefined;
}

export interface AttemptOptions {
  /** The token that the browser has kept. */
  readonly device?: string | undefined;
}

const NAMES = ['secret', 'pair', 'account', 'address', 'device', 'name'];
const ID_BYTES = 16;
const ID_CHARACTERS = 22;  // in base64 without padding
const MOST_CHARACTERS = 100;  // of a token, before it is looked at
const LEAST_SECRET = 16;

/** One attempt to log in.  It counts as failed unless `succeed` is called. */
export class Attempt {
  /** Allowed, or denied: then it costs nothing. */
  readonly decision: Decision;
  /** Whether it is from a device that has logged in before. */
  readonly isKnown: boolean;
  readonly #limiter: Limiter;
  readonly #paths: readonly Path[];
  readonly #token: () => string;
  #isOver: boolean;

  /** @internal */
  constructor(
    decision: Decision,
    isKnown: boolean,
    limiter: Limiter,
    paths: readonly Path[],
    token: () => string,
  ) {
    this.decision = decision;
    this.isKnown = isKnown;
    this.#limiter = limiter;
    this.#paths = paths;
    this.#token = token;
    this.#isOver = decision.limited;
  }

  /**
   * Forgives, and resolves to the token by which the device is known.  Call it
   * once the whole login has succeeded, with its second factor.  Rejects for an
   * attempt that was denied, or for the second time.  A store that fails does
   * not undo a login: what it could not forget wears off.
   */
  async succeed(): Promise<string> {
    if (this.#isOver) {
      throw new LimitreeError('LIMITREE_INVALID_ARGUMENT',
        'the attempt was denied, or is over');
    }
    this.#isOver = true;
    // What is forgotten whole is that of one address at this account.  Of the
    // others, whoever has an account of their own could else make all their
    // failures forgotten.
    const [own, ...others] = this.#paths;
    const isForgotten = await isDone(this.#limiter.reset(own!, { leaf: true }));
    await Promise.all((isForgotten ? others : this.#paths)
      .map((path) => isDone(this.#limiter.refund(path))));
    return this.#token();
  }
}

/** Limits of failed logins, of accounts and addresses. */
export class Logins {
  readonly limiter: Limiter;
  readonly #key: Uint8Array;
  readonly #name: string;

  private constructor(
    limiter: Limiter,
    secret: string | Uint8Array,
    name: string,
  ) {
    this.limiter = limiter;
    // Accounts of another name are those of others, with the same secret.
    this.#key = hmac(secret, name).digest();
    this.#name = name;
  }

  /**
   * Adds the limits to `limiter`.  Rejects with a ConfigError if they are not
   * valid, or if the name is taken.
   */
  static async of(limiter: Limiter, options: LoginsOptions): Promise<Logins> {
    checkNames(options, NAMES, '{secret: process.env.SECRET}');
    const {
      secret, pair = '5/15 minutes', account = '20/hour',
      address = '100/hour', device = '10/15 minutes', name = 'login',
    } = options;
    checkSecret(secret);
    const below = (limits: unknown, key = 'text') =>
      ({ key, children: { '*': { limits } } });
    await limiter.put(name, { children: {
      pair: { children: { '*': below(pair, 'ip') } },
      account: below(account),
      address: below(address, 'ip'),
      device: { children: { '*': below(device) } } } });
    return new Logins(limiter, secret, name);
  }

  /**
   * Counts an attempt, before the password is looked at.  `account` is the name
   * under which it is found: the same for all spellings that log in to it.
   * Rejects as `authorize` does.
   */
  async attempt(
    account: string,
    address: string,
    options: AttemptOptions = {},
  ): Promise<Attempt> {
    checkNames(options, ['device'], '{device: cookie}');
    for (const [what, value] of [['account', account], ['address', address]]) {
      if (['string', 'number', 'bigint'].includes(typeof value)) continue;
      throw invalidArgument(`${what} must be a string, is ${shown(value)}`);
    }
    account = wellFormed(String(account));
    const { device } = options;
    const isKnown = device !== undefined && this.#isOf(account, device);
    const name = this.#name;
    const paths: Path[] = isKnown
      ? [[name, 'device', account, device.slice(0, ID_CHARACTERS)]]
      : [[name, 'pair', account, address], [name, 'account', account],
         [name, 'address', address]];
    const decision = await this.limiter.authorizeAll(paths, { levels: true });
    return new Attempt(decision, isKnown, this.limiter, paths, () =>
      isKnown ? device : this.#newDevice(account));
  }

  #newDevice(account: string): string {
    const id = crypto().randomBytes(ID_BYTES).toString('base64url');
    return `${id}.${this.#signature(account, id)}`;
  }

  /** Whether a token was made for that account. */
  #isOf(account: string, device: string): boolean {
    if (typeof device !== 'string' || device.length > MOST_CHARACTERS) {
      return false;
    }
    const [id = '', signature = ''] = device.split('.', 2);
    const right = Buffer.from(this.#signature(account, id));
    const given = Buffer.from(signature);
    return id.length === ID_CHARACTERS && given.length === right.length &&
      crypto().timingSafeEqual(given, right);
  }

  #signature(account: string, id: string): string {
    return hmac(this.#key, `${id}.${account}`).digest('base64url');
  }
}

function hmac(key: string | Uint8Array, text: string): Crypto.Hmac {
  return crypto().createHmac('sha256', key as Crypto.BinaryLike).update(text);
}

function checkSecret(secret: unknown): void {
  if (typeof secret !== 'string' && !(secret instanceof Uint8Array)) {
    throw invalidArgument('secret must be a text or bytes, is ' +
      (secret === undefined ? 'missing' : shown(typeof secret)));
  }
  const size = Buffer.byteLength(secret);
  if (size < LEAST_SECRET) {
    throw invalidArgument(
      `secret must have at least ${LEAST_SECRET} bytes, has ${size}`);
  }
}
