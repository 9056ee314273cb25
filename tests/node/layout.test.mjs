// The layout of the array of numbers is the same on both sides:
// bindings/node/layout.hpp and node/src/layout.ts.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const read = (name) => readFileSync(join(ROOT, name), 'utf8');
const snake = (name) =>
  name.replace(/(?<=[a-z])(?=[A-Z])/g, '_').toUpperCase();

/** `kRetryAfterNs` of the enumerations, and constants, by RETRY_AFTER_NS. */
function layoutOfHeader(text) {
  const layout = new Map();
  const code = text.replaceAll(/\/\/.*$/gm, '');
  for (const [, fields] of code.matchAll(/enum \w+ : \S+ \{(.*?)\};/gs)) {
    fields.split(',').forEach((field, i) =>
      layout.set(snake(field.trim().slice(1)), i));
  }
  for (const [, name, value] of code.matchAll(/ k(\w+) = (\d+);/g)) {
    layout.set(snake(name), Number(value));
  }
  return layout;
}

function constantsOf(text) {
  return [...text.matchAll(/^export const (\w+) = (\d+);/gm)].map(
    ([, name, value]) => [name, Number(value)]);
}

it('has each constant of layout.ts at the place that layout.hpp says', () => {
  const layout = layoutOfHeader(read('bindings/node/layout.hpp'));
  for (const [, name, value] of read('capi/limitree.h').matchAll(
    new RegExp('LIMITREE_(AUTHORIZE|PEEK|SPEND|REFUND|MAX_PATHS|MAX_HOLD_NS)' +
               ' (?:= |INT64_C\\()?(\\d+)', 'g'))) {
    layout.set(name, Number(value));
  }
  const level = /mode << (\d+)/.exec(read('bindings/node/native.cpp'));
  layout.set('MODE_SHIFT', Number(level[1]));
  const constants = constantsOf(read('node/src/layout.ts'));
  assert.ok(constants.length > 30);
  for (const [name, value] of constants) {
    assert.equal(layout.get(name), value, name);
  }
});
