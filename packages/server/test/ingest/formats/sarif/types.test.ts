// Members of another type than SARIF's, below the top of results and runs: they can't be read, and
// a warning tells their place. Members of the right type cost no warning.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, decodeSarif, drafts, onlyDraft, result, sarif } from '../readers.ts';

/** The warnings of a log with one result, as `code place`, without the place of the result. */
function said(more: object, run: object = {}, driver: object = {}): string[] {
  const report = decodeSarif(sarif([result(more)], run, driver), {});
  for (const _ of report.items());
  return report.warnings.map(
    ({ code, pointer }) => `${code} ${pointer.replace('/runs/0/results/0', '')}`,
  );
}

const one = (more: object, run: object = {}, driver: object = {}) =>
  drafts(decodeSarif(sarif([result(more)], run, driver), {}))[0];

const place = (artifactLocation: unknown, region: object = {}) => ({
  locations: [{ physicalLocation: { artifactLocation, region } }],
});

test('a line, a path, a text or an id of a wrong type is warned about where it stands', () => {
  const below = '/locations/0/physicalLocation';
  const cases: [more: object, warning: string][] = [
    [place({ uri: 'a.c' }, { startLine: '7' }), `wrong_type ${below}/region/startLine`],
    [place('a.c'), `wrong_type ${below}/artifactLocation`],
    [place({ uri: 5 }), `wrong_type ${below}/artifactLocation/uri`],
    [{ locations: ['a.c'] }, 'wrong_type /locations/0'],
    [{ taxa: [{ id: 79 }] }, 'wrong_type /taxa/0/id'],
    [
      { codeFlows: [{ threadFlows: [{ locations: [{ location: 'a.c' }] }] }] },
      'wrong_type /codeFlows/0/threadFlows/0/locations/0/location',
    ],
    [{ stacks: [{ frames: ['a.c'] }] }, 'wrong_type /stacks/0/frames/0'],
    [{ stacks: [{ frames: [{ module: 5 }] }] }, 'wrong_type /stacks/0/frames/0/module'],
    [{ fixes: [{ artifactChanges: {} }] }, 'wrong_type /fixes/0/artifactChanges'],
  ];
  for (const [more, warning] of cases) assert.deepEqual(said(more), [warning]);
});

test('a message whose text is no text costs a warning, and the rule’s text stands in for it', () => {
  const warnings = ['wrong_type /message/text', 'message_missing /message'];
  assert.deepEqual(said({ message: { text: 5 } }), warnings);
  assert.deepEqual(said({ message: {} }), ['message_missing /message']);
  assert.deepEqual(said({ message: 'a bare text' }), []);
});

test('an entry in place of a list of a result is read as that list, with a warning', () => {
  const [location] = [at('a.c', { startLine: 3 })];
  assert.deepEqual(said({ locations: location }), ['wrong_type /locations']);
  assert.equal(one({ locations: location })?.path, 'a.c');
  assert.deepEqual(one({ workItemUris: 'https://x.test/1' })?.detail.work_item_uris, [
    'https://x.test/1',
  ]);
  assert.equal(one({ suppressions: { kind: 'external' } })?.suppressed, true);
  assert.deepEqual(said({ locations: {} }), ['wrong_type /locations']);
});

test('levels of rules and configurations are read in any case, and other words cost a warning', () => {
  const rules = (level: unknown) => ({ rules: [{ id: 'r', defaultConfiguration: { level } }] });
  const pointer = '/runs/0/tool/driver/rules/0/defaultConfiguration/level';
  assert.deepEqual(said({}, {}, rules('Error')), [`unknown_word ${pointer}`]);
  assert.equal(one({}, {}, rules('Error'))?.severity, 'high');
  assert.deepEqual(said({}, {}, rules('bad')), [`unknown_word ${pointer}`]);
  assert.equal(one({}, {}, rules('bad'))?.severity, 'medium');
  assert.deepEqual(said({}, {}, rules(3)), [`wrong_type ${pointer}`]);
  const override = { descriptor: { id: 'r' }, configuration: { level: 'NOTE' } };
  const run = {
    invocations: [{ executionSuccessful: true, ruleConfigurationOverrides: [override] }],
  };
  assert.equal(one({}, run)?.severity, 'low');
});

