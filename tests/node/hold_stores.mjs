// The stores that can hold units.

import { after, before } from 'node:test';

import { RedisServer } from './servers.mjs';
import { STORES } from './shared_files.mjs';

export const server = new RedisServer();
before(() => server.start('--databases', '500'));
after(() => server.stop());

let count = 0;

/** Functions that return the URL of an empty store of each kind. */
export const HOLD_STORES = Object.entries({
  ...STORES,
  redis: () => `${server.url}?db=${count++}`,
});
