// The code blocks of the documents, followed as a new reader does: from the top
// of a page to its end, in an empty folder.  A block whose first line is a
// comment with a file's name (`# limits.yaml`) is that file.
// tests/docs_blocks.py is the same for Python.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** An empty folder inside the package, so that its name can be imported. */
export function emptyFolder() {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  return mkdtempSync(join(ROOT, 'build', 'docs-'));
}

/** The blocks of a page: language, text, line, file, and the heading above. */
export function* blocksOf(page) {
  const text = readFileSync(join(ROOT, page), 'utf8');
  let title = '';
  for (const match of text.matchAll(/^## ([^\n]*)$|^```(\w*)\n(.*?)^```$/gms)) {
    const [, heading, language, code] = match;
    if (heading !== undefined) {
      title = heading;
      continue;
    }
    const line = text.slice(0, match.index).split('\n').length + 1;
    const file =
      /^(?:#|\/\/) ([\w/.-]+\.(?:yaml|mjs|js))(?=[:\n])/.exec(code)?.[1];
    yield { language, text: code, line, file, title };
  }
}

/**
 * The program of a block, with the names in shm:// as files of the folder, so
 * that pages leave nothing behind.
 */
export function programOf(block, folder) {
  return block.text.replace(/shm:\/\/(?=\w)/g, `shm://${folder}/`);
}

/** Follows a block as a reader does; returns whether it is a program. */
export function follow(block, folder, given) {
  if (block.file !== undefined) {
    mkdirSync(dirname(join(folder, block.file)), { recursive: true });
    writeFileSync(join(folder, block.file), block.text);
    given.add(block.file);
    return false;
  }
  if (!['js', 'cjs'].includes(block.language)) return false;
  for (const [, name] of block.text.matchAll(/'([\w./-]+\.(?:yaml|csv))'/g)) {
    assert.ok(given.has(name), `line ${block.line}: there is no ${name} yet`);
  }
  return true;
}
