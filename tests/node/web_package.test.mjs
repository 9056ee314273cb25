// The programs of docs/node-web.md for Express and Fastify, with the installed
// package: only the frameworks are installed next to it.

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';

import { Packed, ROOT } from './packed.mjs';
import { run } from './run.mjs';
import { withProgram } from './web_programs.mjs';

const packed = await new Packed().install();
after(() => packed.remove());
const { app } = packed;
for (const name of ['express', 'fastify', '@types']) {
  symlinkSync(join(ROOT, 'node_modules', name),
              join(app, 'node_modules', name));
}

const page = readFileSync(join(ROOT, 'docs', 'node-web.md'), 'utf8');
const [, EXPRESS] = /^```js\n(import express.*?)^```$/ms.exec(page);
const [, FASTIFY] = /^```js\n(import fastify.*?)^```$/ms.exec(page);

/** The same for CommonJS, which has no top-level await. */
function common(program) {
  const required = program
    .replace(/import (\w+) from ('limitree[^']*');/g,
             'const $1 = require($2).default;')
    .replace(/import (.*?) from (.*?);/g, 'const $1 = require($2);');
  return `(async () => {\n${required}})();\n`;
}

const PROGRAMS = {
  'express.mjs': EXPRESS, 'express.cjs': common(EXPRESS),
  'fastify.mjs': FASTIFY, 'fastify.cjs': common(FASTIFY),
};

describe('where it is installed', () => {
  for (const [name, program] of Object.entries(PROGRAMS)) {
    it(`runs ${name}`, async () => {
      const file = join(app, name);
      writeFileSync(file, program);
      await withProgram(file, async (get) => {
        const answer = await get();
        assert.equal(await answer.text(), 'hello');
        assert.match(answer.headers.get('ratelimit'), /^"\d+\/\d+m:\*";r=/);
      });
    });
  }

  it('is TypeScript', async () => {
    mkdirSync(join(app, 'types'));
    const files = [];
    for (const [name, program] of [['a.mts', EXPRESS], ['b.mts', FASTIFY]]) {
      writeFileSync(join(app, 'types', name), program);
      files.push(name);
    }
    writeFileSync(join(app, 'types', 'tsconfig.json'), JSON.stringify({
      files, compilerOptions: { strict: true, module: 'node16', noEmit: true,
                                target: 'es2022', types: ['node'],
                                skipLibCheck: true } }));
    await run(join(ROOT, 'node_modules', '.bin', 'tsc'),
              ['-p', join(app, 'types')]);
  });
});
