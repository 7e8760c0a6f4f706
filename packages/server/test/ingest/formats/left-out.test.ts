// No part of a report is left out without being counted: a list beyond its bound is a warning at
// the first item with such a list, with the number of entries that are left out.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@muster/contract';
import {
  at,
  ctis,
  type DecodedReport,
  decodeCtis,
  decodeSarif,
  detailOfResult,
  drafts,
  oneResult,
  result,
  sarif,
} from './readers.ts';

const LEFT_OUT = 3;

/** The given number of entries, each made from its number. */
const entries = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Three entries more than the bound. */
const tooMany = <T>(max: number, make: (index: number) => T): T[] => entries(max + LEFT_OUT, make);

const text = (words: string) => ({ text: words });
const named = (name: string, index: number) => ({ [`${name}${index}`]: text('v') });

interface Case {
  readonly what: string;
  readonly result?: object;
  readonly run?: object;
  readonly driver?: object;
}

const taxon = (index: number) => ({ id: `T${index}`, toolComponent: { name: 'Own' } });
const PLACE = at('a.c') as object;

const CASES: readonly Case[] = [
  { what: 'taxa of a result', result: { taxa: tooMany(50, taxon) } },
  {
    what: 'relationships of a rule',
    driver: { rules: [{ id: 'r', relationships: tooMany(50, (i) => ({ target: taxon(i) })) }] },
  },
  { what: 'taxonomies', run: { taxonomies: tooMany(100, (i) => ({ name: `own ${i}` })) } },
  {
    what: 'translations',
    run: { translations: tooMany(50, (i) => ({ language: `x${i}`, name: 'Tool' })) },
  },
  {
    what: 'repositories',
    run: {
      versionControlProvenance: tooMany(50, (i) => ({ repositoryUri: `https://h.test/${i}` })),
    },
  },
  {
    what: 'directories that paths are relative to',
    run: {
      originalUriBaseIds: Object.fromEntries(
        tooMany(50, (i) => [`B${i}`, { uri: `file:///d${i}/` }] as const),
      ),
    },
  },
  {
    what: 'rules of a policy',
    run: { policies: [{ rules: tooMany(10_000, (i) => ({ id: `p${i}` })) }] },
  },
  { what: 'locations', result: { locations: tooMany(limits.locationsMax, () => PLACE) } },
  {
    what: 'locations without a place',
    result: { locations: tooMany(limits.locationsMax, () => ({ message: text('somewhere') })) },
  },
  { what: 'related locations', result: { relatedLocations: tooMany(100, () => PLACE) } },
  {
    what: 'relationships of a location',
    result: { locations: [{ ...PLACE, relationships: tooMany(20, (i) => ({ target: i })) }] },
  },
  {
    what: 'kinds of a relationship',
    result: {
      locations: [{ ...PLACE, relationships: [{ target: 1, kinds: tooMany(20, (i) => `k${i}`) }] }],
    },
  },
  {
    what: 'annotations',
    result: {
      locations: [
        {
          physicalLocation: { artifactLocation: { uri: 'a.c' } },
          annotations: tooMany(20, (i) => ({ startLine: i + 1 })),
        },
      ],
    },
  },
  {
    what: 'logical locations',
    result: { locations: [{ logicalLocations: tooMany(20, (i) => ({ name: `f${i}` })) }] },
  },
  {
    what: 'suppressions',
    result: { suppressions: tooMany(limits.tagsMax, () => ({ kind: 'external' })) },
  },
  {
    what: 'sources of a conversion',
    result: {
      provenance: { conversionSources: tooMany(10, () => ({ artifactLocation: { uri: 'a' } })) },
    },
  },
  {
    what: 'steps of flows',
    result: {
      codeFlows: [{ threadFlows: [{ locations: tooMany(100, () => ({ location: PLACE })) }] }],
    },
  },
  {
    what: 'values of a state',
    result: {
      codeFlows: [
        {
          threadFlows: [
            {
              initialState: Object.assign({}, ...tooMany(20, (i) => named('v', i))),
              locations: [{ location: PLACE }],
            },
          ],
        },
      ],
    },
  },
  {
    what: 'frames of stacks',
    result: { stacks: [{ frames: tooMany(100, () => ({ location: PLACE })) }] },
  },
  {
    what: 'parameters of a frame',
    result: {
      stacks: [{ frames: [{ location: PLACE, parameters: tooMany(20, (i) => `p${i}`) }] }],
    },
  },
  {
    what: 'nodes of a graph',
    result: { graphs: [{ nodes: tooMany(100, (i) => ({ id: `n${i}` })) }] },
  },
  {
    what: 'traversals',
    result: { graphTraversals: tooMany(50, () => ({ edgeTraversals: [{ edgeId: 'e' }] })) },
  },
  { what: 'fixes', result: { fixes: tooMany(10, () => ({ description: text('d') })) } },
  {
    what: 'attachments',
    result: { attachments: tooMany(20, (i) => ({ artifactLocation: { uri: `a${i}` } })) },
  },
  {
    what: 'headers of a request',
    result: {
      webRequest: { headers: Object.fromEntries(tooMany(50, (i) => [`h${i}`, 'v'] as const)) },
    },
  },
  {
    what: 'parameters of a request',
    result: {
      webRequest: { parameters: Object.fromEntries(tooMany(50, (i) => [`p${i}`, 'v'] as const)) },
    },
  },
  { what: 'work items', result: { workItemUris: tooMany(100, (i) => `https://h.test/${i}`) } },
  { what: 'tags', result: { properties: { tags: tooMany(limits.tagsMax, (i) => `t${i}`) } } },
];

