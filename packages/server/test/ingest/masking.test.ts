// What may be shown of secrets and credentials: never enough to use them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  isCredentialName,
  isMasked,
  maskAssignments,
  maskOccurrences,
  maskSnippet,
  maskValue,
} from '../../src/ingest/masking.rules.ts';

test('a masked value shows at most four characters at an end and at most half of itself', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9+/=_-]{0,60}$/), (value) => {
      const shown = maskValue(value).replace('***', '');
      assert.ok(shown.length <= 8 && shown.length * 2 <= value.length);
    }),
  );
});

test('of a snippet only the name of the value stays, whatever comes after it', () => {
  assert.equal(maskSnippet('AWS_KEY = "AKIAIOSFODNN7EXAMPLE"'), 'AWS_KEY =***');
  assert.equal(maskSnippet('ghp_0123456789abcdef'), '***');
  assert.equal(maskSnippet('token: ghp_0123456789abcdef # hidden'), 'token:***');
  assert.equal(maskSnippet('-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA'), '***');
  assert.equal(maskSnippet('QUJDREVGR0hJSktM=='), '***');
});

test('what the producer masked is left as it is, a word beside a value is no mask', () => {
  for (const masked of [
    'REDACTED',
    'KEY=REDACTED',
    'AKIA****MPLE',
    'pass: ********',
    '[redacted]',
  ]) {
    assert.equal(isMasked(masked), true, masked);
  }
  for (const open of ['hunter2', 'ghp_0123456789abcdef # hidden', 'AKIAIOSFODNN7EXAM...', 'x']) {
    assert.equal(isMasked(open), false, open);
  }
});

test('credentials are known by name in any spelling, other members are not', () => {
  for (const name of [
    'Authorization',
    'Set-Cookie',
    'X-API-Key',
    'api_key',
    'clientSecret',
    'TOKEN',
  ]) {
    assert.equal(isCredentialName(name), true, name);
  }
  for (const name of ['secret_type', 'tokens_count', 'author', 'content-type', '']) {
    assert.equal(isCredentialName(name), false, name);
  }
});

test('values after credential names and repeats of a secret are masked in texts', () => {
  assert.equal(maskAssignments('a=1&password=hunter2&b=2'), 'a=1&password=***&b=2');
  assert.equal(
    maskAssignments('{"access_token": "abc", "x": 1}'),
    '{"access_token": "***", "x": 1}',
  );
  assert.equal(maskOccurrences('see hunter2hunter2 here', 'hunter2hunter2'), 'see hun***er2 here');
});
