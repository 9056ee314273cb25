// The names of plain limits in this process.  In every store, limits with the
// same name count together, and a limit without a name counts for itself.

import { isMemory, shownStore, type ClientStore } from '../stores.js';
import type { StoreOptions } from '../limits.js';
import type { CloseOptions } from '../limiter_options.js';
import { storeOptionsOf, webStoreOptionsOf } from './options.js';
import { refuse } from './refuse.js';
import type { WebOptions } from './options.js';
import { PlainTree } from './plain_tree.js';

type Close = (options?: CloseOptions) => Promise<void>;

/** Trees of limits that programs have named, by the name and the store. */
const NAMED = new Map<string, { readonly tree: PlainTree; users: number }>();

/** Trees without a name, by the same key, in stores that others share. */
const UNNAMED = new Map<string, PlainTree>();

/** Clients of programs by their numbers. */
const CLIENTS = new WeakMap<object, number>();
let clients = 0;

function keyOf(options: StoreOptions, name: string): string {
  const { store = 'memory://' } = options;
  const all = { ...options,
                store: typeof store === 'string' ? store : numberOf(store) };
  return JSON.stringify([name, ...Object.entries(all).sort()]);
}

function numberOf({ client }: ClientStore): number {
  const number = CLIENTS.get(client) ?? ++clients;
  CLIENTS.set(client, number);
  return number;
}

/** A tree for limits with a name; the last one to close it ends its limiter. */
export function namedTree(
  options: WebOptions<never, never>,
  name: string,
): { readonly tree: PlainTree; readonly close: Close } {
  const store = webStoreOptionsOf(options);
  const { clock } = options;
  if (clock !== undefined) {  // a test, which has its own buckets
    const tree = new PlainTree({ ...store, clock });
    return { tree, close: (how) => tree.close(how) };
  }
  const key = keyOf(store, name);
  const named = NAMED.get(key) ?? { tree: new PlainTree(store), users: 0 };
  NAMED.set(key, named);
  ++named.users;
  let isClosed = false;
  return { tree: named.tree, async close(how) {
    if (isClosed) return;
    isClosed = true;
    if (--named.users > 0) return;
    NAMED.delete(key);
    await named.tree.close(how);
  } };
}

/**
 * Notes that a limit of `tree` that has no name is called `name`, until the
 * function that it returns is called.  Throws ConfigError if another tree has
 * such a limit in a store that others share: there they would count together,
 * unlike in memory.
 */
export function takeName(
  tree: PlainTree,
  options: WebOptions<never, never>,
  name: string,
): () => void {
  const { store, prefix = '' } = storeOptionsOf(options);
  if (isMemory(store)) return () => undefined;
  const key = keyOf({ store, prefix }, name);
  if ((UNNAMED.get(key) ?? tree) !== tree) {
    refuse(`two limits are called ${name} in ${shownStore(store)}: give each ` +
      'a name of its own, or both the same name to count together; the name ' +
      'is free once the first is closed');
  }
  UNNAMED.set(key, tree);
  return () => {
    if (UNNAMED.get(key) === tree) UNNAMED.delete(key);
  };
}
