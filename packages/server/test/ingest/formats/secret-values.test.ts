// The places where the value of a secret may stand in a report of either format: under names that
// quote it, in sentences, in unknown members. Masks never make one finding of two secrets.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evidenceOf } from '../../../src/ingest/match/evidence.rules.ts';
import {
  at,
  ctis,
  decodeCtis,
  decodeSarif,
  type DecodedReport,
  drafts,
  onlyDraft,
  sarif,
} from './readers.ts';

/** A password that looks like one, and one that is a word. */
const VALUES = ['Wq3k9x2aZr7', 'pinadokuve'];

const secret = (more: object, location: object = {}): object => ({
  type: 'secret',
  title: 'Generic password',
  severity: 'high',
  rule_id: 'generic-password',
  location: { path: 'conf/app.yml', start_line: 4, ...location },
  ...more,
});

const inCtis = (finding: object): DecodedReport => decodeCtis(ctis([finding]));

const inSarif = (more: object): DecodedReport => {
  const locations = [at('conf/app.yml', { startLine: 4 })];
  const result = { ruleId: 'g', message: { text: 'found' }, locations, ...more };
  return decodeSarif(sarif([result], {}, { name: 'gitleaks' }));
};

/** Everything that is stored or shown of a report. */
function shownOf(report: DecodedReport): string {
  const items = drafts(report).map((draft) => ({ ...draft, identity: null }));
  return JSON.stringify([items, report.warnings]);
}

function assertHidden(report: DecodedReport, value: string, where: string): void {
  const shown = shownOf(report);
  assert.ok(!shown.includes(value), `${where}: ${shown}`);
}

/** Names of members that quote a line or a value. */
const QUOTING =
  `value line snippet code context match matched matched_text text content raw raw_line sample preview excerpt finding
  data line_content source`.split(/\s+/);

test('a finding of a secret keeps only the names of members that the format doesn’t have', () => {
  for (const value of VALUES) {
    for (const name of [...QUOTING, 'whatever']) {
      const said = `db ${value}`;
      assertHidden(inCtis(secret({ [name]: said })), value, `finding/${name}`);
      assertHidden(inCtis(secret({}, { [name]: said })), value, `location/${name}`);
      assertHidden(inCtis(secret({ secret: { [name]: said } })), value, `secret/${name}`);
      const known = name === 'name' ? {} : { [name]: { deep: [said] } };
      assertHidden(inSarif(known), value, `result.${name}`);
    }
  }
  const { detail } = onlyDraft(inCtis(secret({ whatever: 'x', other: null }, { line: 4 })));
  assert.deepEqual(detail.unknown, { whatever: '***' });
  assert.deepEqual(detail.properties, { 'location/line': '***' });
});

test('bags of a finding of a secret show nothing under names that quote', () => {
  for (const value of VALUES) {
    for (const name of QUOTING) {
      const bag = { [name]: `db.password = ${value}` };
      const masked = { secret: { masked_value: `${value.slice(0, 3)}***` } };
      assertHidden(inCtis(secret({ properties: bag })), value, `properties/${name}`);
      assertHidden(inCtis(secret({ ...masked, properties: bag })), value, `masked, ${name}`);
      assertHidden(inCtis(secret({ source_extra: bag })), value, `source_extra/${name}`);
      assertHidden(inSarif({ properties: bag }), value, `properties.${name}`);
    }
    const told = secret(
      { source_extra: { note: value, [value]: 'x' } },
      { snippet: `a: ${value}` },
    );
    assertHidden(inCtis(told), value, 'a name');
  }
});

test('a value that a sentence about a secret tells is hidden, in quotes or behind a colon', () => {
  for (const value of VALUES) {
    for (const said of [
      `Hardcoded password "${value}" in file`,
      `The value '${value}' is used as password.`,
      `password: ${value}`,
      `Found secret: ${value}.`,
      `token=${value}`,
    ]) {
      assertHidden(inCtis(secret({ message: said })), value, said);
      assertHidden(inCtis(secret({ title: said })), value, said);
      assertHidden(inSarif({ message: { text: said } }), value, said);
    }
  }
  const said = `The password is ${VALUES[0]} there`;
  assertHidden(inCtis(secret({ message: said })), VALUES[0] ?? '', said);
  assertHidden(inSarif({ message: { text: said } }), VALUES[0] ?? '', said);
});

test('other words in a sentence about a secret stay, and so do rule and path behind a colon', () => {
  for (const said of [
    'Password: too short for its account',
    'The secret is verified',
    'Found secret: Generic API key',
    'Found secret: unknown',
    'Detected secret: generic-password',
    'Leaked key: conf/app.yml',
  ]) {
    assert.equal(onlyDraft(inCtis(secret({ message: said }))).message, said);
  }
  const said = 'Found secret: conf/app.yml';
  assert.equal(onlyDraft(inSarif({ message: { text: said } })).message, said);
});

