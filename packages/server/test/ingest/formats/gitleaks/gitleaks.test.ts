// The rules by which Gitleaks reports become drafts, and what never leaves the reader: the value of
// a secret. The whole of a report stands in readers.golden.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentRefused } from '../../../../src/ingest/report/report.rules.ts';
import { decode, drafts, fixture } from '../readers.ts';

const SECRET = 'AKIAIOSFODNN7EXAMPLE';
const leak = (more: object = {}): object => ({
  RuleID: 'aws-access-token',
  Description: 'AWS credentials',
  StartLine: 3,
  Secret: SECRET,
  Match: `key = "${SECRET}"`,
  File: 'config/dev.env',
  Fingerprint: 'config/dev.env:aws-access-token:3',
  ...more,
});
const read = (leaks: unknown[], context = {}) => decode('gitleaks', leaks, context);

test('each entry of the list is one finding of a secret, at its place', () => {
  const [draft] = drafts(read([leak()]));
  assert.equal(draft?.type, 'secret');
  assert.equal(draft.ruleId, 'aws-access-token');
  assert.deepEqual([draft.path, draft.startLine], ['config/dev.env', 3]);
  assert.equal(draft.baseFingerprint, 'config/dev.env:aws-access-token:3');
});

test('a secret is known by its value, and shown nowhere', () => {
  const report = read([
    leak({ Message: `rotate ${SECRET}`, Line: `key = "${SECRET}"`, Extra: SECRET }),
  ]);
  const [draft] = drafts(report);
  assert.deepEqual(draft?.identity.content, [SECRET]);
  const { identity: _, ...shown } = draft;
  assert.ok(!JSON.stringify([shown, report.warnings]).includes(SECRET));
});

test('a redacted secret is no value: its identity is only what the rule says', () => {
  const [draft] = drafts(read([leak({ Secret: 'REDACTED', Match: 'REDACTED' })]));
  assert.equal(draft?.identity.isSaid, true);
});

test('the producer’s fingerprint says where the secret is, so it is no evidence', () => {
  assert.deepEqual(drafts(read([leak()]))[0]?.fingerprints, {});
});

test('asset, branch, commit and category are what the sender says', () => {
  const { analyses, assets } = read([leak()], {
    repositoryUrl: 'https://github.com/acme/shop.git',
    branch: 'refs/heads/main',
    commitSha: 'c1',
    category: 'history',
  });
  assert.equal(assets.usable[0]?.value, 'github.com/acme/shop');
  const [analysis] = analyses;
  assert.deepEqual(
    [analysis?.branch, analysis?.commitSha, analysis?.category, analysis?.coverage],
    ['main', 'c1', 'history', 'full'],
  );
});

test('one bad entry takes no other along, and a member that Gitleaks lacks is a warning', () => {
  const report = decode('gitleaks', fixture('gitleaks', 'history'));
  const outcomes = [...report.items()].map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ['finding', 'finding', 'rejected', 'rejected']);
  assert.deepEqual(report.warningsByCode, { unknown_member: 1 });
});

test('what is no list is refused', () => {
  assert.throws(
    () => decode('gitleaks', { findings: [] }),
    (error) => error instanceof DocumentRefused && error.code === 'not_gitleaks',
  );
});
