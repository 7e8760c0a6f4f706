// Members, words, numbers and bounds of CTIS objects (CTIS §2, §3, §4; lenient profile of §8): how
// they are read, which values move to `properties`, which are cut. None of this costs more than a
// warning.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CtisObject, ctisShape } from '@muster/contract';
import { readObject } from '../../../../src/ingest/formats/ctis/members.decode.ts';
import { Warnings } from '../../../../src/ingest/json/warnings.decode.ts';
import { decodeCtis, ctis, onlyDraft } from '../readers.ts';

const FINDING = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };

/** An object as it is read, and its warnings as `code pointer`. */
function read(kind: CtisObject, value: unknown) {
  const warnings = new Warnings();
  const object = readObject(kind, value, '', warnings);
  return { object, warnings: warnings.shown().map(({ code, pointer }) => `${code} ${pointer}`) };
}
const shownDetail = (finding: object) =>
  onlyDraft(decodeCtis(ctis([{ ...FINDING, ...finding }]), {})).detail;

test('every object that CTIS nests is described, and every rule can be read', () => {
  const seen = new Set<CtisObject>();
  const visit = (kind: CtisObject): void => {
    if (seen.has(kind)) return;
    seen.add(kind);
    for (const { shape } of ctisShape(kind).values()) if (shape !== null) visit(shape);
  };
  for (const kind of ['report', 'metadata', 'branch', 'tool', 'relationship', 'finding'] as const) {
    visit(kind);
  }
  for (const kind of ['asset', 'dependency', 'endpoint'] as const) visit(kind);
  assert.equal(seen.size, 83);
});

test('words are read in any case, with blanks or hyphens, and by the spellings of other tools', () => {
  const { object, warnings } = read('finding', {
    impact: ' HIGH ',
    kind: 'notApplicable',
    vulnerability: { exploit_maturity: 'Proof-of-Concept', cvss_version: '3' },
    secret: { secret_type: 'credential' },
    vex: { status: 'known_not_affected', justification: 'code_not_reachable' },
    native: { detection_type: 'Information Gathered' },
    exposure: { vector: 'adjacent' },
    web: { method: 'get' },
  });
  assert.deepEqual(warnings, []);
  assert.deepEqual(object, {
    impact: 'high',
    kind: 'not_applicable',
    vulnerability: { exploit_maturity: 'poc', cvss_version: '3.0' },
    secret: { secret_type: 'generic_secret' },
    vex: { status: 'not_affected', justification: 'vulnerable_code_not_in_execute_path' },
    native: { detection_type: 'info' },
    exposure: { vector: 'adjacent_net' },
    web: { method: 'GET' },
  });
});

test('an unknown word leaves its member, is kept under properties by its place, and warned about', () => {
  const { object, warnings } = read('finding', {
    title: 'T',
    likelihood: 'sometimes',
    web3: { poc: { type: 'essay', code: 'x' } },
    scores: [{ system: 'cvss' }, { system: 'stars', value: 5 }],
    properties: { own: 1 },
  });
  assert.deepEqual(object, {
    title: 'T',
    web3: { poc: { code: 'x' } },
    scores: [{ system: 'cvss' }, { value: 5 }],
    properties: {
      own: 1,
      likelihood: 'sometimes',
      'web3/poc/type': 'essay',
      'scores/1/system': 'stars',
    },
  });
  assert.deepEqual(warnings, [
    'unknown_word /likelihood',
    'unknown_word /web3/poc/type',
    'unknown_word /scores/1/system',
  ]);
});

test('numbers out of their range and of the wrong type are put aside; zero says nothing', () => {
  const { object, warnings } = read('finding', {
    confidence: 101,
    rank: -1,
    occurrence_count: 0,
    vulnerability: { cvss_score: '9.8', epss_score: 1.5, vpr_score: 10 },
    location: { start_line: 0, end_line: -3 },
  });
  assert.deepEqual(object?.vulnerability, { vpr_score: 10 });
  assert.deepEqual(object?.location, {});
  assert.deepEqual(object?.properties, {
    confidence: 101,
    rank: -1,
    'vulnerability/cvss_score': '9.8',
    'vulnerability/epss_score': 1.5,
    'location/end_line': -3,
  });
  const codes = warnings.map((warning) => warning.split(' ')[0]);
  assert.deepEqual(
    ['out_of_range', 'wrong_type'].map((code) => codes.filter((one) => one === code).length),
    [4, 1],
  );
});

