// The facts stored beside a document: credentials that CI systems put into URLs are not among them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contextOf } from '../../src/uploads/upload-headers.decode.ts';

const kept = (name: string, value: string): unknown =>
  Object.values(contextOf({ [name]: value }, {}))[0];

test('user info of a URL is left out, wherever the URL stands and however it came', () => {
  const urls: readonly (readonly [string, string])[] = [
    ['https://gitlab-ci-token:SECRET@host/org/repo.git', 'https://host/org/repo.git'],
    ['HTTPS://SECRET@host:8443/x', 'HTTPS://host:8443/x'],
    ['https://user:SE@CRET@host/x', 'https://host/x'],
    ['ssh://git@host:22/x', 'ssh://host:22/x'],
    ['https://:SECRET@host', 'https://host'],
    ['jdbc:postgresql://user:SECRET@host/db', 'jdbc:postgresql://host/db'],
    ['https://host/x?ref=a&private_token=SECRET#f', 'https://host/x?ref=a&private_token=***#f'],
  ];
  for (const [sent, expected] of urls) {
    for (const name of ['repository_url', 'asset', 'branch', 'pull_request', 'category'])
      assert.equal(kept(name, sent), expected);
    const headers = { 'x-muster-repository-url': sent };
    assert.equal(contextOf({}, headers).repositoryUrl, expected);
  }
  assert.equal(kept('repository_url', 'user:SECRET@host/x.git'), 'host/x.git');
});

test('a parameter or header that means nothing is kept by name, and the coverage is partial unless given', () => {
  const misspelt = { unknown: ['covrage'], coverage: 'partial' };
  assert.deepEqual(contextOf({ covrage: 'full' }, {}), misspelt);
  const header = contextOf({}, { 'x-muster-covrage': 'partial', 'x-openctem-other': '1' });
  assert.deepEqual(header, { ...misspelt, unknown: ['x-muster-covrage'] });
  assert.deepEqual(contextOf({ build: '7', coverage: 'full' }, {}), {
    unknown: ['build'],
    coverage: 'full',
  });
  assert.deepEqual(contextOf({ wait: '5', sync: 'true' }, { 'x-muster-branch': 'm' }), {
    branch: 'm',
  });
  const many = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`${'x'.repeat(99)}${n}`, '']),
  );
  const { unknown = [] } = contextOf(many, {});
  assert.deepEqual([unknown.length, unknown[0]?.length], [10, 64]);
});

test('what only looks like user info stays', () => {
  const texts: readonly (readonly [string, string])[] = [
    ['repository_url', 'git@github.com:org/repo.git'],
    ['repository_url', 'github.com/org/repo'],
    ['repository_url', 'https://host/@scope/pkg?to=a@b'],
    ['asset', 'nginx:1.25@sha256:abcdef'],
    ['asset', 'registry:5000/app@sha256:abcdef'],
    ['asset', 'pkg:npm/%40scope/name@1.0.0'],
    ['branch', 'user:topic@2'],
  ];
  for (const [name, text] of texts) assert.equal(kept(name, text), text);
});
