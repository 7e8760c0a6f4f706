// The masks of secrets and credentials: they never show enough to use the value.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { boundedCopy, newBudget } from '../../../src/ingest/formats/common/bounded.decode.ts';
import {
  isCredentialName,
  isMasked,
  maskAssignments,
  maskOccurrences,
  maskSaid,
  maskSnippet,
  maskValue,
} from '../../../src/ingest/redact/masking.rules.ts';
import { Warnings } from '../../../src/ingest/json/warnings.decode.ts';

test('a masked value shows at most four characters at an end and at most half of itself', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9+/=_-]{0,60}$/), (value) => {
      const shown = maskValue(value).replace('***', '');
      assert.ok(shown.length <= 8 && shown.length * 2 <= value.length);
    }),
  );
});

test('only the name of the value stays in a snippet, whatever comes after it', () => {
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
    'X-Auth',
    'X-Session',
    'DB_PASSWORD',
    'refreshTokens',
    'jwt',
    'PHPSESSID',
  ]) {
    assert.equal(isCredentialName(name), true, name);
  }
  for (const name of [
    'secret_type',
    'tokens_count',
    'author',
    'content-type',
    'tokenUrl',
    'authority',
    'passed',
    '',
  ]) {
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

test('nothing is left of a credential, whatever its value is made of', () => {
  const long = 'x'.repeat(700);
  for (const [text, shown] of [
    ['Cookie: a=1; sid=SECRET\r\nHost: h', 'Cookie: ***\r\nHost: h'],
    ['Set-Cookie: a=1; Path=/; b=SECRET', 'Set-Cookie: ***'],
    [`Authorization: Bearer ${long}\nHost: h`, 'Authorization: ***\nHost: h'],
    [`x_token=${long}&b=2`, 'x_token=***&b=2'],
    ['Authorization: Digest username="bob", response="SECRET"', 'Authorization: ***'],
    ['{"password":"a\\",b;c","x":1}', '{"password":"***","x":1}'],
    ['{\\"password\\":\\"hunter2\\",\\"x\\":1}', '{\\"password\\":\\"***\\",\\"x\\":1}'],
    ['{\\"password\\":\\"\\",\\"x\\":1}', '{\\"password\\":\\"\\",\\"x\\":1}'],
    ['<password>x</password>', '<password>***</password>'],
    ['<a:apiKey b="c"><![CDATA[x]]></a:apiKey>', '<a:apiKey b="c">***</a:apiKey>'],
    ['curl -u bob:hunter2 https://h/', 'curl -u bob:*** https://h/'],
    ['curl --user "bob:hunter 2" https://h/', 'curl --user "bob:***" https://h/'],
    ['scan --token SECRET --verbose', 'scan --token *** --verbose'],
    ['scan -password "a b" x --api-key \'c\'', 'scan -password *** x --api-key ***'],
    ['run "--db-password SECRET"', 'run "--db-password ***"'],
    ['scan --token " "token x', 'scan --token *** x'],
    ['--token-type bearer --token --force', '--token-type bearer --token --force'],
    ['GET https://bob:hunter2@h/x', 'GET https://***@h/x'],
    ['author: Ada; X-Auth: abc; b', 'author: Ada; X-Auth: ***; b'],
    ['-----BEGIN PRIVATE KEY-----\nMII\n-----END', '-----BEGIN PRIVATE KEY-----***-----END'],
  ] as const) {
    assert.equal(maskAssignments(text), shown);
  }
});

/** Texts by which credentials are found, in any order. */
const marks = `token password= --token Cookie: auth -u " -u " " ' \\" \\ = : := :// @ / < > <token> <![CDATA[ , ; & - a 1`;
const piece = fc.constantFrom(' ', '\t', '\n', '-----BEGIN PRIVATE KEY-----', ...marks.split(' '));

test('masking what is masked changes nothing', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 24 }), (pieces) => {
      const once = maskAssignments(pieces.join(''));
      assert.equal(maskAssignments(once), once);
    }),
    { numRuns: 2000 },
  );
});

test('a text made only of the marks of credentials is masked, however long it is', () => {
  // If a step took the square of the length, one of these would take minutes.
  fc.assert(
    fc.property(piece, piece, piece, (first, second, third) => {
      const text = first + second.repeat(50_000) + third.repeat(50_000);
      assert.ok(maskAssignments(text).length > 0);
    }),
    { numRuns: 60 },
  );
});

test('a credential’s name hides every value under it, except a yes or no', () => {
  const shown = (value: object) => boundedCopy(value, new Warnings(), newBudget());
  const key = 'AKIAIOSFODNN7EXAMPLE';
  for (const value of [
    { secret: { value: key } },
    { tokens: [key] },
    { password: ['x'] },
    { pwd: 1234 },
    { env: [{ key: 'DB_PASSWORD', value: 'x' }] },
    { headers: [{ Name: 'X-Session', Value: { text: 'x' } }] },
  ]) {
    const text = JSON.stringify(shown(value));
    assert.match(text, /\*\*\*/);
    assert.doesNotMatch(text, /AKIA|"x"|1234/);
  }
  const plain = {
    secret_type: 'jwt',
    has_password: true,
    web3: { chain: 'ethereum', token: { symbol: 'T' } },
    match: [{ matcher: 'word' }],
  };
  assert.deepEqual(shown(plain), plain);
});

test('in a sentence a value assigned to a credential is masked, and other words about it stay', () => {
  const said: Readonly<Record<string, string>> = {
    'Found password=hunter2 in a.env': 'Found password=*** in a.env',
    'api_key:"a b" and token: \'c d\'.': 'api_key:"***" and token: \'***\'.',
    'Authorization: Bearer abc.def-1, then': 'Authorization: Bearer ***, then',
    'https://ada:pw@db.example.com/x': 'https://***@db.example.com/x',
    'Password: too short': 'Password: too short',
    'auth::Token::new is unsafe': 'auth::Token::new is unsafe',
    'Secret: AWS key': 'Secret: AWS key',
    'token := abc, token = abc, token=abc': 'token := ***, token = ***, token=***',
    'if token == null or token === undefined': 'if token == null or token === undefined',
    'token != null, token=>token.id, token => 1': 'token != null, token=>token.id, token => 1',
    "password == \"hunter2\", 'token' => 'abc'": "password == \"***\", 'token' => '***'",
  };
  for (const [text, shown] of Object.entries(said)) {
    assert.equal(maskSaid(text), shown);
    assert.equal(maskSaid(shown), shown, 'repeating it changes nothing');
  }
});
