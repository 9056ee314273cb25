// Responses of node:http, which Express, Koa and plain servers use.

import type { ServerResponse } from 'node:http';

import type { Headers } from '../headers.js';
import type { Body } from './answer.js';
import type { RateLimitInfo } from './info.js';
import { isPromise, type Maybe } from './maybe.js';

/**
 * Adds headers to those of earlier middlewares, which have charged nothing if
 * `info` is a denial.
 */
export function writeHeaders(
  response: ServerResponse,
  headers: Headers,
  info: RateLimitInfo,
): void {
  const isUndone = info.decision.limited && info.before?.after !== undefined;
  for (const name in headers) {
    // The fields of the draft are lists: several middlewares add to one.
    const isList = name === 'RateLimit' || name === 'RateLimit-Policy';
    const before = !isList ? undefined : isUndone ? earlier(info, name)
      : response.getHeader(name);
    const value = headers[name]!;
    response.setHeader(
      name, before === undefined ? value : `${String(before)}, ${value}`);
  }
}

/** What earlier middlewares say about limits that they charge no more. */
function earlier(info: RateLimitInfo, name: string): string | undefined {
  const values: string[] = [];
  for (let one = info.before; one; one = one.before) {
    const value = one.writer?.headersOf(one)[name];
    if (value !== undefined) values.unshift(value);
  }
  return values.length === 0 ? undefined : values.join(', ');
}

/** Answers with a body. */
export function send(
  response: ServerResponse,
  status: number,
  body: Body,
): void {
  response.statusCode = status;
  response.setHeader('Content-Type', body.type);
  if (!response.hasHeader('Cache-Control')) {
    response.setHeader('Cache-Control', 'no-store');
  }
  response.end(body.text);
}

/** The same with a body that may have to be waited for. */
export function sendSoon(
  response: ServerResponse,
  status: number,
  body: Maybe<Body>,
): Maybe<void> {
  return isPromise(body) ? body.then((one) => send(response, status, one))
    : send(response, status, body);
}
