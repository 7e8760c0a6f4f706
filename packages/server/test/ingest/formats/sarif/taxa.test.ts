// The classes of weakness of a SARIF result: from its own taxa, from its rule, and from the taxa
// that these relate to (SARIF 2.1.0 §3.19, §3.27.8, §3.53).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeSarif, detailOfResult, drafts, result, sarif } from '../readers.ts';

test('taxa are found by id before index, in the taxonomy that name or guid says', () => {
  const taxonomies = [
    { name: 'Own', guid: 'g-own', taxa: [{ id: 'A' }, { id: 'B', guid: 'g-b' }] },
    { name: 'CWE', guid: 'g-cwe', taxa: [{ id: '89' }, { id: '79' }] },
  ];
  const classes = (...taxa: object[]) => {
    const { cwe, taxa: others } = detailOfResult({ taxa }, { taxonomies });
    return [cwe, others];
  };
  const cwe = { name: 'cwe' };
  assert.deepEqual(classes({ id: '79', index: 0, toolComponent: cwe }), [['CWE-79'], undefined]);
  assert.deepEqual(classes({ index: 0, toolComponent: { guid: 'G-CWE', index: 0 } }), [
    ['CWE-89'],
    undefined,
  ]);
  assert.deepEqual(classes({ index: 1, toolComponent: { index: 0 } }), [undefined, ['Own/B']]);
  assert.deepEqual(classes({ guid: 'g-b', toolComponent: { name: 'Own' } }), [
    undefined,
    ['Own/B'],
  ]);
  // Only the name of this taxonomy is known.
  assert.deepEqual(classes({ id: 'T1', index: 0, toolComponent: { name: 'Other', index: 1 } }), [
    undefined,
    ['Other/T1'],
  ]);
  assert.deepEqual(classes({ index: 0, toolComponent: { name: 'Other' } }), [undefined, undefined]);
});

test('a taxon that lies within one of another taxonomy makes the result belong to both', () => {
  const target = (id: string, name: string) => ({ target: { id, toolComponent: { name } } });
  const taxonomies = [
    {
      name: 'Categories',
      taxa: [
        { id: 'INJ', relationships: [{ ...target('89', 'CWE'), kinds: ['superset'] }] },
        // `subset`: the CWE is a part of the category, so a rule in the category needn't have it.
        { id: 'BROAD', relationships: [{ ...target('78', 'CWE'), kinds: ['subset'] }] },
        { id: 'LOOP', relationships: [{ ...target('LOOP', 'Other'), kinds: ['equal'] }] },
      ],
    },
    {
      name: 'CWE',
      taxa: [{ id: '89', relationships: [{ ...target('943', 'CWE'), kinds: ['superset'] }] }],
    },
    {
      name: 'Other',
      taxa: [
        { id: 'LOOP', relationships: [{ ...target('LOOP', 'Categories'), kinds: ['equal'] }] },
      ],
    },
  ];
  const classes = (id: string, kinds?: string[]) => {
    const relationships = [{ ...target(id, 'Categories'), ...(kinds && { kinds }) }];
    const { cwe, taxa } = detailOfResult(
      {},
      { taxonomies },
      { rules: [{ id: 'r', relationships }] },
    );
    return [cwe, taxa];
  };
  assert.deepEqual(classes('INJ'), [['CWE-89'], ['Categories/INJ']]);
  assert.deepEqual(classes('BROAD'), [undefined, ['Categories/BROAD']]);
  assert.deepEqual(classes('LOOP'), [undefined, ['Categories/LOOP', 'Other/LOOP']]);
  assert.deepEqual(classes('INJ', ['disjoint']), [undefined, undefined]);
  assert.deepEqual(classes('INJ', ['canPrecede', 'relevant']), [['CWE-89'], ['Categories/INJ']]);
});

test('a relationship that leads to another rule is no classification', () => {
  const rules = [{ id: 'r', relationships: [{ target: { id: 's' } }] }, { id: 's' }];
  assert.equal(detailOfResult({}, {}, { rules }).taxa, undefined);
  const taxa = [{ id: 's' }];
  assert.deepEqual(detailOfResult({}, {}, { rules, taxa }).taxa, ['tool/s']);
});

test('each result of a rule has the same classes, its own beside them', () => {
  const rules = [{ id: 'r', properties: { tags: ['CWE-22'] } }];
  const own = { properties: { cwe: ['CWE-23'] } };
  const report = decodeSarif(sarif([result({}), result(own)], {}, { rules }), {});
  assert.deepEqual(
    drafts(report).map(({ detail }) => detail.cwe),
    [['CWE-22'], ['CWE-22', 'CWE-23']],
  );
});
