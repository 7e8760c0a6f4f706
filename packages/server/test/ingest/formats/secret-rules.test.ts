// Findings of secrets by tools that look for many other things, too (Semgrep, Checkov, KICS,
// CodeQL): names and classes of their rules tell such findings, whose values are hidden. Other
// rules that name secrets keep their type.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maskForms } from '../../../src/ingest/redact/credential-forms.rules.ts';
import { rejectedItemText } from '../../../src/ingest/redact/rejected-item.rules.ts';
import {
  at,
  ctis,
  decode,
  decodeCtis,
  drafts,
  onlyDraft,
  oneResult,
  type ReadDraft,
} from './readers.ts';

interface Rule {
  readonly id: string;
  readonly [name: string]: unknown;
}

const TOKEN = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a';
const AWS = 'AKIAIOSFODNN7EXAMPLE';

/** A result of a rule, with a snippet and a message that quote the value. */
function found(tool: string, rule: Rule, value = TOKEN, line?: string): ReadDraft {
  const region = { startLine: 3, snippet: { text: line ?? `token = "${value}"` } };
  return oneResult(
    { ruleId: rule.id, message: { text: `found ${value}` }, locations: [at('src/a.js', region)] },
    {},
    { name: tool, rules: [rule] },
  );
}

const tags = (...named: string[]): object => ({ properties: { tags: named } });

const SECRET_RULES: readonly [string, Rule][] = [
  ['Semgrep OSS', { id: 'generic.secrets.security.detected-github-token.detected-github-token' }],
  ['Semgrep OSS', { id: 'python.flask.x', ...tags('CWE-798: Use of Hard-coded Credentials') }],
  ['checkov', { id: 'CKV_SECRET_43', name: 'GitHub Token' }],
  [
    'KICS',
    { id: 'f996f3cb-00fc-480c-8973-8ab04d44a8cc', name: 'Passwords And Secrets - Generic Token' },
  ],
  ['CodeQL', { id: 'js/hardcoded-credentials', ...tags('external/cwe/cwe-259') }],
  [
    'SonarQube',
    { id: 'java:S2068', shortDescription: { text: 'Credentials should not be hard-coded' } },
  ],
  ['mobsfscan', { id: 'hardcoded_api_key' }],
  ['x', { id: 'NoHardcodedPasswords' }],
  ['x', { id: 'leaked-api-key' }],
  // For these rules only the found value decides.
  ['x', { id: 'aws-access-token' }],
];

for (const [tool, rule] of SECRET_RULES) {
  test(`what ${tool} finds by ${rule.id} is a secret, and hidden`, () => {
    const draft = found(tool, rule);
    assert.equal(draft.type, 'secret');
    assert.equal(draft.identity.kind, 'secret');
    const { identity: _, ...shown } = draft;
    assert.ok(!JSON.stringify(shown).includes(TOKEN), JSON.stringify(shown));
    assert.deepEqual([draft.path, draft.startLine], ['src/a.js', 3]);
  });
}

test('a value that only the message of a rule about secrets quotes is hidden', () => {
  const text = 'The hard-coded value "correcthorsebattery" is used as password.';
  const rule = { id: 'js/hardcoded-credentials' };
  const more = { ruleId: rule.id, message: { text }, locations: [at('a.js', { startLine: 3 })] };
  const draft = oneResult(more, {}, { rules: [rule] });
  assert.equal(draft.message, 'The hard-coded value "corr***tery" is used as password.');
});

const OTHER_RULES: readonly [string, Rule][] = [
  ['Semgrep OSS', { id: 'javascript.jsonwebtoken.security.jwt-none-alg' }],
  ['Semgrep OSS', { id: 'python.django.security.csrf-token-missing' }],
  [
    'checkov',
    {
      id: 'CKV_K8S_35',
      name: 'Prefer using secrets as files over secrets as environment variables',
    },
  ],
  ['CodeQL', { id: 'js/clear-text-logging', ...tags('external/cwe/cwe-312') }],
  ['Grype', { id: 'CVE-2024-1234', ...tags('CWE-798') }],
  ['x', { id: 'CVE-2024-1234-app', name: 'Hard-coded password in app' }],
  ['x', { id: 'hardcoded-ip-address' }],
];

