// Waits for what others do.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

/** Resolves to the first result of `check` that is true; fails after 30 s. */
export async function until(check) {
  const end = Date.now() + 30_000;
  for (;;) {
    const found = await check();
    if (found) return found;
    assert.ok(Date.now() < end, `never: ${check}`);
    await sleep(5);
  }
}
