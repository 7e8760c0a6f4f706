// The rules by which CTIS reports become drafts, one by one. Whole reports stand in
// readers.golden.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sha256Hex } from '../../../../src/ingest/formats/ctis/recipes.rules.ts';
import { DocumentRefused, isSuppressedAt } from '../../../../src/ingest/report/report.rules.ts';
import { decodeCtis, ctis, drafts, onlyDraft, warningCodes } from '../readers.ts';

const FINDING = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };
const one = (more: object, report: object = {}) =>
  onlyDraft(decodeCtis(ctis([{ ...FINDING, ...more }], report), {}));
const outcome = (finding: unknown) => {
  const [item] = [...decodeCtis(ctis([finding]), {}).items()];
  if (item === undefined) throw new Error('one item was expected');
  return item.outcome === 'rejected' ? item.rejection.code : item.outcome;
};
const refusal = (document: unknown): [string, string] => {
  try {
    decodeCtis(document, {});
  } catch (error) {
    if (error instanceof DocumentRefused) return [error.code, error.pointer];
    throw error;
  }
  throw new Error('the document was not refused');
};

test('any minor of version 1 is read, a missing or empty version is 1.0', () => {
  const version = (value: unknown) => decodeCtis(ctis([], { version: value }), {}).version;
  assert.deepEqual(['1.0', '1.99', '1', 1.4, 'v1.2'].map(version), [
    '1.0',
    '1.99',
    '1',
    '1.4',
    '1.2',
  ]);
  assert.deepEqual([undefined, null, '', ' '].map(version), ['1.0', '1.0', '1.0', '1.0']);
  for (const value of ['2.0', '10', 'x', {}]) {
    assert.deepEqual(refusal(ctis([], { version: value })), [
      'unsupported_ctis_version',
      '/version',
    ]);
  }
});

test('a wrapped report is read as the flat one, its pointers begin with the wrapper', () => {
  const report = decodeCtis({ report: ctis([FINDING]) }, {});
  assert.equal(onlyDraft(report).pointer, '/report/findings/0');
  assert.deepEqual(refusal({ report: ctis([], { version: '2' }) }), [
    'unsupported_ctis_version',
    '/report/version',
  ]);
});

test('a wrapped report is read whatever stands beside it, and a warning tells what does', () => {
  const wrapped = decodeCtis({ report: ctis([FINDING]), metadata: {}, tool: { name: 'x' } }, {});
  assert.equal(onlyDraft(wrapped).pointer, '/report/findings/0');
  assert.deepEqual(
    wrapped.warnings.map(({ pointer, code }) => [pointer, code]),
    [
      ['/metadata', 'unknown_member'],
      ['/tool', 'unknown_member'],
    ],
  );
  const flat = decodeCtis(ctis([FINDING], { report: { tool: {} } }), {});
  assert.equal(onlyDraft(flat).pointer, '/findings/0');
  assert.deepEqual(warningCodes(flat), ['unknown_member']);
  assert.deepEqual(refusal({ report: ctis([FINDING]), findings: [] }), ['not_ctis', '/report']);
});

test('what is neither a report nor an object is refused', () => {
  for (const document of [null, [], 'x', {}, { fingerprints: [] }, { report: {} }]) {
    assert.equal(refusal(document)[0], 'not_ctis');
  }
  assert.equal(refusal({ version: '2.1.0', runs: [] })[0], 'not_ctis');
});

test('absent findings say nothing, an empty list is a clean scan; coverage must be said', () => {
  const analysis = (report: object) => decodeCtis(report, {}).analyses[0];
  assert.equal(analysis(ctis([]) as object)?.listed, true);
  assert.equal(analysis(ctis(null) as object)?.listed, false);
  assert.equal(analysis({ metadata: {} })?.listed, false);
  const coverage = (word: string) =>
    analysis({ metadata: { coverage_type: word }, findings: [] })?.coverage;
  assert.deepEqual(['full', 'partial', 'incremental', ''].map(coverage), [
    'full',
    'partial',
    'partial',
    'partial',
  ]);
  const stated = decodeCtis(ctis([]), { coverage: 'full' }).analyses[0]?.coverage;
  assert.equal(stated, 'full');
});