for (const [tool, rule] of OTHER_RULES) {
  test(`what ${tool} finds by ${rule.id} is no secret, and keeps its snippet`, () => {
    const draft = found(tool, rule, 'x', 'verify(token, user.key)');
    assert.notEqual(draft.type, 'secret');
    assert.match(JSON.stringify(draft.detail), /verify\(token, user\.key\)/);
  });
}

/** Members of the result itself that classify it, where its rule doesn't. */
const OWN: readonly object[] = [
  { taxa: [{ id: '259', toolComponent: { name: 'CWE' } }] },
  { properties: { cwe: 'CWE-798' } },
  tags('external/cwe/cwe-321'),
  tags('Secret'),
];

test('a result that is classified as a secret is one, though its rule says nothing of it', () => {
  const region = { startLine: 3, snippet: { text: 'pw = "pinadokuve"' } };
  const text = 'Hardcoded "pinadokuve" used';
  for (const own of OWN) {
    const more = { message: { text }, locations: [at('a.js', region)], ...own };
    const { identity, ...shown } = oneResult(more);
    assert.deepEqual([shown.type, identity.kind], ['secret', 'secret'], JSON.stringify(own));
    assert.ok(!JSON.stringify(shown).includes('pinadokuve'), JSON.stringify(shown));
  }
});

test('a published vulnerability or a finding on a site is no secret in a file, however it is classified', () => {
  const taxa = [{ id: '798', toolComponent: { name: 'CWE' } }];
  assert.equal(oneResult({ ruleId: 'CVE-2024-1234', taxa }).type, 'vulnerability');
  assert.equal(
    oneResult({ taxa, locations: [at('https://a.example.com/')] }).type,
    'vulnerability',
  );
  const { type } = oneResult({ taxa: [{ id: '79', toolComponent: { name: 'CWE' } }] });
  assert.equal(type, 'vulnerability');
});

test('hard-coded credentials of a site are known by their address', () => {
  const more = { ruleId: 'hardcoded-credentials', locations: [at('https://a.example.com/login')] };
  assert.equal(oneResult(more).identity.kind, 'web');
});

/** A CTIS finding that repeats a value in members of all kinds. */
const repeating = (value: string): object => ({
  type: 'secret',
  title: `Key ${value} found`,
  message: `the key is ${value}`,
  rule_id: `rule-${value}`,
  tags: [`tag-${value}`],
  references: [`https://example.com/${value}`],
  location: { path: `keys/${value}`, start_line: 3 },
  secret: { secret_type: 'token', masked_value: `${value.slice(0, 4)}***` },
  properties: { note: `x ${value}`, [`about ${value}`]: 1 },
});

for (const value of [TOKEN, AWS]) {
  test(`a CTIS finding of a secret shows no ${value.slice(0, 4)}…, whatever its mask tells of it`, () => {
    const report = decodeCtis(ctis([repeating(value)]));
    const { identity: _, ...shown } = onlyDraft(report);
    assert.ok(!JSON.stringify(shown).includes(value), JSON.stringify(shown));
    assert.ok(!JSON.stringify(report.warnings).includes(value));
    assert.equal(shown.title, `Key ${value.slice(0, 4)}***${value.slice(-4)} found`);
  });
}

test('a CTIS finding of a rule about secrets is hidden whatever its type is', () => {
  const location = { path: 'a.js', start_line: 3, snippet: `token = "${TOKEN}"` };
  const rule_id = 'generic.secrets.security.detected-github-token';
  const finding = {
    type: 'vulnerability',
    title: `found ${TOKEN}`,
    rule_id,
    severity: 'high',
    location,
  };
  const draft = onlyDraft(decodeCtis(ctis([finding])));
  const { identity, ...shown } = draft;
  assert.deepEqual([draft.type, identity.kind], ['vulnerability', 'secret']);
  assert.ok(!JSON.stringify(shown).includes(TOKEN), JSON.stringify(shown));
  const packaged = { cve_id: 'CVE-2024-1', cwe_ids: ['CWE-798'], package: 'a' };
  const vulnerable = onlyDraft(decodeCtis(ctis([{ ...finding, vulnerability: packaged }])));
  assert.notEqual(vulnerable.identity.kind, 'secret');
});

