// Addresses against CIDR blocks, as sockets and proxies spell them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allowList, isAllowed, requireBlocks } from '../../src/keys/allow-list.ts';
import { Problem } from '../../src/lib/problem.ts';

const CASES: readonly (readonly [blocks: string[], inside: string[], outside: string[]])[] = [
  [
    ['192.0.2.0/24'],
    ['192.0.2.0', '192.0.2.255', '::ffff:192.0.2.7'],
    ['192.0.3.0', '192.0.1.255'],
  ],
  [['192.0.2.7'], ['192.0.2.7', '::ffff:c000:207', '0:0:0:0:0:FFFF:192.0.2.7'], ['192.0.2.8']],
  [['0.0.0.0/0'], ['127.0.0.1', '255.255.255.255'], ['::1', '2001:db8::1']],
  // IPv4 lies within IPv6, at ::ffff:0:0/96 (RFC 4291 §2.5.5.2).
  [['::/0'], ['::1', '2001:db8::1', '127.0.0.1', '::ffff:127.0.0.1'], []],
  [['2001:db8::/32'], ['2001:db8::1', '2001:0DB8:ffff::'], ['2001:db9::', '192.0.2.1']],
  [['2001:db8::1'], ['2001:db8:0:0::1'], ['2001:db8::2']],
  [['fe80::/10'], ['fe80::1%eth0', 'fe80::1'], ['fec0::1']],
  [['::ffff:192.0.2.0/120'], ['192.0.2.9', '::ffff:192.0.2.9'], ['192.0.3.9']],
  [['::ffff:0:0/96'], ['192.0.2.9'], ['::1']],
  [['10.1.2.3/8'], ['10.255.0.1'], ['11.0.0.1']],
  [
    ['10.0.0.0/8', '2001:db8::/32'],
    ['10.0.0.1', '2001:db8::1'],
    ['192.0.2.1', '::1'],
  ],
];

test('an address is allowed exactly by the blocks it is in, however it is spelt', () => {
  for (const [blocks, inside, outside] of CASES) {
    requireBlocks(blocks);
    const list = allowList(blocks);
    for (const peer of inside) assert.ok(isAllowed(list, peer), `${peer} in ${blocks.join()}`);
    for (const peer of outside) assert.ok(!isAllowed(list, peer), `${peer} in ${blocks.join()}`);
  }
});

test('what is no address is nowhere, not even in everything', () => {
  const list = allowList(['0.0.0.0/0', '::/0']);
  for (const peer of ['', 'localhost', '1.2.3', '1.2.3.4.5', '1.2.3.4:80', '[::1]', 'unknown'])
    assert.ok(!isAllowed(list, peer), peer);
});

test('an empty list, and one of nonsense only, allows nobody', () => {
  for (const list of [allowList([]), allowList(['nonsense'])])
    assert.ok(!isAllowed(list, '127.0.0.1'));
});

test('what is no address and no block is refused with its place', () => {
  const wrong = [
    '10.0.0.0/33',
    '2001:db8::/129',
    '10.0.0/8',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '10.0.0.0/8/8',
    'example.org',
    'fe80::1%eth0',
    '::ffff:10.0.0.0/95',
    ' 10.0.0.0/8',
  ];
  for (const entry of wrong) {
    assert.throws(
      () => requireBlocks(['10.0.0.0/8', entry]),
      (error) =>
        error instanceof Problem &&
        error.code === 'invalid_body' &&
        error.extras.pointer === '/allow_from/1',
      entry,
    );
  }
});
