// Stores of @fastify/rate-limit, which count with callbacks.

import type { FastifyStoreObject } from './fastify_options.js';
import { refuse } from './web/refuse.js';
import type { Hits, WebStore } from './web/own_store.js';

/** A store of @fastify/rate-limit as one of express-rate-limit. */
export class FastifyStore implements WebStore {
  readonly takesOptions = true;
  readonly #store: FastifyStoreObject;

  constructor(store: FastifyStoreObject) {
    if (typeof store.incr !== 'function') {
      refuse('store must be a class with the method incr(key, done, ' +
        'timeWindow, max)');
    }
    this.#store = store;
  }

  /** The store of a route with these options. */
  child(options: object): FastifyStore {
    if (typeof this.#store.child !== 'function') {
      refuse('the store has no child(), which a route with options of its ' +
        'own needs');
    }
    return new FastifyStore(this.#store.child(options as never));
  }

  increment(key: string, windowMs: number, limit: number): Promise<Hits> {
    return this.#ask('incr', key, windowMs, limit);
  }

  get(key: string, windowMs: number, limit: number): Promise<Hits> {
    if (typeof this.#store.read !== 'function') {
      throw new Error('the store has no read(), which { increment: false } ' +
        'needs');
    }
    return this.#ask('read', key, windowMs, limit);
  }

  decrement(): never {
    throw new Error('a store of @fastify/rate-limit takes nothing back');
  }

  resetKey(): never {
    throw new Error('a store of @fastify/rate-limit forgets no client');
  }

  #ask(
    method: 'incr' | 'read',
    key: string,
    windowMs: number,
    limit: number,
  ): Promise<Hits> {
    return new Promise((resolve, reject) => {
      this.#store[method]!(key, (error, result) => {
        if (error) return reject(error);
        const { current, ttl } = result ?? {} as never;
        return resolve({ totalHits: current,
                         resetTime: new Date(Date.now() + ttl) });
      }, windowMs, limit);
    });
  }
}
