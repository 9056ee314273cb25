// What `npm pack` needs besides the sources: the headers of Node-API, so that
// limitree-build does without the network, and which OpenSSL is in each module.
// Refuses to pack what is not built.

import { cpSync, existsSync, readFileSync, readdirSync, rmSync, writeFileSync }
  from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const HEADERS = {
  'node-api-headers': ['include/js_native_api.h',
                       'include/js_native_api_types.h', 'include/node_api.h',
                       'include/node_api_types.h', 'LICENSE'],
  'node-addon-api': ['napi.h', 'napi-inl.h', 'LICENSE.md'],
};

function refuse(what) {
  console.error(`prepack: ${what}: run ./dev build node`);
  process.exit(1);
}

if (!existsSync(join(ROOT, 'node', 'dist', 'index.mjs'))) {
  refuse('node/dist is missing');
}
const prebuilds = join(ROOT, 'prebuilds');
const platforms = existsSync(prebuilds) ? readdirSync(prebuilds).sort() : [];
if (platforms.length === 0) refuse('there is no native module in prebuilds');
for (const name of platforms) {
  const file = join(prebuilds, name, 'limitree.node');
  if (!existsSync(file)) refuse(`prebuilds/${name} has no limitree.node`);
  // From its bytes, because a module of another platform cannot be asked.
  const [version] = readFileSync(file, 'latin1').match(
    /OpenSSL \d+\.\d+\.\d+\w* \d+ \w+ \d{4}/) ?? ['no OpenSSL'];
  writeFileSync(join(prebuilds, name, 'NOTICE.txt'),
    `limitree.node has inside it ${version}; see THIRD-PARTY.txt.\n`);
}
// What was compiled earlier is packed, too: to be seen by who packs.
console.error(`prepack: native modules for ${platforms.join(', ')}`);
const place = join(ROOT, 'node', 'headers');
rmSync(place, { recursive: true, force: true });
for (const [name, files] of Object.entries(HEADERS)) {
  for (const file of files) {
    cpSync(join(ROOT, 'node_modules', name, file), join(place, name, file));
  }
}
