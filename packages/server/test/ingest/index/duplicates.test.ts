// Which items of one report are the same item, and which one of them counts, whatever their order.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 } from 'node:zlib';
import { evidenceOf } from '../../../src/ingest/match/evidence.rules.ts';
import { Warnings } from '../../../src/ingest/json/warnings.decode.ts';
import { ItemIndex } from '../../../src/ingest/index/item-index.rules.ts';
import { at, ctis, decode, drafts, type Format, result, sarif } from '../formats/readers.ts';

const KEY = Buffer.alloc(32, 7);

/** The numbers of the items that are written; the others repeat one of them. */
function written(format: Format, document: unknown, items: readonly unknown[]): number[] {
  const itemIndex = new ItemIndex(new Warnings());
  for (const [index, draft] of drafts(decode(format, document)).entries()) {
    const tie = crc32(JSON.stringify(items[index]));
    const read = { ...draft, detail: () => draft.detail };
    itemIndex.takeFinding(read, read.suppressed, evidenceOf(read, KEY), false, tie);
  }
  const repeats = itemIndex.markRepeats(itemIndex.groups.map((_, group) => group));
  return [...repeats.keys()].filter((row) => repeats[row] === 0);
}

const RUN = {
  tool: {
    driver: { name: 'Tool' },
    extensions: [
      { name: 'one', rules: [{ id: 'r' }] },
      { name: 'two', rules: [{ id: 'r' }] },
    ],
  },
  addresses: [{ absoluteAddress: 4096 }, { absoluteAddress: 8192 }],
  threadFlowLocations: [{ location: at('x.c', { startLine: 1 }) }, { location: at('y.c') }],
};

const ofSarif = (...more: object[]): number[] => {
  const results = more.map((one) => result({ locations: [at('a.c', { startLine: 3 })], ...one }));
  return written('sarif', sarif(results, RUN), results);
};

const ofCtis = (...more: object[]): number[] => {
  const common = { type: 'vulnerability', title: 'T', severity: 'high', rule_id: 'r' };
  const findings = more.map((one) => ({ ...common, ...one }));
  return written('ctis', ctis(findings), findings);
};

const flow = (...locations: unknown[]) => ({
  codeFlows: [{ threadFlows: [{ locations: locations.map((location) => ({ location })) }] }],
});
const addressed = (address: object, uri?: string) => ({
  locations: [
    { physicalLocation: { address, ...(uri === undefined ? {} : { artifactLocation: { uri } }) } },
  ],
});
const requested = (target: string) => ({ locations: [], webRequest: { target } });
const step = (uri: string, startLine: number) => at(uri, { startLine });

test('results that differ in more than their beginning are not one item', () => {
  const region = (more: object) => ({ locations: [at('a.c', { startLine: 3, ...more })] });
  const both = (...places: unknown[]) => ({ locations: [step('a.c', 3), ...places] });
  const pairs: [string, object, object][] = [
    ['the column of the end', region({ endColumn: 5 }), region({ endColumn: 9 })],
    ['the line of the end', region({ endLine: 4 }), region({ endLine: 5 })],
    ['a second place', both(step('b.c', 1)), both(step('b.c', 2))],
    ['related', { relatedLocations: [at('b.c')] }, { relatedLocations: [at('c.c')] }],
    ['flows', flow(step('b.c', 1)), flow(step('b.c', 2))],
    ['more flows', flow(step('b.c', 1)), flow(step('b.c', 1), step('c.c', 1))],
    [
      'words of steps',
      flow({ message: { text: 'from here' } }),
      flow({ message: { text: 'from there' } }),
    ],
    [
      'steps of the table',
      { codeFlows: [{ threadFlows: [{ locations: [{ index: 0 }] }] }] },
      { codeFlows: [{ threadFlows: [{ locations: [{ index: 1 }] }] }] },
    ],
    ['stacks', { stacks: [{ frames: [{ location: at('b.c') }] }] }, {}],
    ['addresses', addressed({ absoluteAddress: 4096 }), addressed({ absoluteAddress: 8192 })],
    [
      'addresses in a file',
      addressed({ absoluteAddress: 4096 }, 'app.exe'),
      addressed({ absoluteAddress: 8192 }, 'app.exe'),
    ],
    ['addresses of the table', addressed({ index: 0 }), addressed({ index: 1 })],
    [
      'what addresses are relative to',
      addressed({ offsetFromParent: 16, parentIndex: 0 }),
      addressed({ offsetFromParent: 16, parentIndex: 1 }),
    ],
    ['ids in web addresses', requested('/orders/1?q=1'), requested('/orders/2?q=1')],
    [
      'the extension',
      { rule: { id: 'r', toolComponent: { index: 0 } } },
      { rule: { id: 'r', toolComponent: { index: 1 } } },
    ],
    [
      'the version',
      { properties: { purl: 'pkg:npm/a@1.0.0' } },
      { properties: { purl: 'pkg:npm/a@2.0.0' } },
    ],
  ];
  for (const [what, one, other] of pairs) {
    assert.deepEqual(ofSarif(one, other, one), [0, 1], what);
  }
});

