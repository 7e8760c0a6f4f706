// Whether a scan covers the whole asset that its command names: only such a scan may close findings
// without stating its coverage.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scanContextOf } from '../../../src/ingest/formats/common/scan-context.rules.ts';

const isNarrowed = (payload: Readonly<Record<string, unknown>>): boolean =>
  scanContextOf('c', { scanner: 'semgrep', ...payload }, true).isNarrowed;

const SHOP = 'https://github.com/acme/shop';

test('a target that is the repository, however it is spelled, narrows nothing', () => {
  const same = [SHOP, `${SHOP}.git`, `${SHOP}/`, 'git@github.com:acme/shop.git'];
  for (const target of [...same, 'github.com/acme/shop', '.', './', '']) {
    assert.equal(isNarrowed({ repository_url: SHOP, target }), false, target);
  }
});

test('a path or another address narrows, because it may be a part of the repository', () => {
  const others = ['src', './src', '..', '../shop', '/srv/shop', 'shop', `${SHOP}-api`];
  for (const target of [...others, 'https://shop.acme.test', 'gitlab.com/acme/shop', '.git']) {
    assert.equal(isNarrowed({ repository_url: SHOP, target }), true, target);
  }
});

test('a target that is the asset narrows nothing; an address below it, or one of its ports, narrows', () => {
  const site = { asset: 'https://shop.acme.test', asset_type: 'website' };
  assert.equal(isNarrowed({ ...site, target: 'https://shop.acme.test' }), false);
  assert.equal(isNarrowed({ ...site, target: 'https://shop.acme.test/login' }), true);
  const host = { asset: '10.0.0.5', asset_type: 'ip_address' };
  assert.equal(isNarrowed({ ...host, target: '10.0.0.5' }), false);
  assert.equal(isNarrowed({ ...host, target: '10.0.0.5:443' }), true);
  assert.equal(isNarrowed({ ...host, target: '.' }), true);
});

test('a narrowing member beside a whole target still narrows; a target alone names the asset', () => {
  assert.equal(isNarrowed({ repository_url: SHOP, target: '.', targets: ['src'] }), true);
  assert.equal(isNarrowed({ repository_url: SHOP, target: '.', config: { exclude: ['a'] } }), true);
  assert.equal(isNarrowed({ repository_url: SHOP, target: ['.'] }), true);
  assert.equal(isNarrowed({ target: 'src' }), false);
});
