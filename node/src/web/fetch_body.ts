// Responses of the class Response: when their body has ended, and more headers.

import type { Headers } from '../headers.js';
import type { Body } from './answer.js';
import type { Answer, Ended } from './ending.js';

/** The response with a body that is not kept. */
export function toResponse(body: Body, status: number): Response {
  return new Response(body.text, {
    status,
    headers: { 'Content-Type': body.type, 'Cache-Control': 'no-store' } });
}

/** The response that nobody receives, with the status that nginx uses. */
export function toNobody(): Response {
  return new Response(null, { status: 499 });
}

/** A response, for those who look for one of Node.js. */
export function answerOf(response: Response): Answer {
  return { statusCode: response.status, headersSent: true,
           getHeader: (name) => response.headers.get(name) };
}

/**
 * The response, whose `ended` is called when all of its body was read, or
 * nobody reads it any more.
 */
export function watched(response: Response, ended: Ended): Response {
  const { body } = response;
  if (body === null) {
    ended(true);
    return response;
  }
  const reader = body.getReader();
  return new Response(new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
        ended(true);
      } catch (error) {
        ended(false);
        throw error;
      }
    },
    cancel(reason) {
      ended(false);
      return reader.cancel(reason);
    },
  }), response);
}

/**
 * Adds headers to a response by `set`.  The fields of the draft are lists: an
 * outer limit is named first.
 */
export function addHeaders(
  response: Response, headers: Headers,
  set = (name: string, value: string) => response.headers.set(name, value),
): void {
  for (const [name, value] of Object.entries(headers)) {
    const before = name.startsWith('RateLimit')
      ? response.headers.get(name) : null;
    set(name, before === null ? value : `${value}, ${before}`);
  }
}

/**
 * The response with more headers, or a copy if its own cannot be changed, such
 * as those of a redirect.
 */
export function withHeaders(response: Response, headers: Headers): Response {
  try {
    addHeaders(response, headers);
    return response;
  } catch {
    // An upgrade to a WebSocket in Deno cannot be copied, and needs none.
    if (response.status < 200) return response;
    const copy = new Response(response.body, response);
    addHeaders(copy, headers);
    return copy;
  }
}
