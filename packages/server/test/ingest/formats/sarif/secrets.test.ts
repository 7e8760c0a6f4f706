// Findings of secrets in the shapes that tools write: they show neither the value that identifies
// them nor any other value.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { at, decodeSarif, oneResult, onlyDraft, type ReadDraft, sarif } from '../readers.ts';

const VALUE = 'ghp_0123456789abcdefABCDEF';
/** A value that only its place in the result tells to be one. */
const OTHER = 'correcthorsebatterystaple';

const shownOf = (draft: ReadDraft): string => JSON.stringify({ ...draft, identity: null });

const secretOf = (name: string, more: object, run: object = {}): ReadDraft =>
  oneResult(more, run, { name });

function assertHidden(draft: ReadDraft, values: readonly string[]): void {
  assert.equal(draft.type, 'secret');
  for (const value of values) {
    assert.ok(!shownOf(draft).includes(value), `${value} is shown in ${shownOf(draft)}`);
  }
}

/**
 * Results as the tools write them. The first value identifies the finding; no value may be seen.
 */
const SHAPES: [string, object, readonly string[]][] = [
  [
    'gitleaks',
    {
      message: { text: `github-pat has detected secret for file a.env at commit deadbeef.` },
      locations: [at('a.env', { startLine: 2, startColumn: 3, snippet: { text: VALUE } })],
      partialFingerprints: { commitSha: 'deadbeef', author: 'ada', email: '', date: '' },
      properties: { tags: ['key'] },
    },
    [VALUE],
  ],
  [
    'gitleaks',
    {
      message: { text: `Github secret detected: ${OTHER}` },
      locations: [at('a.env', { startLine: 2 })],
      properties: { line: `password = "${OTHER}"`, offender: VALUE, commit: 'a'.repeat(40) },
    },
    [VALUE, OTHER],
  ],
  [
    'TruffleHog',
    {
      message: { text: 'Found verified Github result' },
      locations: [at('a.env', { startLine: 2 })],
      properties: {
        Raw: VALUE,
        RawV2: `${VALUE}:${OTHER}`,
        Redacted: '',
        ExtraData: { rotation_guide: 'https://x.test/how', account_token: OTHER },
        DetectorName: 'Github',
        Verified: true,
      },
    },
    [VALUE, OTHER],
  ],
  [
    'ggshield',
    {
      message: { text: 'Secret detected: Username Password\nValidity: valid' },
      locations: [at('a.env', { startLine: 2, snippet: { text: VALUE } })],
      relatedLocations: [
        {
          ...(at('a.env', { startLine: 2, snippet: { text: OTHER } }) as object),
          message: { text: 'password' },
        },
      ],
      partialFingerprints: { 'secret/v1': 'b'.repeat(64) },
      properties: { validity: 'valid', knownSecret: 'true' },
    },
    [VALUE, OTHER],
  ],
  [
    'detect-secrets-secret-scan',
    {
      locations: [at('a.env', { startLine: 2 })],
      properties: { type: 'Secret Keyword', hashed_secret: '0a1b'.repeat(10), is_verified: false },
    },
    ['0a1b0a1b'],
  ],
  [
    'Kingfisher',
    {
      message: { text: `Rule GitHub found ${VALUE}` },
      locations: [at('a.env', { startLine: 2, snippet: { text: `token = ${VALUE}` } })],
      fingerprints: { fp: VALUE, [VALUE]: 'x' },
    },
    [VALUE],
  ],
];

test('no tool’s finding of a secret shows a value, and each keeps file, line and rule', () => {
  for (const [name, shape, values] of SHAPES) {
    const draft = secretOf(name, shape);
    assertHidden(draft, values);
    assert.deepEqual([draft.path, draft.startLine, draft.ruleId], ['a.env', 2, 'r'], name);
  }
});

test('what is said about a secret stays: type, validity, commit, message', () => {
  const [, seven, hog, shield] = SHAPES.map(([name, shape]) => secretOf(name, shape));
  assert.equal(seven?.message, 'Github secret detected: corr***aple');
  assert.deepEqual(seven?.detail.properties, {
    line: '***',
    offender: '***',
    commit: 'a'.repeat(40),
  });
  assert.equal(hog?.ruleId, 'r');
  assert.ok(shownOf(hog).includes('"DetectorName":"Github"'));
  assert.deepEqual(shield?.detail.properties, { validity: 'valid', knownSecret: 'true' });
  assert.deepEqual(shield?.fingerprints, { 'secret/v1': 'b'.repeat(64) });
});