/** The warnings about lists after all items were read. */
function toldOfLists(report: DecodedReport) {
  for (const _ of report.items());
  return report.warnings
    .filter(({ code }) => code === 'list_cut')
    .map(({ pointer, detail }) => [pointer, Number.parseInt(detail, 10)]);
}

for (const { what, result: more, run, driver } of CASES) {
  test(`in a SARIF log, ${what} beyond their bound are counted where they stand`, () => {
    const log = sarif([result(more ?? {})], run, driver);
    assert.deepEqual(toldOfLists(decodeSarif(log)), [['/runs/0/results/0', LEFT_OUT]]);
  });
}

const FINDING = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };

const CTIS_CASES: readonly (readonly [string, object, Record<string, number>?])[] = [
  ['references', { references: tooMany(100, (i) => `https://h.test/${i}`) }],
  ['tags', { tags: tooMany(50, (i) => `t${i}`) }],
  [
    'related locations',
    { related_locations: tooMany(100, (i) => ({ path: `${i}.c` })) },
    { related_locations: LEFT_OUT },
  ],
  [
    'steps of a data flow',
    { data_flow: { sources: tooMany(100, (i) => ({ path: 'a.c', line: i + 1 })) } },
    { code_flows: LEFT_OUT },
  ],
  [
    'frames of stacks',
    { stacks: [{ frames: tooMany(100, () => ({ module: 'm' })) }] },
    { stacks: LEFT_OUT },
  ],
  [
    'parameters of a frame',
    { stacks: [{ frames: [{ module: 'm', parameters: tooMany(20, (i) => `p${i}`) }] }] },
  ],
];

for (const [what, more, omitted] of CTIS_CASES) {
  test(`in a CTIS finding, ${what} beyond their bound are counted where they stand`, () => {
    const report = decodeCtis(ctis([{ ...FINDING, ...more }]));
    const [draft] = drafts(report);
    assert.deepEqual(draft?.detail.omitted, omitted);
    assert.deepEqual(toldOfLists(decodeCtis(ctis([{ ...FINDING, ...more }]))), [
      ['/findings/0', LEFT_OUT],
    ]);
  });
}

test('edges of a component beyond their bound are counted, without repeats', () => {
  const names = tooMany(1000, (i) => ({ name: `n${i}`, version: '1' }));
  const edges = names.map(({ name }) => name);
  const root = { name: 'root', version: '1', depends_on: [...edges, ...edges] };
  const report = decodeCtis(ctis([], { dependencies: [root, ...names] }));
  assert.equal(report.components.usable[0]?.dependsOn.length, 1000);
  assert.deepEqual(toldOfLists(report), [['/dependencies/0', LEFT_OUT]]);
});

test('fingerprints beyond their bound are counted among those that are not used', () => {
  const partialFingerprints = Object.fromEntries(tooMany(32, (i) => [`f${i}`, `v${i}`] as const));
  const { fingerprints, detail } = oneResult({ partialFingerprints });
  assert.equal(Object.keys(fingerprints).length, 32);
  assert.deepEqual(detail.fingerprints_ignored, { '…': '3 beyond the first 32' });
});

test('a list within its bound costs no warning, and a warning names the first of several places', () => {
  const full = { workItemUris: entries(100, (i) => `https://h.test/${i}`) };
  const more = { workItemUris: tooMany(100, (i) => `https://h.test/${i}`) };
  const report = decodeSarif(sarif([full, more, more].map(result)));
  assert.deepEqual(toldOfLists(report), [['/runs/0/results/1', 2 * LEFT_OUT]]);
});

test('a long header, a long description of a rule and a long name of a bag are told as cut', () => {
  const cut = (more: object, driver: object = {}) => {
    const report = decodeSarif(sarif([result(more)], {}, driver));
    for (const _ of report.items());
    return report.warnings.map(({ pointer, code }) => [pointer, code]);
  };
  const told = [['/runs/0/results/0', 'text_cut']];
  assert.deepEqual(cut({ webRequest: { headers: { accept: 'x'.repeat(3000) } } }), told);
  const rules = [{ id: 'r', fullDescription: text('d'.repeat(1001)) }];
  assert.deepEqual(cut({}, { rules }), told);
  const long = 'n'.repeat(129);
  assert.deepEqual(cut({ fixes: [{ [long]: { properties: { a: 1 } } }] }), told);
  const shown = detailOfResult({ webRequest: { headers: { accept: 'x'.repeat(3000) } } });
  assert.match(String(shown.web_request?.headers?.accept), /…$/);
});

test('the warnings about cut texts and lists are shown however many other warnings there are', () => {
  const unknown = Object.fromEntries(entries(2 * limits.receiptWarningsMax, (i) => [`u${i}`, i]));
  const message = text(`\0${'x'.repeat(2 * limits.messageCharsMax)}`);
  const report = decodeSarif(sarif([result({ ...unknown, message })]));
  for (const _ of report.items());
  assert.equal(report.warnings.length, limits.receiptWarningsMax);
  const codes = report.warnings.map(({ code }) => code);
  assert.deepEqual(codes.slice(-2), ['text_repaired', 'text_cut']);
});
