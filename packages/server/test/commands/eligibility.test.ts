// Who may take which command, as pure rules: the meaning of heartbeats of both eras, and the number
// of free slots.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isEligible,
  lacks,
  profileOf,
  type Target,
  targetText,
  whyNot,
} from '../../src/commands/eligibility.rules.ts';

const codes = (labels: Record<string, string>, reported: object, target: Target): string[] =>
  lacks(profileOf(labels, { ...reported }, 0), target).map(({ code }) => code);
const slots = (reported: object, held: number): number | null =>
  profileOf({}, { ...reported }, held).freeSlots;

test('nothing asked is nothing lacked', () => {
  assert.deepEqual(codes({}, {}, {}), []);
  assert.deepEqual(lacks(profileOf({}, {}, 0), null), []);
});

test('every label must be there with that value; names of Object’s own are no labels', () => {
  const target = { labels: { zone: 'dmz' } };
  assert.deepEqual(codes({ zone: 'dmz', more: 'x' }, {}, target), []);
  assert.deepEqual(codes({ zone: 'lan' }, {}, target), ['label_missing']);
  assert.deepEqual(codes({}, {}, { labels: { constructor: '' } }), ['label_missing']);
});

test('a tool is a scanner, a collector or an installed tool; a capability is the runner’s or such a tool’s', () => {
  const reported = {
    scanners: ['semgrep'],
    collectors: ['github'],
    capabilities: ['net'],
    tools: [{ name: 'zap', capabilities: ['dast'] }, { name: 'nmap', installed: false }, 7, null],
  };
  assert.deepEqual(codes({}, reported, { tools: ['semgrep', 'github', 'zap'] }), []);
  assert.deepEqual(codes({}, reported, { tools: ['nmap', 'Semgrep'] }), [
    'tool_missing',
    'tool_missing',
  ]);
  assert.deepEqual(codes({}, reported, { capabilities: ['net', 'dast'] }), []);
  assert.deepEqual(codes({}, reported, { capabilities: ['sast'] }), ['capability_missing']);
});

test('the scanner of a payload is asked only of those who say which they have', () => {
  const target = { scanner: 'trivy-fs' };
  assert.deepEqual(codes({}, {}, target), []);
  assert.deepEqual(codes({}, { scanners: [] }, target), []);
  assert.deepEqual(codes({}, { tools: [{ name: 'trivy' }] }, target), []);
  assert.deepEqual(codes({}, { scanners: ['semgrep'] }, target), ['tool_missing']);
  assert.deepEqual(codes({}, { scanners: ['semgrep'], tools: [{ name: 'trivy-fs' }] }, target), []);
});

test('free slots: unlimited when unsaid, else what is left of them', () => {
  assert.equal(slots({}, 7), null);
  assert.equal(slots({ max_concurrent_jobs: 4 }, 1), 3);
  assert.equal(slots({ max_concurrent_jobs: 4 }, 9), 0);
  const of = (total: number, free: number) => ({
    capacity: { slots_total: total, slots_free: free },
  });
  assert.equal(slots(of(4, 1), 0), 1, 'what it does besides is not ours');
  assert.equal(slots(of(4, 4), 3), 1, 'claimed since its heartbeat');
  assert.equal(slots({ ...of(4, 0), running: ['a', 'b', 'c', 'd'] }, 3), 1, 'finished since');
  assert.equal(slots({ ...of(4, 1), running: ['a'] }, 1), 1, 'one of ours, two of its own');
  assert.equal(slots({ capacity: { slots_total: 'many' } }, 0), null);
});

test('a pin beats what was asked, and equal wishes are one text', () => {
  const aimed = { runner_id: 'r1', target: targetText({ tools: ['x'] }) };
  assert.equal(isEligible('r1', profileOf({}, {}, 0), aimed), true);
  assert.equal(isEligible('r2', profileOf({}, {}, 0), aimed), false);
  assert.equal(
    targetText({ labels: { b: '1', a: '2' }, tools: ['y', 'x', 'x'] }),
    targetText({ tools: ['x', 'y'], labels: { a: '2', b: '1' } }),
  );
  assert.equal(targetText({ labels: {}, tools: [] }), null);
});

test('a runner that fits and is there has no reason against it', () => {
  const profile = profileOf({}, {}, 0);
  const fit = {
    runnerId: 'r',
    admin: 'active',
    presence: 'late',
    hasScope: true,
    profile,
    offers: 2,
    restMs: 0,
  } as const;
  assert.deepEqual(whyNot(fit, { runner_id: null, target: null }), []);
  const all = whyNot(
    { ...fit, admin: 'paused', presence: 'never', hasScope: false, offers: 3, restMs: 4001 },
    { runner_id: 'other', target: null },
  );
  assert.deepEqual(
    all.map(({ code }) => code),
    ['paused', 'scope_missing', 'pinned_elsewhere', 'offline', 'given_back', 'ignored'],
  );
});