test('a different secret is hidden wherever a result can hold one', () => {
  const text = (value: string) => ({ text: value });
  const place = at('b.env', { startLine: 1, snippet: text(OTHER) });
  const location = { ...(place as object), properties: { note: OTHER } };
  const edit = { deletedRegion: { startLine: 1 }, insertedContent: text(`PASSWORD=${OTHER}`) };
  const draft = secretOf(
    'gitleaks',
    {
      message: { text: `m ${OTHER}` },
      locations: [at('a.env', { startLine: 2, snippet: text(VALUE) }), location],
      relatedLocations: [location],
      codeFlows: [{ threadFlows: [{ locations: [{ location }, { index: 0 }] }] }],
      stacks: [{ frames: [{ location }] }],
      fixes: [
        {
          description: text(`use ${OTHER}`),
          artifactChanges: [{ artifactLocation: { uri: 'b.env' }, replacements: [edit] }],
        },
      ],
      attachments: [{ artifactLocation: { uri: 'b.env' }, contents: text(OTHER) }],
      webRequest: { method: 'POST', headers: { 'X-Note': OTHER }, body: text(OTHER) },
      webResponse: { index: 0 },
      suppressions: [{ kind: 'external', justification: `it is ${OTHER}` }],
      properties: { rawSecret2: OTHER, list: { db_passwords: [OTHER, { deep: OTHER }], pin: 1 } },
      secondSecret: { any: OTHER },
    },
    {
      threadFlowLocations: [{ location }],
      webResponses: [{ statusCode: 200, headers: { 'X-Note': OTHER }, body: text(OTHER) }],
    },
  );
  assertHidden(draft, [VALUE, OTHER]);
  assert.deepEqual(draft.detail.unknown, { secondSecret: '***' });
  assert.equal(draft.detail.web_response !== undefined, true);
});

test('a text in the form of a credential is hidden though nothing calls it one', () => {
  const values = [
    `AKIA${'Q7'.repeat(8)}`,
    `xoxb-${'1a'.repeat(10)}`,
    `glpat-${'Ab1'.repeat(7)}`,
    `eyJhbGciOiJI.eyJzdWIiOiIx.${'s'.repeat(20)}`,
    'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEX1MPLEKEY',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKC',
  ];
  for (const value of values) {
    const draft = secretOf('gitleaks', {
      message: { text: `see ${value}` },
      locations: [at('a.env', { startLine: 2 })],
      properties: { note: value, [value]: 1 },
    });
    assertHidden(draft, [value.split('\n').at(-1) ?? value]);
  }
  const address = secretOf('gitleaks', { properties: { note: 'https://ada:hunter2@x.test/a' } });
  assertHidden(address, ['hunter2']);
});

test('ordinary words, paths and ids stay readable in a finding of a secret', () => {
  const message = 'Generic API key in src/main/resources/application.properties, rule AWS-12.';
  const id = '99999999-8888-7777-6666-000000000000';
  const draft = secretOf('gitleaks', { message: { text: message }, guid: id, properties: { id } });
  assert.equal(draft.message, message);
  assert.equal(draft.detail.producer_id, id);
  assert.deepEqual(draft.detail.properties, { id });
});

test('findings that are not about secrets keep their snippets, properties and unknown members', () => {
  const draft = oneResult({
    locations: [at('a.c', { startLine: 1, snippet: { text: OTHER } })],
    properties: { line: OTHER },
    own: OTHER,
  });
  assert.deepEqual(draft.detail.properties, { line: OTHER });
  assert.deepEqual(draft.detail.unknown, { own: OTHER });
});

test('columns of a secret’s places are counted in the line, not in its mask', () => {
  const around = { startLine: 1, snippet: { text: '😀=hunter2hunter2' } };
  const run = { columnKind: 'unicodeCodePoints' };
  const locations = ['a.env', 'b.env'].map((uri) => ({
    physicalLocation: {
      artifactLocation: { uri },
      region: { startLine: 1, startColumn: 3 },
      contextRegion: around,
    },
  }));
  const draft = secretOf('gitleaks', { locations }, run);
  const columns = (draft.detail.locations as { start_column: number }[]).map(
    (one) => one.start_column,
  );
  assert.deepEqual(columns, [4, 4]);
});

test('a value beside a name of credentials is hidden whatever it is and however deep it lies', () => {
  const value = fc.stringMatching(/^[a-z]{12,30}$/);
  const name = fc.constantFrom('rawSecret2', 'db_password', 'TokenValue', 'apiKeys', 'Credential');
  fc.assert(
    fc.property(value, name, fc.nat(4), (secret, credential, depth) => {
      let properties: unknown = { [credential]: [secret] };
      for (let level = 0; level < depth; level += 1) properties = { more: properties };
      const report = decodeSarif(
        sarif([{ message: { text: `m ${secret}` }, properties }], {}, { name: 'gitleaks' }),
      );
      assertHidden(onlyDraft(report), [secret]);
    }),
  );
});

test('names that a place takes from the tables of its run show no secret either', () => {
  const logicalLocations = [
    { fullyQualifiedName: `config.${VALUE}` },
    { name: OTHER, parentIndex: 2 },
    { name: 'vault' },
  ];
  const addresses = [{ fullyQualifiedName: `mem!${VALUE}` }];
  const physicalLocation = {
    artifactLocation: { uri: 'a.env' },
    region: { startLine: 2, snippet: { text: `password = "${OTHER}" # ${VALUE}` } },
    address: { index: 0 },
  };
  const place = { physicalLocation, logicalLocations: [{ index: 0 }, { index: 1 }] };
  const threadFlows = [{ locations: [{ index: 0 }] }];
  const draft = secretOf(
    'gitleaks',
    { locations: [place], codeFlows: [{ threadFlows }] },
    { logicalLocations, addresses, threadFlowLocations: [{ location: place, module: VALUE }] },
  );
  assertHidden(draft, [VALUE, OTHER]);
  assert.match(shownOf(draft), /vault/);
});