test("the document's branch goes first, the sender's fills in where it is silent", () => {
  const context = { branch: 'ctx', commitSha: 'c1', defaultBranch: true, repositoryUrl: 'h/x/y' };
  const silent = decodeCtis(ctis([]), context);
  const { branch, commitSha, claimsDefaultBranch } = silent.analyses[0] ?? {};
  assert.deepEqual(
    [branch, commitSha, claimsDefaultBranch, silent.assets.usable[0]?.value],
    ['ctx', 'c1', true, 'h/x/y'],
  );
  const own = {
    name: 'refs/heads/dev',
    is_default_branch: false,
    commit_sha: 'c2',
    repository_url: 'h/a/b',
  };
  const spoken = decodeCtis(ctis([], { metadata: { branch: own } }), context);
  const said = spoken.analyses[0];
  assert.deepEqual(
    [said?.branch, said?.commitSha, said?.claimsDefaultBranch, spoken.assets.usable[0]?.value],
    ['dev', 'c2', false, 'h/a/b'],
  );
});

test('without a title the message, rule or CVE is the title; with nothing it is rejected', () => {
  const title = (finding: object) =>
    onlyDraft(decodeCtis(ctis([{ severity: 'low', ...finding }]), {})).title;
  assert.equal(title({ message: 'said' }), 'said');
  assert.equal(title({ rule_id: 'r1' }), 'r1');
  assert.equal(title({ vulnerability: { cve_id: 'CVE-2024-1' } }), 'CVE-2024-1');
  assert.equal(outcome({ severity: 'low' }), 'title_missing');
  assert.equal(outcome([]), 'item_not_object');
});

test('empty, passed and absent findings are no problems; a status is a hint', () => {
  for (const finding of [{}, { type: '', title: '', location: { path: '', start_line: 0 } }]) {
    assert.equal(outcome(finding), 'not_problem');
  }
  for (const kind of ['pass', 'not_applicable', 'notApplicable', 'informational']) {
    assert.equal(outcome({ ...FINDING, kind }), 'not_problem');
  }
  assert.equal(outcome({ ...FINDING, baseline_state: 'absent' }), 'not_problem');
  assert.equal(outcome({ ...FINDING, compliance: { result: 'pass' } }), 'not_problem');
  for (const kind of ['fail', 'open', 'review', 'other'])
    assert.equal(outcome({ ...FINDING, kind }), 'finding');
  assert.equal(one({ status: 'resolved' }).suppressed, false);
});

test('severity words are read in any case; an unknown one is medium with a warning', () => {
  const severity = (word: unknown) => one({ severity: word }).severity;
  assert.deepEqual(
    ['CRIT', 'Error', 'severe', 'moderate', 'warn', 'LOW', 'note', 'none', 'odd', null].map(
      severity,
    ),
    ['critical', 'high', 'high', 'medium', 'medium', 'low', 'info', 'info', 'medium', 'medium'],
  );
  const report = decodeCtis(ctis([{ ...FINDING, severity: 'odd', type: 'odd' }]), {});
  assert.deepEqual(warningCodes(report), ['unknown_severity', 'unknown_type']);
});

test('an unknown type is what the detail object says, else a vulnerability', () => {
  assert.equal(one({ type: 'x', secret: { length: 3 } }).type, 'secret');
  assert.equal(one({ type: '', web3: { swc_id: 'SWC-1' } }).type, 'web3');
  assert.equal(one({ type: undefined }).type, 'vulnerability');
});

test('a finding is about its asset_ref, else the only asset, else what the report implies', () => {
  const assets = [
    { id: 'a', type: 'repository', value: 'h/o/a' },
    { id: 'b', type: 'repository', value: 'h/o/b' },
  ];
  const target = (finding: object, report: object) => {
    const decoded = decodeCtis(ctis([{ ...FINDING, ...finding }], report), {});
    const { asset } = onlyDraft(decoded);
    return asset === null ? null : decoded.assets.usable[asset]?.value;
  };
  assert.equal(target({ asset_ref: 'b' }, { assets }), 'h/o/b');
  assert.equal(target({ asset_ref: 'x' }, { assets }), null);
  assert.equal(target({ asset_ref: 'x', asset_value: 'h/o/c' }, { assets: [assets[0]] }), 'h/o/a');
  assert.equal(target({ asset_value: 'https://h/o/c.git' }, { assets }), 'h/o/c');
  const metadata = { branch: { repository_url: 'https://h/o/m' } };
  assert.equal(target({ asset_value: 'h/o/c' }, { metadata }), 'h/o/m');
  assert.equal(target({ asset_value: '10.0.0.1', asset_type: 'ip_address' }, {}), '10.0.0.1');
  assert.equal(target({}, {}), null);
});

test('findings that name different targets are never merged into one', () => {
  const findings = ['h/o/a', 'h/o/b', undefined].map((asset_value) => ({
    ...FINDING,
    asset_value,
  }));
  const report = decodeCtis(ctis(findings), {});
  assert.deepEqual(
    drafts(report).map((draft) => draft.asset),
    [0, 1, null],
  );
  assert.equal(report.analyses[0]?.asset, null);
});