test('rules that are no list, and entries that are no rules, cost a warning', () => {
  const driver = '/runs/0/tool/driver/rules';
  assert.deepEqual(said({}, {}, { rules: { r: {} } }), [`wrong_type ${driver}`]);
  assert.deepEqual(said({}, {}, { rules: ['r'] }), [`wrong_type ${driver}/0`]);
  assert.deepEqual(said({}, { originalUriBaseIds: { ROOT: 'file:///x/' } }), [
    'wrong_type /runs/0/originalUriBaseIds/ROOT',
  ]);
});

test('the status of a suppression is read in any case; a word that is none suppresses nothing', () => {
  const hushed = (status: string) => ({ suppressions: [{ kind: 'external', status }] });
  const shown = (status: string) => {
    const draft = onlyDraft(decodeSarif(sarif([result(hushed(status))])));
    return [draft.suppressed, (draft.detail.suppressions as { status: string }[])[0]?.status];
  };
  assert.deepEqual(shown('ACCEPTED'), [true, 'accepted']);
  assert.deepEqual(shown('UnderReview'), [false, 'underReview']);
  assert.deepEqual(shown('perhaps'), [false, 'perhaps']);
  assert.deepEqual(said(hushed('ACCEPTED')), ['unknown_word /suppressions/0/status']);
  assert.deepEqual(said(hushed('accepted')), []);
});

test('null counts as absent, and members of the right type cost no warning', () => {
  assert.deepEqual(said(place({ uri: null, index: null }, { startLine: null, message: null })), []);
  const step = { location: at('b.c', { startLine: 1 }), importance: 'essential' };
  const more = {
    ...place({ uri: 'a.c' }, { startLine: 1, snippet: { text: 'x' } }),
    codeFlows: [{ threadFlows: [{ locations: [step] }] }],
    stacks: [{ frames: [{ location: at('b.c'), parameters: ['1'] }] }],
    suppressions: [{ kind: 'inSource' }],
    taxa: [{ id: '79', toolComponent: { name: 'CWE' } }],
  };
  assert.deepEqual(said(more, { taxonomies: [{ name: 'CWE', taxa: [{ id: '79' }] }] }), []);
});

test('tags in one text are its parts between commas, for rules and for results', () => {
  const rules = [{ id: 'r', properties: { tags: 'CWE-79, security' } }];
  const draft = one({ properties: { tags: 'owned, critical,', own: 1 } }, {}, { rules });
  assert.deepEqual(draft?.detail.tags, ['owned', 'critical', 'CWE-79', 'security']);
  assert.deepEqual(draft?.detail.cwe, ['CWE-79']);
  assert.equal(draft?.severity, 'critical');
  assert.deepEqual(draft?.detail.properties, { own: 1 });
});

test('tags that are no texts stay in the property bag', () => {
  const kept = (tags: unknown) => {
    const detail = one({ properties: { tags } })?.detail;
    return [detail?.tags, detail?.properties];
  };
  assert.deepEqual(kept(['a', 5]), [['a'], { tags: [5] }]);
  assert.deepEqual(kept({ a: 'b' }), [undefined, { tags: { a: 'b' } }]);
  assert.deepEqual(kept(['a']), [['a'], undefined]);
});

test('each member of a usual place or message costs a warning when its type is wrong', () => {
  const regions =
    'startLine startColumn endLine endColumn charOffset charLength byteOffset byteLength snippet message'.split(
      ' ',
    );
  const wrong = (name: string): unknown => (name === 'message' ? 5 : 'x');
  for (const part of ['region', 'contextRegion']) {
    for (const name of regions) {
      const physicalLocation = {
        artifactLocation: { uri: 'a.c' },
        [part]: { [name]: wrong(name) },
      };
      const warning = `wrong_type /locations/0/physicalLocation/${part}/${name}`;
      assert.deepEqual(said({ locations: [{ physicalLocation }] }), [warning]);
    }
  }
  const artifact = '/locations/0/physicalLocation/artifactLocation';
  for (const [name, value] of Object.entries({ uri: 1, uriBaseId: 1, index: '1' })) {
    assert.deepEqual(said(place({ [name]: value })), [`wrong_type ${artifact}/${name}`]);
  }
  assert.deepEqual(said(place([])), [`wrong_type ${artifact}`]);
  for (const name of ['id', 'message', 'logicalLocations', 'annotations', 'physicalLocation']) {
    const location = { ...(at('a.c') as object), [name]: name === 'id' ? 'x' : 5 };
    assert.deepEqual(said({ locations: [location] }), [`wrong_type /locations/0/${name}`]);
  }
  for (const name of ['markdown', 'id', 'arguments']) {
    assert.deepEqual(said({ message: { text: 'm', [name]: 5 } }), [`wrong_type /message/${name}`]);
  }
});
