// The address of a client: which headers the package trusts, and the form of an
// address.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { describe, it } from 'node:test';

import { canonicalIp, clientIp, ConfigError } from 'limitree';

const INVALID = { code: 'LIMITREE_INVALID_ARGUMENT' };

describe('canonicalIp', () => {
  it('gives one address one text', () => {
    for (const [text, form] of [
      ['203.0.113.5', '203.0.113.5'],
      ['203.0.113.5:5678', '203.0.113.5'],
      ['::ffff:203.0.113.5', '203.0.113.5'],
      ['64:ff9b::203.0.113.5', '203.0.113.5'],
      ['[2001:DB8:0:0:0:0:0:7]:443', '2001:db8::7'],
      ['fe80::1%eth0', 'fe80::1'],
    ]) assert.equal(canonicalIp(text), form);
    assert.equal(canonicalIp('2001:db8:1:2:3::4', 64), '2001:db8:1:2::');
    assert.equal(canonicalIp('2001:db8:1:2ff::4', 56), '2001:db8:1:200::');
  });

  it('refuses what is none', () => {
    for (const wrong of ['', 'unknown', '1.2.3', '1.2.3.4.5', '\ud800', 'a'
      .repeat(5000), undefined, null, 7, {}]) {
      assert.throws(() => canonicalIp(wrong), INVALID, String(wrong));
    }
    for (const prefix of [1.5, NaN, 2 ** 40, '64']) {
      assert.throws(() => canonicalIp('::1', prefix), INVALID, String(prefix));
    }
    for (const prefix of [0, 129, -1]) {
      assert.throws(() => canonicalIp('::1', prefix), ConfigError);
    }
  });
});

describe('clientIp', () => {
  it('believes nobody unless told', () => {
    const client = clientIp();
    assert.equal(client.of('10.0.0.1', '203.0.113.5'), '10.0.0.1');
    assert.equal(client.of('::ffff:10.0.0.1'), '10.0.0.1');
    assert.equal(client({ socket: { remoteAddress: '2001:db8::1:2:3:4' },
                          headers: { 'x-forwarded-for': '1.1.1.1' } }),
                 '2001:db8::');
  });

  it('walks past the proxies it is told of', () => {
    const near = clientIp({ trustedProxies: ['10.0.0.0/8', 'unix'] });
    assert.equal(near.of('10.0.0.1', '1.1.1.1, 203.0.113.5, 10.0.0.2'),
                 '203.0.113.5');
    assert.equal(near.of('10.0.0.1', ['1.1.1.1', '203.0.113.5']),
                 '203.0.113.5');
    assert.equal(near.of('198.51.100.9', '203.0.113.5'), '198.51.100.9');
    assert.equal(near.of(undefined, '203.0.113.5'), '203.0.113.5');
    const hops = clientIp({ trustedHops: 2, ipv6Prefix: 128 });
    assert.equal(hops.of('10.0.0.1', '1.1.1.1, 2001:db8::7, 10.9.9.9'),
                 '2001:db8::7');
  });

  it('reads the header it is told of', () => {
    const options = { trustedProxies: ['127.0.0.1'] };
    const forwarded = clientIp({ ...options, header: 'Forwarded' });
    assert.equal(forwarded.header, 'forwarded');
    assert.equal(
      forwarded.of('127.0.0.1', 'for="[2001:db8::7]:443";proto=https'),
      '2001:db8::');
    const own = clientIp({ ...options, header: 'CF-Connecting-IP' });
    const headers = { 'cf-connecting-ip': '203.0.113.9',
                      'x-forwarded-for': '1.1.1.1' };
    assert.equal(own({ socket: { remoteAddress: '127.0.0.1' }, headers }),
                 '203.0.113.9');
  });

  it('takes requests of node:http as they are', async () => {
    const client = clientIp({ trustedProxies: ['127.0.0.0/8'] });
    const server = createServer((request, response) => {
      response.end(client(request));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${server.address().port}`;
    const headers = { 'X-Forwarded-For': '1.1.1.1, 203.0.113.5' };
    const answer = await fetch(url, { headers });
    assert.equal(await answer.text(), '203.0.113.5');
    server.closeAllConnections();
    server.close();
  });

  it('says why there is none', () => {
    for (const peer of [undefined, '', 'unknown', '\udc00']) {
      assert.throws(() => clientIp().of(peer), INVALID);
    }
    assert.throws(() => clientIp().of(7), INVALID);
    const near = clientIp({ trustedHops: 1 });
    assert.throws(() => near.of('10.0.0.1', [undefined]), INVALID);
  });

  it('refuses what it cannot believe', () => {
    for (const [options, message] of [
      [{ trustedProxies: ['10.0.0.0/33'] }, /10\.0\.0\.0\/33/],
      [{ trustedProxies: ['::1'], trustedHops: 1 },
       /^trustedHops and trustedProxies exclude each other$/],
      [{ trustedHops: 101 }, /100/],
      [{ trustedHops: -1 }, /-1/],
      [{ ipv6Prefix: 0 }, /0/],
    ]) {
      assert.throws(() => clientIp(options), (error) => {
        assert.ok(error instanceof ConfigError);
        assert.match(error.message, message);
        return true;
      });
    }
    for (const options of [null, 7, { trustedProxies: '10.0.0.0/8' },
                           { trustedHops: 1.5 }, { trustedHops: true },
                           { trustedProxies: [{}] }]) {
      assert.throws(() => clientIp(options), INVALID);
    }
  });

  it('frees what it has made', () => {
    // A sanitizer finds leaks itself, and keeps freed memory for a while.
    const isSanitized = Boolean(process.env.LIMITREE_SANITIZED);
    const before = process.memoryUsage().rss;
    const networks = Array.from({ length: 2000 }, (_, i) =>
      `10.${i >> 8}.${i & 255}.0/24`);
    for (let i = 0; i < (isSanitized ? 40 : 400); ++i) {
      clientIp({ trustedProxies: networks }).of('10.0.0.1');
      if (i % 20 === 0) global.gc();
    }
    const grown = process.memoryUsage().rss - before;
    assert.ok(isSanitized || grown < 64 << 20, `grew by ${grown} bytes`);
  });
});