test('findings that differ in title, version, end, further places, flows, stacks or object are not one item', () => {
  const location = { path: 'a.c', start_line: 3 };
  const versioned = (version: string) => ({
    vulnerability: { cve_id: 'CVE-2020-1111', purl: `pkg:npm/a@${version}` },
  });
  const sources = (line: number) => ({ data_flow: { sources: [{ path: 'b.c', line }] } });
  const related = (path: string) => ({ related_locations: [{ path }] });
  const pairs: [object, object][] = [
    [versioned('1.0.0'), versioned('2.0.0')],
    [{ location: { ...location, end_line: 4 } }, { location: { ...location, end_line: 5 } }],
    [
      { location, ...related('b.c') },
      { location, ...related('c.c') },
    ],
    [
      { location, ...sources(1) },
      { location, ...sources(2) },
    ],
  ];
  const deployed = (namespace: string) => ({
    type: 'misconfiguration',
    misconfiguration: { resource_type: 'Deployment', resource_name: 'web', namespace },
  });
  const served = (port: number) => ({
    vulnerability: { cve_id: 'CVE-2020-1111', package: 'openssl' },
    network: { host: 'shop.example.com', port },
  });
  const compiled = (offset: number) => ({
    type: 'web3',
    web3: { contract_address: `0x${'ab'.repeat(20)}`, bytecode_offset: offset },
  });
  const stacked = (path: string) => ({ stacks: [{ frames: [{ location: { path } }] }] });
  const controlled = (id: string) => ({
    location,
    compliance: { framework: 'CIS', control_id: id },
  });
  pairs.push(
    [
      { title: 'jackson', message: 'Outdated' },
      { title: 'struts', message: 'Outdated' },
    ],
    [deployed('shop'), deployed('billing')],
    [served(443), served(8443)],
    [compiled(120), compiled(4410)],
    [
      { location, ...stacked('b.c') },
      { location, ...stacked('c.c') },
    ],
    [controlled('5.2.1'), controlled('5.2.2')],
  );
  for (const [one, other] of pairs) assert.deepEqual(ofCtis(one, other, one), [0, 1]);
});

test('among equal items an unsuppressed one counts first, then the worst, in any order', () => {
  const suppressed = { suppressions: [{ kind: 'inSource' }] };
  const note = { level: 'note' };
  const error = { level: 'error' };
  assert.deepEqual(ofSarif(suppressed, note), [1]);
  assert.deepEqual(ofSarif(note, suppressed), [0]);
  assert.deepEqual(ofSarif(note, error, {}), [1]);
  assert.deepEqual(ofSarif({}, error, note), [1]);
  assert.deepEqual(ofSarif({ ...error, ...suppressed }, note), [1]);
  const [one, two, three] = [{ guid: 'a' }, { guid: 'b' }, { guid: 'c' }];
  const pick = (...some: object[]) => some[ofSarif(...some)[0] ?? -1];
  assert.equal(pick(one, two, three), pick(three, one, two));
  assert.equal(pick(one, two, three), pick(two, three, one));
});

test('what tells items apart stays the same where lines above them moved, and in another checkout', () => {
  const order = (line: number, checkout: string): string[] => {
    const file = (uri: string) => `file:///${checkout}/${uri}`;
    const run = { originalUriBaseIds: { SRCROOT: { uri: `file:///${checkout}/` } } };
    const results = [1, 2, 3, 4, 5].map((distance) =>
      result({
        locations: [at(file('a.c'), { startLine: line, endLine: line + 9 })],
        ...flow(step(file('a.c'), line - distance), step(file('b.c'), distance)),
        properties: { distance },
      }),
    );
    return drafts(decode('sarif', sarif(results, run)))
      .map((draft, index) => {
        const { duplicateKey } = evidenceOf({ ...draft, detail: () => draft.detail }, KEY);
        return `${duplicateKey.subarray(0, 8).toString('hex')} ${index}`;
      })
      .sort();
  };
  assert.deepEqual(order(30, 'srv/job-17'), order(99, 'C:/w'));
});