test('unknown members are kept as data, wrong names are read as what they mean', () => {
  const vulnerability = {
    package_name: 'lodash',
    installed_version: '4.17.20',
    cisa_kev: true,
    new_one: 1,
  };
  const report = decodeCtis(
    ctis([{ ...FINDING, vulnerability, recommendation: 'Upgrade', Extra: 2 }]),
    {},
  );
  const { detail, identity } = onlyDraft(report);
  assert.deepEqual(detail.vulnerability, {
    new_one: 1,
    package: 'lodash',
    affected_version: '4.17.20',
    in_cisa_kev: true,
  });
  assert.deepEqual(
    [detail.remediation, detail.unknown],
    [{ recommendation: 'Upgrade' }, { Extra: 2 }],
  );
  assert.equal(identity.content[0], 'lodash');
  assert.deepEqual(report.warningsByCode, { renamed_member: 3, unknown_member: 3 });
});

test('components, resources, services, web addresses and code have an identity of their own kind each', () => {
  const identity = (more: object) => one(more).identity;
  const path = { location: { path: 'package-lock.json', start_line: 9 } };
  const purl = {
    vulnerability: { purl: 'pkg:npm/%40a/B@1.0?x=1', cve_ids: ['CVE-2024-9', 'CVE-2024-10'] },
    ...path,
  };
  assert.deepEqual(identity(purl), {
    kind: 'component',
    content: ['pkg:npm/%40a/b', 'CVE-2024-10', 'package-lock.json'],
  });
  const named = { vulnerability: { package: 'Django', ecosystem: 'pip' }, ...path };
  assert.deepEqual(identity(named).content, ['pypi/django', 'r', 'package-lock.json']);
  assert.deepEqual(
    identity({ misconfiguration: { resource_type: 'bucket', resource_name: 'x' } }),
    { kind: 'resource', content: ['bucket', 'x'] },
  );
  assert.deepEqual(identity({ network: { host: 'H', port: 443 } }), {
    kind: 'network',
    content: ['h', '443/tcp'],
  });
  assert.deepEqual(identity({ network: { host: 'H' } }).content, ['h', 'host']);
  const web = {
    web: { url: 'https://h/a/17?q=', method: 'post', parameter: { location: 'form', name: 'x' } },
  };
  assert.deepEqual(identity(web), { kind: 'web', content: ['POST', 'h/a/{int}', 'form:x'] });
  assert.deepEqual(identity({ location: { snippet: 'eval(x)' } }), {
    kind: 'code',
    content: ['eval(x)', ''],
  });
  assert.deepEqual(identity({}), { kind: 'code', content: ['T'], isSaid: true });
});

test('a fingerprint that hashes a line or a version is kept, but is no evidence', () => {
  const location = { path: 'SRC\\Main.go', start_line: 10, end_line: 20 };
  const byLine = sha256Hex('sast:src/main.go:r:10:20');
  const weak = one({ fingerprint: byLine.toUpperCase(), location });
  assert.deepEqual([weak.baseFingerprint, weak.fingerprints], [byLine.toUpperCase(), {}]);
  assert.deepEqual(weak.detail.fingerprints_ignored, { fingerprint: 'hashes the line number' });
  const own = one({
    fingerprint: 'f'.repeat(64),
    partial_fingerprints: { p: 'v', e: '' },
    location,
  });
  assert.deepEqual(own.fingerprints, { fingerprint: 'f'.repeat(64), p: 'v' });
  const gitleaks = one({ fingerprint: 'abc:SRC/Main.go:r:10', location });
  assert.deepEqual([gitleaks.baseFingerprint, gitleaks.fingerprints], ['abc:SRC/Main.go:r:10', {}]);
});

test('suppressions count when accepted, by either generation of the schema', () => {
  const suppressed = (suppression: unknown) => one({ suppression }).suppressed;
  for (const accepted of [{ kind: 'external' }, { status: 'accepted' }, { state: 'suppressed' }]) {
    assert.equal(suppressed(accepted), true);
  }
  for (const not of [null, {}, { status: '' }, { status: 'rejected' }, { state: 'under_review' }]) {
    assert.equal(suppressed(not), false);
  }
});

