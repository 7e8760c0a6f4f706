// Normalised names of assets: names of the same thing get the same value in the same class (CTIS
// §4.3).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ASSET_KINDS, type AssetKind } from '@muster/contract';
import fc from 'fast-check';
import { normaliseAsset } from '../../../src/ingest/report/asset.rules.ts';

const value = (kind: AssetKind, text: string) => normaliseAsset(kind, text)?.value ?? null;

test('https, ssh, scp and bare forms of a repository are one', () => {
  const forms = [
    'https://github.com/Acme/Shop.git',
    'http://github.com/acme/shop/',
    'github.com/acme/shop',
    'git@github.com:acme/shop.git',
    'ssh://git@github.com/acme/shop',
    'ssh://git@github.com:22/acme/shop.git',
    'https://ada:token@github.com/acme/shop',
    'https://github.com/acme/shop/tree/main/src',
    'git+ssh://git@github.com/acme/shop.git',
    'https://github.com/acme/shop?tab=readme#x',
    'HTTPS://GitHub.com/acme/shop.git/',
  ];
  for (const form of forms) assert.equal(value('repository', form), 'github.com/acme/shop', form);
  assert.equal(
    value('repository', 'https://gitlab.com/a/b/c/-/blob/main/x.ts'),
    'gitlab.com/a/b/c',
  );
  for (const form of [
    'https://dev.azure.com/org/proj/_git/repo',
    'git@ssh.dev.azure.com:v3/org/proj/repo',
  ]) {
    assert.equal(value('repository', form), 'dev.azure.com/org/proj/repo');
  }
});

test('hosts lose scheme, port and path; names and addresses correct each other’s kind', () => {
  assert.deepEqual(normaliseAsset('domain', 'https://Example.COM.:443/x'), {
    kind: 'domain',
    kindClass: 'host',
    value: 'example.com',
  });
  assert.deepEqual(normaliseAsset('domain', '198.51.100.23'), {
    kind: 'ip_address',
    kindClass: 'host',
    value: '198.51.100.23',
  });
  assert.deepEqual(normaliseAsset('ip_address', 'api.example.com'), {
    kind: 'domain',
    kindClass: 'host',
    value: 'api.example.com',
  });
  assert.equal(value('ip_address', '[2001:DB8:0:0::1]:443'), '2001:db8::1');
  assert.equal(value('ip_address', '::ffff:192.0.2.1'), '192.0.2.1');
  assert.equal(value('ip_address', '10.0.0.1/32'), '10.0.0.1');
  assert.equal(value('ip_address', 'fe80::1%eth0'), 'fe80::1');
  assert.deepEqual(normaliseAsset('host', '10.0.0.1')?.kind, 'host');
});

test('web addresses keep the case of their path and nothing else that varies', () => {
  assert.equal(value('http_service', 'HTTPS://Shop.Example.com:443/'), 'https://shop.example.com');
  assert.equal(value('discovered_url', 'http://h:8080/A/b/?q=1#f'), 'http://h:8080/A/b');
  assert.equal(value('website', 'Shop.Example.com/x/'), 'shop.example.com/x');
  assert.equal(normaliseAsset('service', 'https://shop.example.com/')?.kindClass, 'web');
});

test('ports, networks, buckets, databases and certificates have one form each', () => {
  for (const form of ['H:443', 'h:443/tcp', 'h:443:TCP'])
    assert.equal(value('open_port', form), 'h:443:tcp');
  assert.equal(value('open_port', '[2001:db8::1]:53/udp'), '[2001:db8::1]:53:udp');
  assert.equal(value('network', '10.1.2.3/16'), '10.1.0.0/16');
  for (const form of [
    's3://Data/x',
    'https://data.s3.eu-west-1.amazonaws.com/x',
    'https://s3.amazonaws.com/data',
  ]) {
    assert.equal(value('storage', form), 'data');
  }
  assert.equal(value('database', 'postgres://u:p@DB.local:5432/shop?ssl=1'), 'db.local:5432/shop');
  const fingerprint = 'AB:'.repeat(20).slice(0, -1);
  assert.equal(value('certificate', fingerprint), 'ab'.repeat(20));
  assert.equal(value('iam_role', 'arn:aws:iam::1:role/X'), 'arn:aws:iam::1:role/X');
});

test('invisible characters are no part of a name, and a blank name is none', () => {
  assert.equal(value('host', '\u200bh\0ost\ufeff'), 'host');
  assert.equal(value('unclassified', ' a\t \nb '), 'a b');
  for (const blank of ['', '  ', '\0', '\u200b\ufeff'])
    assert.equal(normaliseAsset('domain', blank), null);
});

test('normalising is total, and twice is once', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 60 }),
    fc.webUrl({ withQueryParameters: true }),
    fc.domain(),
    fc.ipV4(),
    fc.ipV6(),
    fc.stringMatching(/^[a-z@:/.\\[\]%?#0-9-]{0,30}$/),
  );
  fc.assert(
    fc.property(fc.constantFrom(...ASSET_KINDS), text, (kind, name) => {
      const once = normaliseAsset(kind, name);
      if (once === null) return;
      assert.ok(once.value !== '' && once.value.isWellFormed());
      assert.deepEqual(normaliseAsset(once.kind, once.value), once);
    }),
    { numRuns: 2000 },
  );
});
