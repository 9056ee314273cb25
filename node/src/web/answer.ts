// The answers to clients: headers of every response, the body of a denial, and
// the error for a framework when the store fails.

import type { RateLimitInfo } from './info.js';
import { isPromise, type Maybe } from './maybe.js';
import { refuse } from './refuse.js';
import type {
  HeaderNames, StandardHeaders, WebOptions } from './options.js';
import type { HeaderStyle, Headers } from '../headers.js';
import { StoreError } from '../errors.js';
import { shown } from '../words.js';

/** The body of an answer. */
export interface Body {
  readonly type: string;
  readonly text: string;
}

const STYLES: Readonly<Record<string, HeaderStyle>> = {
  __proto__: null as never,
  true: 'draft-6', false: 'none', ietf: 'ietf', 'draft-8': 'ietf',
  'draft-7': 'draft-7', 'draft-6': 'draft-6',
};

function styleOf(standard: StandardHeaders | undefined): HeaderStyle {
  const style = STYLES[String(standard ?? 'ietf')];
  if (style !== undefined) return style;
  return refuse('standardHeaders must be draft-8, draft-7, draft-6, true or ' +
    `false, is ${shown(standard)}`);
}

const NONE: Headers = {};

/** Which headers to show of those who pass, and of those who are denied. */
interface Shown {
  readonly addHeaders?: HeaderNames | undefined;
  readonly addHeadersOnExceeding?: HeaderNames | undefined;
}

type Names = ReadonlyMap<string, string | boolean>;

function namesOf(...all: readonly (HeaderNames | undefined)[]) {
  const names = new Map<string, string | boolean>();
  for (const some of all) {
    if (some === undefined) continue;
    if (typeof some !== 'object' || some === null) {
      refuse('headerNames must be an object such as {"RateLimit-Limit": ' +
        `"X-Quota"}, is ${shown(some)}`);
    }
    for (const [name, other] of Object.entries(some)) {
      if (typeof other !== 'boolean' && !/^[\w!#$%&'*+.^`|~-]+$/.test(other)) {
        refuse(`headerNames must have a name of a header for ${name}, or ` +
          `false, has ${shown(other)}`);
      }
      names.set(name.toLowerCase(), other);
    }
  }
  return names.size === 0 ? undefined : names;
}

/** A date has no parts of seconds: it must not be too early. */
function dateIn(seconds: number): string {
  const now = Math.ceil(Date.now() / 1000);
  return new Date((now + seconds) * 1000).toUTCString();
}

function renamed(headers: Headers, names: Names): Headers {
  const found: Headers = {};
  for (const [name, value] of Object.entries(headers)) {
    const other = names.get(name.toLowerCase()) ?? true;
    if (other !== false) found[other === true ? name : other] = value;
  }
  return found;
}

/** The answers of one middleware. */
export class Answers<A, B> {
  readonly statusCode: number;
  readonly #style: HeaderStyle;
  readonly #legacy: 'epoch' | 'delta' | undefined;
  readonly #message: unknown;
  readonly #isSilent: boolean;
  readonly #hasDates: boolean;
  /** Other names for headers in lower case, if there are some. */
  readonly #names: Names | undefined;
  readonly #namesOfDenials: Names | undefined;

  constructor(options: WebOptions<A, B>, reset: 'epoch' | 'delta') {
    this.statusCode = options.statusCode ?? 429;
    this.#style = styleOf(options.standardHeaders);
    this.#legacy = options.legacyHeaders === true ? reset : undefined;
    this.#message = options.message;
    const { retryAfter = 'seconds' } = options;
    if (retryAfter !== 'seconds' && retryAfter !== 'date') {
      refuse(`retryAfter must be seconds or date, is ${shown(retryAfter)}`);
    }
    this.#hasDates = retryAfter === 'date';
    const { headerNames, addHeaders, addHeadersOnExceeding } =
      options as WebOptions<A, B> & Shown;
    this.#names = namesOf(headerNames, addHeadersOnExceeding);
    this.#namesOfDenials = namesOf(headerNames, addHeaders);
    this.#isSilent = this.#style === 'none' && this.#legacy === undefined;
  }

  /** The headers about what a client has left. */
  headersOf(info: RateLimitInfo): Headers {
    if (this.#isSilent) return NONE;
    const names = info.decision.limited ? this.#namesOfDenials : this.#names;
    info.writer = this;
    const headers = this.#usualHeadersOf(info);
    if (this.#hasDates && headers['Retry-After'] !== undefined) {
      headers['Retry-After'] = dateIn(Number(headers['Retry-After']));
    }
    return names === undefined ? headers : renamed(headers, names);
  }

  #usualHeadersOf(info: RateLimitInfo): Headers {
    const { known, after: decision = info.decision } = info;
    const headers = known === undefined ? decision.headers(this.#style)
      : known.headersOf(decision, this.#style);
    if (this.#legacy === undefined) return headers;
    return Object.assign(
      headers, decision.headers('legacy', { reset: this.#legacy }));
  }

  /** The status of a denial. */
  statusOf({ isBanned }: RateLimitInfo): number {
    return isBanned ? 403 : this.statusCode;
  }

  /** The body of a denial. */
  bodyOf(info: RateLimitInfo, a: A, b: B): Maybe<Body> {
    const message = this.#message;
    if (message === undefined) {
      return { type: 'application/problem+json',
               text: JSON.stringify(this.#problemOf(info)) };
    }
    if (typeof message !== 'function') return toBody(message);
    const made = (message as (a: A, b: B) => unknown)(a, b);
    return isPromise(made) ? made.then(toBody) : toBody(made);
  }

  /** The value of `message`, or the members of the problem. */
  messageOf(info: RateLimitInfo): unknown {
    return this.#message ?? this.#problemOf(info);
  }

  #problemOf(info: RateLimitInfo): object {
    const { decision, known } = info;
    const problem = known === undefined ? decision.problem()
      : known.problemOf(decision);
    return { ...problem, status: this.statusOf(info) };
  }
}

function toBody(message: unknown): Body {
  if (typeof message === 'string') {
    return { type: 'text/plain; charset=utf-8', text: message };
  }
  return { type: 'application/json; charset=utf-8',
           text: JSON.stringify(message) ?? 'null' };
}

function failure(status: number, title: string): Body {
  return { type: 'application/problem+json',
           text: JSON.stringify({ type: 'about:blank', title, status }) };
}

/** The body for a request that the store could not decide. */
export const UNAVAILABLE = failure(503, 'Service Unavailable');

/** The body for a request that could not be decided because of a mistake. */
export const FAILED = failure(500, 'Internal Server Error');

/**
 * Returns what a framework gets for an error of the store: a 503 with a text
 * that reveals nothing about the store, even if the framework shows stacks.
 * `cause` is the error itself.  Other errors are returned as they are.
 */
export function forFramework(error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const title = 'Service Unavailable';
  const shownError = new StoreError(error.code, title, error.reason);
  return Object.assign(shownError, {
    cause: error, stack: title, status: 503, statusCode: 503, expose: false,
    headers: { 'Retry-After': '1', 'Cache-Control': 'no-store' },
    getResponse: () => new Response(UNAVAILABLE.text, {
      status: 503, headers: { 'Content-Type': UNAVAILABLE.type,
                              'Retry-After': '1',
                              'Cache-Control': 'no-store' } }),
  });
}
