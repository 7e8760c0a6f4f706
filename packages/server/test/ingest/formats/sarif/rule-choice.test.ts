// The choice among several rules that a SARIF result may mean, and the taxa of the result: members
// that agree decide, whatever the names of tools are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeSarif, detailOfResult, drafts, oneResult, result, sarif } from '../readers.ts';

const described = (level: string, more: object = {}) => ({
  id: 'r',
  defaultConfiguration: { level },
  ...more,
});

test('among several rules with one id, an index that agrees with the id tells which is meant', () => {
  const rules = [described('note'), described('error'), { id: 'other' }];
  const severity = (more: object) => oneResult(more, {}, { rules }).severity;
  assert.equal(severity({ ruleIndex: 1 }), 'high');
  assert.equal(severity({ ruleIndex: 0 }), 'low');
  assert.equal(severity({ rule: { index: 1 } }), 'high');
  for (const more of [{}, { ruleIndex: 2 }, { ruleIndex: 9 }]) assert.equal(severity(more), 'low');
});

test('results of one rule id keep the rule that each of them means, in any order', () => {
  const rules = [described('note'), described('error')];
  const results = [1, 0, undefined, 1].map((ruleIndex) => result({ ruleIndex }));
  const read = drafts(decodeSarif(sarif(results, {}, { rules }), {}));
  assert.deepEqual(
    read.map((draft) => draft.severity),
    ['high', 'low', 'low', 'high'],
  );
});

test('among several rules with the id above a refined one, the index tells which is meant', () => {
  const rules = [described('note'), described('error'), { id: 'other' }];
  const severity = (more: object) =>
    oneResult({ ruleId: 'r/sub', message: { text: 'm' }, ...more }, {}, { rules }).severity;
  assert.equal(severity({ ruleIndex: 1 }), 'high');
  assert.equal(severity({ ruleId: undefined, rule: { id: 'r/sub/part', index: 1 } }), 'high');
  for (const more of [{}, { ruleIndex: 2 }]) assert.equal(severity(more), 'low');
});

test('among several rules with one id, a guid comes before an index', () => {
  const guid = '0b0c2a4e-3f5d-4e7a-9c1b-2d3e4f5a6b7c';
  const rules = [described('note'), described('error', { guid })];
  const meant = oneResult({ rule: { guid, index: 0 } }, {}, { rules });
  assert.equal(meant.severity, 'high');
});

test('CWE is known by its ids, and by the names that its taxonomy has in the wild', () => {
  const classes = (name: string, id: string) => {
    const detail = detailOfResult({ taxa: [{ id, toolComponent: { name } }] });
    return detail.cwe ?? detail.taxa;
  };
  for (const name of ['Common Weakness Enumeration', 'Weaknesses', 'CWE']) {
    assert.deepEqual(classes(name, 'CWE-79'), ['CWE-79']);
  }
  for (const name of ['CWE', 'CWE_v4.4', 'cwe-4.13', 'MITRE_CWE', 'Common Weakness Enumeration']) {
    assert.deepEqual(classes(name, '22'), ['CWE-22']);
  }
  assert.deepEqual(classes('WASC', '22'), ['WASC/22']);
  assert.deepEqual(classes('scwest', '22'), ['scwest/22']);
});