test('a member that should be an object and is none is put aside; null and empty texts say nothing', () => {
  const { object, warnings } = read('finding', {
    vulnerability: 'CVE-2024-1234',
    secret: null,
    data_flow: '',
  });
  assert.deepEqual(object, {
    secret: null,
    data_flow: '',
    properties: { vulnerability: 'CVE-2024-1234' },
  });
  assert.deepEqual(warnings, ['wrong_type /vulnerability']);
});

test('unknown members are warned about at any depth, and stay in objects that are kept whole', () => {
  const sent = { data_flow: { sources: [{ 'a/b': 1 }] }, vulnerability: { layer: { size: 3 } } };
  const { object, warnings } = read('finding', sent);
  assert.deepEqual(object, {
    data_flow: { sources: [{}] },
    vulnerability: { layer: { size: 3 } },
    properties: { 'data_flow/sources/0/a~1b': 1 },
  });
  assert.deepEqual(warnings, [
    'unknown_member /data_flow/sources/0/a~1b',
    'unknown_member /vulnerability/layer/size',
  ]);
});

test('wrong names of the documentation are read as what they mean (CTIS §8, item 21)', () => {
  const cases: [CtisObject, object, object][] = [
    ['scope', { paths: ['src'] }, { includes: ['src'] }],
    ['technical', { ip: { asn: 1 } }, { ip_address: { asn: 1 } }],
    ['asset_service', { service: 'https' }, { service_type: 'https' }],
    ['vulnerability', { package_name: 'a', cisa_kev: true }, { package: 'a', in_cisa_kev: true }],
    ['vulnerability', { installed_version: '1' }, { affected_version: '1' }],
    [
      'secret',
      { type: 'credential', verified: true },
      { secret_type: 'generic_secret', valid: true },
    ],
    [
      'misconfiguration',
      { expected_value: 'a', actual_value: 'b' },
      { expected: 'a', actual: 'b' },
    ],
    ['dependency_location', { line: 3, column: 4 }, { start_line: 3, start_column: 4 }],
  ];
  for (const [kind, sent, expected] of cases) {
    const { object, warnings } = read(kind, sent);
    assert.deepEqual(object, expected, kind);
    assert.ok(
      warnings.every((warning) => warning.startsWith('renamed_member')),
      kind,
    );
  }
  const both = read('secret', { secret_type: 'jwt', type: 'password' });
  assert.deepEqual(both.object, { secret_type: 'jwt' });
  const { compliance } = shownDetail({
    compliance: { control_id: '1', frameworks: ['cis', 'nist'] },
  });
  assert.deepEqual(compliance, { control_id: '1', framework: 'cis', frameworks: ['nist'] });
});

test('texts and lists are cut visibly at the bounds of their member, and counted', () => {
  const many = (count: number, text = 'x') => Array.from({ length: count }, () => text);
  const report = decodeCtis(
    ctis([
      {
        ...FINDING,
        rule_name: 'n'.repeat(600),
        evidence: 'e'.repeat(70_000),
        category: 'c'.repeat(300),
        tags: many(60, 't'.repeat(120)),
        subcategory: ['s'.repeat(300), ...many(60)],
        scores: many(40).map(() => ({ system: 'vpr', value: 1 })),
        remediation: { recommendation: 'r'.repeat(17_000), steps: ['s'.repeat(3000), ...many(60)] },
        misconfiguration: { expected: 'e'.repeat(5000) },
        references: many(120),
        attack: many(30, 'T1001'),
      },
    ]),
    {},
  );
  const { detail } = onlyDraft(report);
  const length = (value: unknown) => (value as { length: number }).length;
  const { category, subcategory, scores, attack } = detail.ctis as Record<string, string[]>;
  const { recommendation, steps } = detail.remediation as Record<string, string[]>;
  const rule = detail.rule as { name: string };
  const { expected } = detail.misconfiguration as { expected: string };
  assert.deepEqual(
    [rule.name, detail.evidence, category, recommendation, expected].map(length),
    [500, 65_536, 255, 16_384, 4096],
  );
  assert.deepEqual(
    [detail.tags, subcategory, scores, steps, detail.references, attack].map(length),
    [50, 50, 32, 50, 100, 20],
  );
  assert.ok((detail.tags as string[]).every((tag) => tag.length === 100 && tag.endsWith('…')));
  assert.ok(length(subcategory?.[0]) === 200 && length(steps?.[0]) === 2048);
  assert.equal(report.warningsByCode.text_cut, 1);
});

