// A registry of npm packages that has the tarballs of one folder and nothing
// else: package managers choose and install from it what they will install when
// the tarballs are published.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

const digest = (algorithm, bytes, encoding) =>
  createHash(algorithm).update(bytes).digest(encoding);

/** What a registry answers for a package with one version. */
function describe(file, bytes, base) {
  const manifest = JSON.parse(execFileSync(
    'tar', ['-xzOf', file, 'package/package.json'], { encoding: 'utf8' }));
  const { name, version } = manifest;
  const path = `/${name}/-/${name.split('/').at(-1)}-${version}.tgz`;
  // Package managers may refuse what is new.
  const long = '2020-01-01T00:00:00.000Z';
  return [path, {
    name,
    'dist-tags': { latest: version },
    time: { created: long, modified: long, [version]: long },
    versions: {
      [version]: {
        ...manifest, _id: `${name}@${version}`,
        dist: {
          tarball: `${base}${path}`, shasum: digest('sha1', bytes, 'hex'),
          integrity: `sha512-${digest('sha512', bytes, 'base64')}`,
        },
      },
    },
  }];
}

/** Serves the tarballs of `folder`; resolves to `{ url, close }`. */
export async function serve(folder) {
  const server = createServer();
  await new Promise((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${server.address().port}`;
  const answers = new Map();
  for (const name of readdirSync(folder)) {
    if (!name.endsWith('.tgz')) continue;
    const file = join(folder, name);
    const bytes = readFileSync(file);
    const [path, description] = describe(file, bytes, url);
    answers.set(path, ['application/octet-stream', bytes]);
    answers.set(`/${description.name}`, [
      'application/json', JSON.stringify(description)]);
  }
  server.on('request', (request, response) => {
    const { pathname } = new URL(request.url, url);
    const [type, body] = answers.get(decodeURIComponent(pathname)) ?? [];
    response.writeHead(body === undefined ? 404 : 200,
                       { 'content-type': type ?? 'application/json' });
    response.end(body ?? '{}');
  });
  return { url, close: () => server.close() };
}
