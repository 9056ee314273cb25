// Objects of programs as YAML, which the core reads.

import { invalidArgument } from './errors.js';

/** JSON allows these; in YAML they are line breaks, or unprintable. */
const UNPRINTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

/** What a node is made of, besides its options. */
const PARTS = ['limits', 'children', 'overrides', 'key'];

/**
 * YAML of an object.  What is undefined is left out, as in JSON, but not where
 * limits would go with it: the parts of a node, and the names in `schema` and
 * `children`.  `inside` is where a tree, `schema`, or a node, `children`, has
 * such names; descriptors have none.
 */
export function yamlOf(
  tree: object,
  what: 'limits' | 'descriptors',
  inside?: 'schema' | 'children',
): string {
  /** Where names are in an object of the tree; `''`: these are its own. */
  const places = new Map<unknown, string>();
  if (inside !== undefined) places.set(tree, inside);
  const plain = function plain(this: object, name: string, value: unknown) {
    if (typeof value === 'bigint') return Number(value);
    // JSON has null for these, which hides what is wrong.
    if (typeof value === 'number' && !Number.isFinite(value)) return `${value}`;
    if (typeof value === 'function' || typeof value === 'symbol') {
      throw invalidArgument(`${what} must be made of objects, arrays, texts ` +
        `and numbers; "${name}" is a ${typeof value}`);
    }
    const place = places.get(this);
    if (value === undefined && place !== undefined &&
        (place !== 'children' || PARTS.includes(name))) {
      throw invalidArgument(`${what} have an undefined part: "${name}"`);
    }
    if (place === '') places.set(value, 'children');
    else if (place === name) places.set(value, '');
    return value;
  };
  const text = JSON.stringify(tree, plain);
  return text.replace(UNPRINTABLE, (found) =>
    `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