test('a CTIS finding is about a secret if its title or a tag says so', () => {
  const location = { path: 'a.js', start_line: 3, snippet: 'pw = "pinadokuve"' };
  const finding = { type: 'vulnerability', title: 'T', rule_id: 'X100', severity: 'low', location };
  for (const more of [
    { title: 'Hardcoded password in source' },
    { tags: ['secret'] },
    { tags: ['a', 'Secrets'] },
  ]) {
    const { identity, ...shown } = onlyDraft(decodeCtis(ctis([{ ...finding, ...more }])));
    assert.equal(identity.kind, 'secret');
    assert.ok(!JSON.stringify(shown).includes('pinadokuve'), JSON.stringify(shown));
  }
  const network = { host: 'h', port: 80 };
  const onHost = { ...finding, network, tags: ['secret'] };
  assert.notEqual(onlyDraft(decodeCtis(ctis([onHost]))).identity.kind, 'secret');
});

test('ordinary words and addresses stay readable in a CTIS finding of a secret', () => {
  const url = 'https://docs.example.com/UserGuide/id_credentials2/Using_CreateAccessKeyV4.html';
  const title = 'AWS access key found in configuration_of_the_application';
  const finding = {
    type: 'secret',
    title,
    location: { path: 'src/Config2Of/TheVeryLongNamed/App.java' },
  };
  const draft = onlyDraft(decodeCtis(ctis([{ ...finding, references: [url] }])));
  assert.equal(draft.title, title);
  assert.equal(draft.path, finding.location.path);
  assert.ok(JSON.stringify(draft.detail).includes(url));
});

test('a rejected item shows no credential, in whatever member it stands', () => {
  const random = 'dXNlcjpwYXNzd29yZDEyMzQ1Njc4OTBBQkNERUY5';
  const hex = '9f86d081884c7d659a2feaa0c55ad015';
  for (const value of [TOKEN, AWS, random, hex]) {
    const items = [value, { properties: { note: `x ${value}` } }, [`see ${value}`], { [value]: 1 }];
    for (const item of items) {
      const text = rejectedItemText(item);
      assert.ok(!text.includes(value), text);
    }
    // Where a long text is cut, a part of the value may stand.
    const cut = rejectedItemText(`${`${'y'.repeat(19)} `.repeat(39)}${'y'.repeat(8)} ${value}`);
    assert.ok(!cut.includes(value.slice(0, 9)), cut);
  }
  const [item] = decode('sarif', { version: '2.1.0', runs: [{ results: [TOKEN] }] }).items();
  assert.equal(item?.outcome, 'rejected');
  assert.equal(drafts(decode('ctis', ctis([TOKEN]))).length, 0);
});

test('a text made only of beginnings of tokens is read once, and stays as it is', () => {
  // If each beginning started a new look through the text, this would take minutes.
  const text = 'eyJ-'.repeat(1_000_000);
  assert.ok(maskForms(text) === text);
  const token = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmN';
  assert.equal(maskForms(`eyJ-${token}`), 'eyJ-eyJh***jVmN');
});

test('links and messages of any SARIF finding bring no credentials with them', () => {
  const link = 'https://user:pw123456@ci.example.com/x?run=7&token=abc123def#L3';
  const text = 'login with password=abc123def fails, see https://user:pw123456@ci.example.com/y';
  const message = { text, markdown: `**${text}**` };
  const place = { ...(at('src/a.js', { startLine: 3 }) as object), message };
  const draft = oneResult(
    {
      message,
      hostedViewerUri: link,
      workItemUris: [link],
      locations: [place],
      relatedLocations: [place],
      suppressions: [{ kind: 'external', justification: text }],
      codeFlows: [{ message, threadFlows: [{ message, locations: [{ location: place }] }] }],
      fixes: [{ description: message, artifactChanges: [] }],
      properties: { link },
    },
    {},
    {
      rules: [
        {
          id: 'r',
          helpUri: link,
          shortDescription: { text },
          fullDescription: { text: `see ${text}` },
        },
      ],
    },
  );
  const { identity: _, ...shown } = draft;
  assert.doesNotMatch(JSON.stringify(shown), /abc123def|pw123456/);
  assert.match(draft.title, /^login with password=\*\*\*/);
  const { hosted_viewer_uri, rule } = draft.detail as Record<string, unknown>;
  assert.equal(hosted_viewer_uri, 'https://ci.example.com/x?run=7&token=***#L3');
  const description = 'see login with password=*** fails, see https://***@ci.example.com/y';
  assert.deepEqual(rule, { description, help_uri: hosted_viewer_uri });
});
