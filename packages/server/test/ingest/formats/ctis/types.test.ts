// CTIS members of a wrong type, and members that CTIS doesn't have: each costs a warning, and a
// warning that tells where a value is kept is right.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ctis, decodeCtis, drafts, onlyDraft, type ReadDraft, type ReadItem } from '../readers.ts';

const FINDING = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };

/** The only item of a report, and all warnings as `code place: consequence`. */
function read(finding: object, report: object = {}): { item: ReadItem; said: string[] } {
  const decoded = decodeCtis(ctis([{ ...FINDING, ...finding }], report), {});
  const [item] = [...decoded.items()];
  if (item === undefined) throw new Error('one item was expected');
  const said = decoded.warnings.map(
    ({ pointer, code, detail }) => `${code} ${pointer}: ${detail.split('; ').at(-1)}`,
  );
  return { item, said };
}

const draftOf = (item: ReadItem): ReadDraft => {
  if (item.outcome !== 'finding') throw new Error('a finding was expected');
  return item.draft;
};

test('texts of another type are kept under properties, with a warning', () => {
  const { item, said } = read({ message: { text: 'm' }, location: { path: 5, start_line: 7 } });
  assert.deepEqual(said, [
    'wrong_type /findings/0/message: it is kept under properties.',
    'wrong_type /findings/0/location/path: it is kept under properties.',
  ]);
  assert.deepEqual(draftOf(item).detail.properties, { message: { text: 'm' }, 'location/path': 5 });
  assert.equal(draftOf(item).message, 'T');
});

test('a title or a severity of another type costs a warning, beside its consequence', () => {
  const untitled = read({ title: 5, rule_id: '' });
  assert.equal(untitled.item.outcome, 'rejected');
  assert.deepEqual(untitled.said, ['wrong_type /findings/0/title: it is kept under properties.']);
  assert.deepEqual(read({ severity: 4 }).said, [
    'wrong_type /findings/0/severity: it is kept under properties.',
    'unknown_severity /findings/0/severity: it is taken as medium.',
  ]);
});

test('an id that is written as a number is read as its digits: rules of Nessus are numbers', () => {
  const { item, said } = read({ rule_id: 19506 });
  assert.equal(draftOf(item).ruleId, '19506');
  assert.deepEqual(said, ['wrong_type /findings/0/rule_id: the number is read as its digits.']);
});

test('entries of another type cost a warning in a list; the others are read', () => {
  const { item, said } = read({
    references: ['https://x.test/', 5, ''],
    related_locations: ['a.c', { path: 'b.c' }],
  });
  assert.deepEqual(said, [
    'wrong_type /findings/0/references/1: it is kept under properties.',
    'wrong_type /findings/0/related_locations/0: it is kept under properties.',
  ]);
  const { detail } = draftOf(item);
  assert.deepEqual(detail.references, ['https://x.test/']);
  assert.deepEqual(detail.related_locations, [{ path: 'b.c' }]);
  assert.deepEqual(detail.properties, { 'references/1': 5, 'related_locations/0': 'a.c' });
});

test('properties that are no object cost a warning, and zero values of Go cost none', () => {
  const { item, said } = read({ properties: 'all well', message: 0, tags: {}, fingerprint: false });
  assert.deepEqual(said, ['wrong_type /findings/0/properties: it is kept under properties.']);
  assert.deepEqual(draftOf(item).detail.properties, { properties: 'all well' });
});

test('members of the envelope of another type are left out with a warning: no branch becomes the default one', () => {
  const metadata = { branch: { name: 'main', is_default_branch: 'true', colour: 'red' }, x: 1 };
  const report = decodeCtis(ctis([], { metadata }), {});
  assert.equal(report.analyses[0]?.claimsDefaultBranch, false);
  assert.deepEqual(
    report.warnings.map(({ pointer, detail }) => `${pointer}: ${detail.split('; ').at(-1)}`),
    [
      '/metadata/x: it is left out.',
      '/metadata/branch/is_default_branch: it is left out.',
      '/metadata/branch/colour: it is left out.',
    ],
  );
});

test('members that CTIS lacks are kept where the finding shows them, in every part of it', () => {
  const finding = {
    location: { path: 'a.c', line: 5, logical_location: { name: 'f', signature: 'f()' } },
    suppression: { status: 'accepted', approved: true },
    data_flow: { sources: [{ path: 'a.c', line: 1, zzz: 'z' }], kind: 'taint' },
    stacks: [{ frames: [{ module: 'm', extra: 1 }] }],
    vulnerability: { cve_id: 'CVE-2020-1234', vendor: 'v' },
    own: 'o',
  };
  const { item, said } = read(finding);
  const { detail } = draftOf(item);
  assert.equal(said.filter((one) => one.endsWith('it is kept under properties.')).length, 5);
  assert.deepEqual(detail.properties, {
    'location/line': 5,
    'location/logical_location/signature': 'f()',
    'suppression/approved': true,
    'data_flow/sources/0/zzz': 'z',
    'stacks/0/frames/0/extra': 1,
  });
  assert.equal(said.filter((one) => one.endsWith('it is kept as data.')).length, 3);
  assert.deepEqual(detail.unknown, { own: 'o' });
  assert.deepEqual(detail.ctis, { data_flow: { kind: 'taint' } });
  assert.deepEqual(detail.vulnerability, { cve_id: 'CVE-2020-1234', vendor: 'v' });
});

test('a number in the place of a masked secret is not shown', () => {
  const secret = { secret_type: 'password', masked_value: 12345678 };
  const [draft] = drafts(decodeCtis(ctis([{ ...FINDING, type: 'secret', secret }]), {}));
  assert.ok(!JSON.stringify(draft?.detail).includes('12345678'));
});

test('a CVSS vector without a score decides where the severity is missing', () => {
  const judged = (more: object) => {
    const { item } = read({ severity: undefined, ...more });
    return [draftOf(item).severity, draftOf(item).detail.severity_from];
  };
  const of = (cvss_vector: string, more: object = {}) =>
    judged({ vulnerability: { cvss_vector, ...more } });
  const critical = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H';
  assert.deepEqual(of(critical), ['critical', 'cvss_vector']);
  assert.deepEqual(of(critical, { cvss_score: 5 }), ['medium', 'cvss_score']);
  assert.deepEqual(of('(AV:N/AC:L/Au:N/C:C/I:C/A:C)'), ['high', 'cvss_vector']);
  assert.deepEqual(of('CVSS:3.1/AV:N'), ['medium', 'default']);
  const none = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:N/I:N/A:N';
  assert.deepEqual(of(none), ['info', 'cvss_vector']);
  assert.deepEqual(judged({ scores: [{ system: 'cvss', vector: critical }] }), [
    'critical',
    'scores',
  ]);
  assert.equal(judged({ vulnerability: { cvss_vector: critical }, severity: 'low' })[0], 'low');
});

test('a suppression keeps its reason beside its justification, or in its place', () => {
  const shown = (suppression: object) => {
    const finding = { type: 'vulnerability', title: 'T', severity: 'low', suppression };
    return (onlyDraft(decodeCtis(ctis([finding]))).detail.suppressions as unknown[])[0];
  };
  const both = { justification: 'not reachable', reason: 'test code' };
  assert.deepEqual(shown(both), { status: 'accepted', ...both });
  const [status, reason] = ['accepted', 'test code'];
  assert.deepEqual(shown({ reason, justification: '' }), { status, justification: reason });
});