test('a suppression whose status is no word of CTIS is not in force, and that is told', () => {
  const read = (suppression: object) => {
    const report = decodeCtis(ctis([{ ...FINDING, suppression }]), {});
    const { suppressed } = onlyDraft(report);
    return [suppressed, ...report.warnings.map(({ pointer, code }) => `${pointer} ${code}`)];
  };
  const at = '/findings/0/suppression';
  assert.deepEqual(read({ status: 'nonsense' }), [false, `${at}/status unknown_word`]);
  assert.deepEqual(read({ state: 'nonsense' }), [false, `${at}/state unknown_word`]);
  assert.deepEqual(read({ status: 5 }), [false, `${at}/status wrong_type`]);
  assert.deepEqual(read({ status: ['accepted'], state: 'accepted' }), [
    false,
    `${at}/status wrong_type`,
  ]);
  for (const status of ['', null]) assert.deepEqual(read({ kind: 'external', status }), [true]);
  assert.deepEqual(read({ status: ' Accepted ' }), [true]);
  assert.deepEqual(read({ status: 'under_review' }), [false]);
});

test('a secret is masked everywhere but in the content of its identity', () => {
  const value = 'AKIAIOSFODNN7EXAMPLE';
  const draft = one({
    type: 'secret',
    title: `key ${value}`,
    description: value,
    evidence: value,
    location: { path: 'a', start_line: 1, snippet: value, context_snippet: `x=${value}` },
    secret: { masked_value: value },
    properties: { seen: `in ${value}` },
  });
  const { identity, ...rest } = draft;
  assert.deepEqual(identity.content, [value]);
  assert.ok(!JSON.stringify(rest).includes(value));
});

test('evidence shows neither what it marks as sensitive nor credentials in headers', () => {
  const headers = [
    { name: 'Authorization', value: 'Bearer abc' },
    { name: 'Host', value: 'h' },
  ];
  const item = {
    kind: 'http_exchange',
    http: { request: { headers, body: 'xyz' } },
    sensitive: [{ pointer: '/http/request/body' }],
  };
  const text = JSON.stringify(one({ evidence_items: [item] }).detail);
  assert.ok(!text.includes('Bearer') && !text.includes('xyz') && text.includes('"h"'));
});

test('assets, dependencies and relationships are read item by item', () => {
  const assets = [
    { id: 'a', type: 'other', value: 'x' },
    { id: 'b', type: 'server', value: 'H.' },
    { type: 'host' },
    5,
  ];
  const dependencies = [
    { name: 'n', version: '1', ecosystem: 'npm' },
    { purl: 'pkg:npm/q@2' },
    {},
    null,
  ];
  const relationships = [
    { type: 't', from_ref: 'a', to_ref: 'b' },
    { type: 't', from_ref: 'a', to_ref: 'a' },
    { from_ref: 'a', to_ref: 'b' },
    {},
  ];
  const report = decodeCtis(ctis([], { assets, dependencies, relationships }), {});
  assert.deepEqual(
    report.assets.usable.map(({ kind, value }) => [kind, value]),
    [
      ['unclassified', 'x'],
      ['server', 'h'],
    ],
  );
  assert.deepEqual(
    report.assets.rejections.map(({ pointer }) => pointer),
    ['/assets/2/value', '/assets/3'],
  );
  assert.deepEqual(
    report.components.usable.map(({ identity }) => identity),
    ['npm/n@1', 'pkg:npm/q@2'],
  );
  assert.deepEqual(
    report.components.rejections.map(({ code }) => code),
    ['name_missing', 'item_not_object'],
  );
  assert.deepEqual(report.relationships.usable, [{ from: 0, to: 1, type: 't' }]);
  assert.deepEqual(
    report.relationships.rejections.map(({ code }) => code),
    ['relationship_to_itself', 'type_missing', 'asset_ref_unknown'],
  );
});

test('a suppression lasts until its end, and for ever where it names none that can be read', () => {
  const until = (expires_at: unknown) => one({ suppression: { expires_at, reason: 'x' } });
  const end = Date.UTC(2030, 0, 2);
  for (const text of ['2030-01-02T00:00:00Z', '2030-01-02T02:00:00+02:00', '2030-01-01']) {
    const draft = { ...until(text), detail: () => ({}) };
    assert.equal(draft.suppressedUntil, end);
    assert.deepEqual(
      [end - 1, end].map((time) => isSuppressedAt(draft, time)),
      [true, false],
    );
  }
  for (const none of [undefined, '', '0001-01-01T00:00:00Z', 'soon', '2030-13-01']) {
    const draft = { ...until(none), detail: () => ({}) };
    assert.equal(isSuppressedAt(draft, Number.MAX_SAFE_INTEGER), true);
  }
  const report = decodeCtis(ctis([{ ...FINDING, suppression: { expires_at: 'soon' } }]), {});
  assert.deepEqual(warningCodes(report), ['time_unreadable']);
});
