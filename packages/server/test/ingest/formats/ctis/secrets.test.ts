// A secret's value never gets past the reader (CTIS §2.5, §2.9; contract §6): wherever a report has
// it, it is in no column, no detail, no warning and no rejection. It only reaches the content of
// the finding's identity, which is hashed with a key.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { hiddenOf, valueAt } from '../../../../src/ingest/formats/ctis/secrets.decode.ts';
import { decodeCtis, ctis, onlyDraft } from '../readers.ts';

/** Shapes of real secrets: tokens with digits, passwords with odd characters, Base64. */
const secretValue = fc.oneof(
  fc.stringMatching(/^[A-Z]{4}[A-Z0-9]{8}[0-9]{4}$/),
  fc.stringMatching(/^ghp_[A-Za-z0-9]{16}[0-9]{4}$/),
  fc.stringMatching(/^[a-z]{4}[!#$%@+][A-Za-z0-9]{4,12}[0-9]{2}$/),
  fc.stringMatching(/^[A-Za-z0-9+/]{22}==$/),
);

/** The snippets that scanners show for a secret. */
const SNIPPETS: readonly ((value: string) => string)[] = [
  (value) => value,
  (value) => `AWS_KEY = "${value}"`,
  (value) => `export TOKEN=${value}`,
  (value) => `  password: '${value}'  # change me`,
  (value) => `const client = connect("db", "${value}");`,
  (value) => `curl -H "Authorization: Bearer ${value}" https://api.example.com`,
  (value) => `-----BEGIN KEY-----\n${value}\n-----END KEY-----`,
];

/** A finding that has the value in every member where a text may stand. */
function tellingFinding(value: string, snippet: string): object {
  const said = `it is ${value}, really`;
  return {
    id: 'f1',
    type: 'secret',
    title: said,
    message: said,
    description: said,
    severity: 'high',
    rule_id: 'generic-key',
    rule_name: said,
    evidence: said,
    impact: value,
    confidence: value,
    location: {
      path: 'backup/db.env',
      start_line: 3,
      snippet,
      context_snippet: `# before\n${snippet}\n# after`,
      logical_location: { name: said },
    },
    related_locations: [{ path: 'b', start_line: 1, snippet }],
    data_flow: { sources: [{ path: 'a', line: 1, content: snippet, label: said }], summary: said },
    stacks: [
      { message: said, frames: [{ location: { path: 'a', snippet }, parameters: [value] }] },
    ],
    attachments: [{ description: said, regions: [{ path: 'a', snippet }] }],
    secret: { secret_type: 'api_key', masked_value: value, value, service: said, raw: value },
    suppression: { justification: said },
    references: [`https://example.com/${encodeURIComponent(value)}`],
    tags: [value],
    category: said,
    remediation: { recommendation: said, steps: [said] },
    source_extra: { seen: said },
    properties: { deep: [{ seen: said }] },
    unheard_of: said,
    evidence_items: [{ kind: 'raw_text', text: said }],
  };
}

/** Everything of a decoded report that is stored or shown. */
function visibleText(document: unknown): string {
  const report = decodeCtis(document, {});
  const items = [...report.items()].map((item) =>
    item.outcome === 'finding' ? { ...item.draft, identity: item.draft.identity.kind } : item,
  );
  const { assets, components, endpoints, relationships, warnings } = report;
  return JSON.stringify({ items, assets, components, endpoints, relationships, warnings });
}

function expectHidden(text: string, value: string): void {
  const forms = [value, JSON.stringify(value).slice(1, -1), encodeURIComponent(value)];
  for (const form of forms) assert.ok(!text.includes(form), `${form} shows in ${text}`);
}

test('the value of a secret finding is nowhere to be seen, however the report repeats it', () => {
  fc.assert(
    fc.property(secretValue, fc.nat(SNIPPETS.length - 1), (value, which) => {
      const snippet = (SNIPPETS[which] ?? String)(value);
      const document = ctis([tellingFinding(value, snippet)]);
      expectHidden(visibleText(document), value);
      const { identity } = onlyDraft(decodeCtis(document, {}));
      assert.equal(identity.kind, 'secret');
      assert.ok(identity.content.join('').includes(value), 'the identity rests on the value');
    }),
    { numRuns: 300 },
  );
});

test('what an evidence item marks as sensitive is nowhere to be seen, in any type of finding', () => {
  const kinds = fc.constantFrom('vulnerability', 'misconfiguration', 'compliance', 'web3');
  fc.assert(
    fc.property(secretValue, kinds, fc.boolean(), (value, type, isRange) => {
      const body = `before ${value} after`;
      const start = Buffer.byteLength('before ');
      const range = isRange ? { start, end: start + Buffer.byteLength(value) } : {};
      const item = {
        kind: 'http_exchange',
        http: { request: { url: 'https://h/', body }, response: { status: 200, body: value } },
        extracted: [`found ${value}`],
        sensitive: [
          { pointer: '/http/request/body', ...range },
          { pointer: '/http/response/body' },
          { pointer: '/extracted/0' },
        ],
      };
      const said = `token ${value} works`;
      const finding = {
        type,
        title: said,
        message: said,
        severity: 'high',
        evidence: said,
        description: said,
        impact: value,
        properties: { said },
        evidence_items: [item],
      };
      expectHidden(visibleText(ctis([finding])), value);
    }),
    { numRuns: 200 },
  );
});

test('the rejection of a finding without title, message and rule doesn’t show its secret', () => {
  const value = 'AKIAIOSFODNN7EXAMPLE';
  const finding = { type: 'secret', severity: value, location: { snippet: value } };
  const text = visibleText(ctis([finding]));
  assert.ok(text.includes('title_missing'));
  expectHidden(text, value);
});

const shownItems = (item: object): unknown => {
  const finding = { type: 'vulnerability', title: 'T', severity: 'low', evidence_items: [item] };
  const report = decodeCtis(ctis([finding]), {});
  const { ctis: rest } = onlyDraft(report).detail as { ctis?: { evidence_items?: unknown } };
  return rest?.evidence_items;
};

test('credentials in requests and outputs of evidence are masked by their names', () => {
  const request = {
    url: 'https://h/login?token=abc123def&x=1',
    headers: [
      { name: 'Authorization', value: 'Bearer abcdef1234' },
      { name: 'Accept', value: 'text/html' },
    ],
    body: 'user=ada&password=hunter2',
  };
  assert.deepEqual(shownItems({ kind: 'http_exchange', http: { request } }), [
    {
      kind: 'http_exchange',
      http: {
        request: {
          url: 'https://h/login?token=***&x=1',
          headers: [
            { name: 'Authorization', value: '***' },
            { name: 'Accept', value: 'text/html' },
          ],
          body: 'user=ada&password=***',
        },
      },
    },
  ]);
});

test('a mark that leads nowhere hides the texts of its item; encoded bodies are not shown', () => {
  const text = 'whatever was sensitive here';
  assert.deepEqual(shownItems({ kind: 'raw_text', text, sensitive: [{ pointer: '/nowhere' }] }), [
    { kind: 'raw_text', sensitive: [{ pointer: '/nowhere' }] },
  ]);
  assert.deepEqual(shownItems({ kind: 'raw_text', text, sensitive: [{ pointer: '/text' }] }), [
    { kind: 'raw_text', text: '***', sensitive: [{ pointer: '/text' }] },
  ]);
  const response = { body: 'cGFzc3dvcmQ9aHVudGVyMg==', body_encoding: 'base64' };
  assert.deepEqual(shownItems({ kind: 'http_exchange', http: { response } }), [
    { kind: 'http_exchange', http: { response: { body: '…', body_encoding: 'base64' } } },
  ]);
});

test('pointers lead where RFC 6901 says, and to nothing else', () => {
  const item = { 'a/b': [{ '~x': 'found' }], list: [1] };
  assert.equal(valueAt(item, '/a~1b/0/~0x'), 'found');
  for (const pointer of ['', 'a', '/list/length', '/list/00', '/list/-', '/toString', '/a~1b/1']) {
    assert.equal(valueAt(item, pointer), undefined, pointer);
  }
});

test('a value that can’t be an ordinary word is masked in identifiers, too', () => {
  const value = 'AKIAIOSFODNN7EXAMPLE';
  const location = { path: `dump/${value}.txt`, start_line: 1, snippet: value };
  const finding = {
    type: 'secret',
    title: 'T',
    severity: 'high',
    location,
    fingerprint: `a:${value}`,
  };
  const { path, baseFingerprint } = onlyDraft(decodeCtis(ctis([finding]), {}));
  assert.deepEqual([path, baseFingerprint], ['dump/AKIA***MPLE.txt', 'a:AKIA***MPLE']);
});

test('findings without secrets and evidence hide nothing', () => {
  assert.equal(hiddenOf({ type: 'vulnerability', title: 'T', evidence: 'x' }), null);
  assert.equal(hiddenOf({ type: 'vulnerability', secret: { masked_value: '', length: 0 } }), null);
});

test('what the producer masked is left as it is, and rule and path keep their words', () => {
  const finding = {
    type: 'secret',
    title: 'A password in config2024.yml',
    severity: 'high',
    rule_id: 'hardcoded-string-password',
    location: { path: 'config2024.yml', start_line: 1, snippet: 'load("config2024.yml"): string' },
    secret: { masked_value: 'AKIA****MPLE' },
  };
  const { ruleId, path, detail } = onlyDraft(decodeCtis(ctis([finding]), {}));
  assert.deepEqual([ruleId, path], ['hardcoded-string-password', 'config2024.yml']);
  assert.deepEqual(detail.secret, { masked_value: 'AKIA****MPLE' });
});

test('no URL brings credentials with it, wherever it stands', () => {
  const url = 'https://bob:hunter2@h/x?q=1&sig=ZZZ#access_token=YYY';
  const shown = 'https://h/x?q=1&sig=***#access_token=***';
  const finding = {
    type: 'vulnerability',
    title: 'T',
    severity: 'low',
    hosted_viewer_uri: url,
    work_item_uris: [url],
    references: [url],
    vulnerability: { cve_id: 'CVE-2020-1111', data_source: { url } },
    attachments: [{ artifact_location: { uri: url } }],
    properties: { link: url },
    evidence_items: [{ kind: 'http_exchange', http: { request: { url } } }],
  };
  const { detail } = onlyDraft(decodeCtis(ctis([finding]), {}));
  const text = JSON.stringify(detail);
  assert.doesNotMatch(text, /hunter2|ZZZ|YYY/);
  assert.equal(text.split(shown).length - 1, 7);
});

test('only the names of an endpoint’s parameters are kept', () => {
  const endpoint = {
    origin: 'https://shop.example',
    path: '/a?x=1',
    url: 'https://shop.example/a?mail=ada@example.com',
    params: [
      { location: 'query', name: 'q', value: 'ada@example.com', example: 'ada@example.com' },
    ],
  };
  const report = decodeCtis(ctis([], { endpoints: [endpoint] }), {});
  const [read] = report.endpoints.usable;
  assert.deepEqual(read?.document.params, [{ location: 'query', name: 'q' }]);
  assert.equal(read?.document.url, 'https://shop.example/a?mail=');
  assert.doesNotMatch(JSON.stringify(read), /ada/);
});

test('a mask tells which text is the secret: it is hidden where the report repeats it', () => {
  const value = 'AKIAIOSFODNN7REALKEY';
  const finding = (masked_value: string) => ({
    type: 'secret',
    title: `AWS key ${value}`,
    message: `found KEY=${value}.`,
    severity: 'high',
    secret: { masked_value },
    location: { path: '.env', start_line: 1 },
  });
  expectHidden(visibleText(ctis([finding('AKIA***LKEY')])), value);
  expectHidden(visibleText(ctis([finding('AKIA…LKEY')])), value);
  assert.ok(visibleText(ctis([finding('***')])).includes('AWS key'));
  assert.ok(visibleText(ctis([finding('f***d')])).includes('found KEY='));
});

test('other words for a secret, and a secret in a list, hide the value as well', () => {
  const value = 'AKIAIOSFODNN7REALKEY';
  const location = { path: '.env', start_line: 1, snippet: `KEY=${value}` };
  for (const type of ['secrets', 'Credential', 'credentials']) {
    const document = ctis([{ type, title: value, severity: 'high', location }]);
    expectHidden(visibleText(document), value);
    assert.equal(onlyDraft(decodeCtis(document, {})).type, 'secret');
  }
  const listed = { type: 'vulnerability', title: value, severity: 'high', secret: [{ value }] };
  expectHidden(visibleText(ctis([listed])), value);
  const item = { text: value, sensitive: [{ pointer: '/text' }] };
  const evidence = { type: 'web3', title: value, severity: 'high', evidence_items: item };
  expectHidden(visibleText(ctis([evidence])), value);
});

test('titles, messages and descriptions of any finding show no value of a credential', () => {
  const text = 'Request with api_key=abcdef123 was logged';
  const finding = { type: 'vulnerability', severity: 'low', rule_id: 'r' };
  const more = {
    title: text,
    message: text,
    description: text,
    suppression: { justification: text },
    data_flow: { sources: [{ path: 'a', label: text }], summary: text },
    stacks: [{ message: text, frames: [{ location: { path: 'a' } }] }],
  };
  const draft = onlyDraft(decodeCtis(ctis([{ ...finding, ...more }])));
  assert.doesNotMatch(JSON.stringify(draft.detail), /abcdef123/);
  const { title, message, detail } = draft;
  for (const shown of [title, message, detail.description]) {
    assert.equal(shown, 'Request with api_key=*** was logged');
  }
});

test('what a misconfiguration, a proof or a fix quotes shows no value of a credential', () => {
  const finding = {
    type: 'misconfiguration',
    title: 'T',
    severity: 'low',
    rule_id: 'r',
    misconfiguration: {
      actual: 'ENV AWS_SECRET_ACCESS_KEY=pinadokuve',
      cause: 'password: pinadokuve',
      expected: 'a database at https://u:pinadokuve@h',
      query: 'token: pinadokuve',
    },
    remediation: { fix_code: 'password = "pinadokuve"', steps: ['set token=pinadokuve'] },
    web3: { poc: { code: 'rpc("https://u:pinadokuve@h")' } },
  };
  const { detail } = onlyDraft(decodeCtis(ctis([finding])));
  assert.doesNotMatch(JSON.stringify(detail), /pinadokuve/);
  const plain = { actual: '0.0.0.0/0', expected: 'Password: at least 12 characters' };
  const { detail: said } = onlyDraft(decodeCtis(ctis([{ ...finding, misconfiguration: plain }])));
  assert.deepEqual((said.misconfiguration as { actual: string }).actual, '0.0.0.0/0');
});