test('maps of texts are bounded like lists', () => {
  const extra = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`k${index}`, 'v']));
  const { object } = read('finding', { source_extra: { ...extra, k0: 'v'.repeat(5000) } });
  const kept = object?.source_extra as Record<string, string>;
  assert.deepEqual([Object.keys(kept).length, kept.k0?.length], [64, 4096]);
});

test('more CWEs than a call has room for are read all the same', () => {
  const many = [...Array.from({ length: 200_000 }, () => 'CWE-79'), 'CWE-89'];
  const detail = shownDetail({ vulnerability: { cwe_ids: many, owasp_ids: many } });
  assert.deepEqual(detail.cwe, ['CWE-79', 'CWE-89']);
});

test('CWE, CVE, GHSA and the percentile come to one spelling', () => {
  const vulnerability = {
    cve_id: 'ghsa-35JH-r3h4-6jhm',
    cve_ids: ['cve-2021-23337', 'GO-2024-0001'],
    cwe_id: 'CWE-089: SQL injection',
    cwe_ids: ['cwe_79', 'none'],
    epss_percentile: 99.9,
  };
  const detail = shownDetail({ vulnerability });
  assert.deepEqual(detail.vulnerability, {
    cve_ids: ['CVE-2021-23337'],
    cwe_id: 'CWE-89',
    cwe_ids: ['CWE-79', 'none'],
    epss_percentile: 0.999,
    ids: [
      { type: 'ghsa', id: 'GHSA-35jh-r3h4-6jhm' },
      { type: 'osv', id: 'GO-2024-0001' },
    ],
  });
  assert.deepEqual(detail.cwe, ['CWE-79', 'CWE-89']);
  assert.deepEqual(detail.vulnerability_ids, [
    'CVE-2021-23337',
    'GHSA-35jh-r3h4-6jhm',
    'GO-2024-0001',
  ]);
});

test('the preferred id is the smallest CVE, else the first of GHSA, OSV and vendor', () => {
  const preferred = (ids: string[]) => {
    const vulnerability = { package: 'p', ids: ids.map((id) => ({ type: 'vendor', id })) };
    return onlyDraft(decodeCtis(ctis([{ ...FINDING, vulnerability }]), {})).identity.content[1];
  };
  const ghsa = 'GHSA-35jh-r3h4-6jhm';
  assert.equal(preferred(['SNYK-1', 'CVE-2024-0002', 'CVE-2024-0001', ghsa]), 'CVE-2024-0001');
  assert.equal(preferred(['SNYK-1', 'bit-go-2024-1', ghsa]), ghsa);
  assert.equal(preferred(['SNYK-1', 'bit-go-2024-1']), 'BIT-go-2024-1');
  assert.equal(preferred(['SNYK-1']), 'SNYK-1');
});