test('a value that places and steps of a secret quote is hidden wherever it is repeated', () => {
  for (const value of VALUES) {
    const related_locations = [{ path: 'b', start_line: 2, snippet: `tok = ${value}` }];
    const again = { message: `again ${value}`, tags: [value], id: value };
    assertHidden(inCtis(secret({ related_locations, ...again })), value, 'a related location');
    const data_flow = {
      sources: [{ path: 'a', line: 1, content: `x=${value}`, label: `is ${value}` }],
      summary: `flows ${value}`,
      call_path: [value],
    };
    assertHidden(inCtis(secret({ data_flow, ...again })), value, 'a flow');
    const evidence_items = [{ kind: 'raw_text', text: `x = ${value}` }];
    assertHidden(inCtis(secret({ evidence_items, ...again })), value, 'an evidence item');
  }
});

test('a word that CTIS doesn’t have shows no secret where it is kept', () => {
  for (const value of VALUES) {
    const said = { secret_type: value, service: value, masked_value: value, scopes: [value] };
    assertHidden(inCtis(secret({ secret: said, kind: value })), value, 'a word');
  }
  const { detail } = onlyDraft(inCtis(secret({ secret: { secret_type: 'Password' } })));
  assert.deepEqual(detail.secret, { secret_type: 'password' });
});

test('a fingerprint that shows a secret is no evidence and is kept without it', () => {
  for (const value of VALUES) {
    const fingerprint = `abc:conf/app.yml:${value}:4`;
    const more = { fingerprint, partial_fingerprints: { a: value, [value]: 'b', c: 'fine' } };
    const report = inCtis(secret(more, { snippet: `password: ${value}` }));
    assertHidden(report, value, 'a fingerprint');
    const { fingerprints, baseFingerprint, detail } = onlyDraft(report);
    assert.deepEqual(fingerprints, { c: 'fine' });
    assert.match(baseFingerprint ?? '', /^abc:conf\/app\.yml:\w+\*\*\*\w+:4$/);
    const ignored = detail.fingerprints_ignored as Record<string, string>;
    assert.equal(ignored.fingerprint, 'shows the secret');
  }
});

test('a fingerprint of rule and path stays as it was sent, whatever the snippet repeats of them', () => {
  const fingerprint = 'conf/app2024.yml:generic-password2';
  const location = { path: 'conf/app2024.yml', snippet: 'load("conf/app2024.yml") # x' };
  const finding = { ...secret({ fingerprint }, location), rule_id: 'generic-password2' };
  const { fingerprints, baseFingerprint } = onlyDraft(inCtis(finding));
  assert.deepEqual([fingerprints, baseFingerprint], [{ fingerprint }, fingerprint]);
});

test('two secrets at one place are two findings, however much of them their masks show', () => {
  const key = Buffer.alloc(32, 1);
  const [one, other] = ['AKIAIOSFODNN7AAAMPLE', 'AKIAIOSFODNN7BBBMPLE'];
  const told = (value: string | undefined, type: string): object => ({
    ...secret({ type, message: `The hard-coded value "${value}" is used as password.` }),
    rule_id: 'js/hardcoded-credentials',
  });
  for (const type of ['secret', 'vulnerability']) {
    const report = decodeCtis(ctis([told(one, type), told(other, type)]));
    const [first, second] = drafts(report);
    assert.ok(first !== undefined && second !== undefined);
    assert.equal(first.message, second.message);
    const kinds = [first.identity.kind, second.identity.kind];
    assert.deepEqual(kinds, ['secret', 'secret']);
    const hashes = [first, second].map((draft) =>
      evidenceOf({ ...draft, detail: () => draft.detail }, key).content.toString('hex'),
    );
    assert.notEqual(hashes[0], hashes[1]);
  }
});

test('a member that is kept under its place is hidden by the last name in that place', () => {
  const finding = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };
  const location = { path: 'a.c', match: 'pinadokuve', token: { value: 'pinadokuve' } };
  const { detail } = onlyDraft(inCtis({ ...finding, location }));
  assert.deepEqual(detail.properties, { 'location/match': '***', 'location/token': '***' });
});

test('a finding’s own secret is hidden however much else the finding quotes', () => {
  const text = Array.from({ length: 600 }, (_, line) => `some_long_name_${line} = "${line}"`).join(
    '\n',
  );
  for (const value of VALUES) {
    const more = { message: `it is ${value}`, evidence: text };
    assertHidden(inCtis(secret(more, { snippet: `password: ${value}` })), value, 'CTIS');
    const places = [
      at('conf/app.yml', { startLine: 4, snippet: { text: `password: ${value}` } }),
      at('b.yml', { startLine: 1, snippet: { text } }),
    ];
    const said = { text: `it is ${value}` };
    assertHidden(inSarif({ message: said, locations: places }), value, 'SARIF');
  }
});