test('a missing or unknown severity is the native one, else by CVSS, else medium', () => {
  const judged = (finding: object) => {
    const { severity, detail } = onlyDraft(
      decodeCtis(ctis([{ ...FINDING, severity: undefined, ...finding }]), {}),
    );
    return [severity, detail.severity_from];
  };
  const native = (scheme: string, severity: string) => judged({ native: { scheme, severity } })[0];
  assert.deepEqual(
    ['0', '1', '2', '3', '4', 'High'].map((word) => native('nessus', word)),
    ['info', 'low', 'medium', 'high', 'critical', 'high'],
  );
  assert.deepEqual(
    ['1', '2', '3', '4', '5', 'minimal', 'Serious', 'urgent'].map((word) => native('qualys', word)),
    ['info', 'low', 'medium', 'high', 'critical', 'info', 'medium', 'critical'],
  );
  assert.deepEqual(
    ['error', 'warning', 'note', 'none'].map((word) => native('sarif', word)),
    ['high', 'medium', 'low', 'info'],
  );
  const cvss = (more: object) => judged({ vulnerability: { cvss_score: 9.8, ...more } });
  assert.deepEqual(cvss({}), ['critical', 'cvss_score']);
  assert.deepEqual(cvss({ cvss_version: '2.0' }), ['high', 'cvss_score']);
  assert.deepEqual(cvss({ cvss_vector: '(AV:N/AC:L/Au:N/C:C/I:C/A:C)' }), ['high', 'cvss_score']);
  assert.deepEqual(cvss({ cvss_score: 0 }), ['medium', 'default']);
  assert.deepEqual(judged({ severity: 'LOW', vulnerability: { cvss_score: 9.8 } }), [
    'low',
    'severity',
  ]);
});

test('metadata words are known in their old spellings; a wrong coverage is none', () => {
  const { object, warnings } = read('metadata', {
    source_type: 'recon',
    coverage_type: 'total',
    scope: { type: 'web', paths: ['a'] },
  });
  assert.deepEqual(object, {
    source_type: 'scanner',
    scope: { type: 'web', includes: ['a'] },
  });
  assert.deepEqual(warnings, ['unknown_word /coverage_type', 'renamed_member /scope/paths']);
});

test('one entry where a list is expected, and a list of one where an object is, are read as meant', () => {
  const { object, warnings } = read('finding', {
    vulnerability: [{ cve_id: 'CVE-2020-1234', cwe_ids: 'CWE-89' }],
    location: [{ path: 'a.c' }],
    evidence_items: { kind: 'raw_text' },
    stacks: { frames: { module: 'm' } },
    tags: 'x',
    references: 'https://h/',
    work_item_uris: [],
    web: [],
    related_locations: {},
  });
  assert.deepEqual(object, {
    vulnerability: { cve_id: 'CVE-2020-1234', cwe_ids: ['CWE-89'] },
    location: { path: 'a.c' },
    evidence_items: [{ kind: 'raw_text' }],
    stacks: [{ frames: [{ module: 'm' }] }],
    tags: ['x'],
    references: ['https://h/'],
    work_item_uris: [],
  });
  assert.deepEqual(
    warnings,
    [
      '/vulnerability',
      '/vulnerability/0/cwe_ids',
      '/location',
      '/evidence_items',
      '/stacks',
      '/stacks/frames',
      '/tags',
      '/references',
    ].map((pointer) => `wrong_type ${pointer}`),
  );
});

test('a value of another shape is kept under properties, with its credentials masked', () => {
  const { object, warnings } = read('finding', {
    location: [{ path: 'a.c' }, { path: 'b.c' }],
    stacks: 5,
    evidence_items: 'password=hunter2',
    tags: { a: 'b' },
    references: '',
  });
  assert.deepEqual(object, {
    references: '',
    properties: {
      location: [{ path: 'a.c' }, { path: 'b.c' }],
      stacks: 5,
      evidence_items: 'password=***',
      tags: { a: 'b' },
    },
  });
  assert.equal(warnings.length, 4);
});

test('a line or column that is no whole number is kept aside with a warning', () => {
  const { object, warnings } = read('location', { start_line: 2, start_column: 1.5 });
  assert.deepEqual(object, { start_line: 2, properties: { start_column: 1.5 } });
  assert.deepEqual(warnings, ['out_of_range /start_column']);
});

test('without a word for the severity, the first CVSS score of any source decides', () => {
  const draft = (scores: object[]) =>
    onlyDraft(decodeCtis(ctis([{ ...FINDING, severity: 'unknown', scores }]), {}));
  const cvss = { system: 'cvss', version: '3.1', value: 9.8 };
  assert.equal(draft([{ system: 'epss', value: 0.9 }, cvss]).severity, 'critical');
  assert.equal(draft([{ ...cvss, version: '2.0' }]).severity, 'high');
  assert.equal(draft([{ system: 'vpr', value: 9 }]).severity, 'medium');
});
