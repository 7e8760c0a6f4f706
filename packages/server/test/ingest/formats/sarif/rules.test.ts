// The rule of a SARIF result, and the level, the rank, the message and the weaknesses that the
// result has from it (SARIF 2.1.0 §3.11, §3.27.5-§3.27.11, §3.50-§3.54).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeSarif, detailOfResult, drafts, oneResult, result, sarif } from '../readers.ts';

const nameOf = (more: object, tool: object): string | undefined =>
  detailOfResult(more, { tool }).rule?.name;

test('a parent is looked for up to 16 levels above an id, and not at all above one that is cut', () => {
  const tool = { driver: { name: 'T', rules: [{ id: 'a', name: 'the parent' }] } };
  assert.equal(nameOf({ ruleId: `a${'/b'.repeat(16)}` }, tool), 'the parent');
  assert.equal(nameOf({ ruleId: `a/${'b'.repeat(600)}` }, tool), undefined);
  const report = decodeSarif(sarif([result({ ruleId: `a${'/b'.repeat(17)}` })], { tool }));
  assert.equal(drafts(report)[0]?.detail['rule'], undefined);
  assert.deepEqual(
    report.warnings.map(({ pointer, code }) => [pointer, code]),
    [['/runs/0/results/0', 'rule_levels_cut']],
  );
});

test('two components may have rules of one id; the reference says whose is meant', () => {
  const rule = (name: string) => ({ id: 'same', name });
  const tool = {
    driver: { name: 'T', rules: [rule('of the driver')] },
    extensions: [
      { name: 'first', guid: 'G1', rules: [rule('of the first')] },
      { name: 'second', guid: 'G2', rules: [rule('of the second')] },
    ],
  };
  const named = (toolComponent?: object) =>
    nameOf({ ruleId: 'same', rule: { ...(toolComponent && { toolComponent }) } }, tool);
  assert.equal(named(), 'of the driver');
  assert.equal(named({}), 'of the driver');
  assert.equal(named({ index: -1 }), 'of the driver');
  assert.equal(named({ name: 'T' }), 'of the driver');
  assert.equal(named({ index: 0 }), 'of the first');
  assert.equal(named({ name: 'second' }), 'of the second');
  assert.equal(named({ guid: 'G2', name: 'first' }), 'of the second');
});

test('a wrong component index never beats its name or guid', () => {
  const tool = {
    driver: { name: 'T', rules: [] },
    extensions: [
      { name: 'first', rules: [{ id: 'x', name: 'x of the first' }] },
      { name: 'second', rules: [{ id: 'x', name: 'x of the second' }] },
    ],
  };
  const rule = { id: 'x', toolComponent: { name: 'second', index: 0 } };
  assert.equal(nameOf({ ruleId: 'x', rule }, tool), 'x of the second');
});

test('an index into a component that is not there leads to no rule', () => {
  const tool = { driver: { name: 'T', rules: [{ id: 'a', name: 'first of the driver' }] } };
  const byIndex = (toolComponent: object) =>
    nameOf({ ruleId: undefined, rule: { index: 0, toolComponent } }, tool);
  assert.equal(byIndex({ index: 7 }), undefined);
  assert.equal(byIndex({ name: 'elsewhere' }), undefined);
  assert.equal(byIndex({}), 'first of the driver');
});

test('an override changes the level of its rule only, in its own component, of its own invocation', () => {
  const tool = {
    driver: {
      name: 'T',
      rules: [{ id: 'a', defaultConfiguration: { level: 'note' } }, { id: 'b' }],
    },
    extensions: [{ name: 'e', rules: [{ id: 'a' }] }],
  };
  const override = (descriptor: object, level: string) => ({
    descriptor,
    configuration: { level },
  });
  const level = (more: object, invocations: unknown[]) =>
    detailOfResult(more, { tool, invocations }).level;
  const first = { ruleConfigurationOverrides: [override({ id: 'a' }, 'error')] };
  assert.equal(level({ ruleId: 'a' }, [first]), 'error');
  assert.equal(level({ ruleId: 'b' }, [first]), 'warning');
  assert.equal(level({ ruleId: 'a', rule: { toolComponent: { index: 0 } } }, [first]), 'warning');
  const inExtension = override({ id: 'a', toolComponent: { index: 0 } }, 'none');
  const second = { ruleConfigurationOverrides: [inExtension] };
  const inSecond = { ruleId: 'a', provenance: { invocationIndex: 1 } };
  assert.equal(level(inSecond, [first, second]), 'note');
  assert.equal(
    level({ ...inSecond, rule: { toolComponent: { index: 0 } } }, [first, second]),
    'none',
  );
  // Among several invocations, none is the result's unless the result says so.
  assert.equal(level({ ruleId: 'a' }, [first, second]), 'note');
  const byIndex = { ruleConfigurationOverrides: [override({ index: 1 }, 'error')] };
  assert.equal(level({ ruleId: 'b' }, [byIndex]), 'error');
});

test('an override of a rule holds for its refinements, one of a refinement for that alone', () => {
  const tool = { driver: { name: 'T', rules: [{ id: 'CA1000' }] } };
  const overrides = (id: string) => ({
    invocations: [
      {
        ruleConfigurationOverrides: [{ descriptor: { id }, configuration: { level: 'error' } }],
      },
    ],
    tool,
  });
  const level = (ruleId: string, run: object) => detailOfResult({ ruleId }, run).level;
  assert.equal(level('CA1000/1', overrides('CA1000')), 'error');
  assert.equal(level('CA1000/1', overrides('CA1000/1')), 'error');
  assert.equal(level('CA1000/2', overrides('CA1000/1')), 'warning');
});

test('the rank is the result’s, the invocation’s, or the rule’s; -1 says nothing', () => {
  const rules = [{ id: 'r', defaultConfiguration: { rank: 20 } }];
  const configuration = { rank: 30 };
  const invocations = [
    { ruleConfigurationOverrides: [{ descriptor: { id: 'r' }, configuration }] },
  ];
  assert.equal(detailOfResult({ rank: 0 }, { invocations }, { rules }).rank, 0);
  assert.equal(detailOfResult({ rank: -1 }, { invocations }, { rules }).rank, 30);
  assert.equal(detailOfResult({}, {}, { rules }).rank, 20);
  assert.equal(detailOfResult({ rank: -1 }).rank, undefined);
});

test('a rank or a count that SARIF can’t have is left out with a warning', () => {
  const rules = [{ id: 'r', defaultConfiguration: { rank: 101 } }];
  assert.equal(detailOfResult({ rank: 100.5 }, {}, { rules }).rank, undefined);
  assert.equal(detailOfResult({ rank: 100, occurrenceCount: 3 }).occurrence_count, 3);
  for (const occurrenceCount of [0, -1, 1.5, 1e300]) {
    assert.equal(detailOfResult({ occurrenceCount }).occurrence_count, undefined);
  }
  const report = decodeSarif(sarif([result({ rank: 400, occurrenceCount: 0 })]));
  drafts(report);
  const told = report.warnings.filter(({ code }) => code === 'out_of_range');
  assert.deepEqual(
    told.map(({ pointer }) => pointer),
    ['/runs/0/results/0/rank', '/runs/0/results/0/occurrenceCount'],
  );
});

test('weaknesses are found in the last of many tags, too', () => {
  const tags = [...Array.from({ length: 300 }, (_, index) => `some-tag-${index}`), 'CWE-79'];
  const rules = [{ id: 'r', properties: { tags } }];
  assert.deepEqual(detailOfResult({}, {}, { rules }).cwe, ['CWE-79']);
});

test('more tags, ids and properties than a call has room for are read all the same', () => {
  const many = [
    ...Array.from({ length: 200_000 }, () => 't'),
    'CWE-79',
    'A03:2021',
    'CVE-2024-1234',
  ];
  const { cwe, owasp } = detailOfResult({ properties: { tags: many, cwe: many } });
  assert.deepEqual([cwe, owasp], [['CWE-79'], ['A03:2021']]);
  const rules = [{ id: 'r', deprecatedIds: many, properties: { tags: many } }];
  assert.deepEqual(detailOfResult({}, {}, { rules }).vulnerability_ids, ['CVE-2024-1234']);
});

test('words and scores of tools map to severities, the source beside them', () => {
  const severity = (properties: object) => {
    const draft = oneResult({ properties });
    return [draft.severity, draft.detail.severity_from];
  };
  assert.deepEqual(severity({ DevSkimSeverity: 'Important' }), [
    'high',
    'properties.DevSkimSeverity',
  ]);
  assert.deepEqual(severity({ cvssv3_baseSeverity: 'MEDIUM', cvssv2_score: '9.9' }), [
    'medium',
    'properties.cvssv3_baseSeverity',
  ]);
  assert.deepEqual(severity({ cvssv2_score: '9.9' }), ['high', 'properties.cvssv2_score']);
  assert.deepEqual(severity({ 'security-severity': '0.0' }), ['info', 'security-severity']);
  for (const odd of ['9.8 (Critical)', ' 9.8/10 ', '9.8 / 10.0 (CVSS 3.1)', 'Critical']) {
    assert.deepEqual(
      severity({ 'security-severity': odd }),
      ['critical', 'security-severity'],
      odd,
    );
  }
  for (const none of ['', '9.8.1', '98', '-1', 'NaN', '9.8 of 10']) {
    assert.deepEqual(severity({ 'security-severity': none }), ['medium', 'level'], none);
  }
});

test('a level in another case is that level, and a level that names a severity decides the severity', () => {
  const severity = (level: unknown, more: object = {}) => {
    const draft = oneResult({ level, ...more });
    return [draft.severity, draft.detail.level];
  };
  assert.deepEqual(severity('Note'), ['low', 'note']);
  assert.deepEqual(severity('CRITICAL'), ['critical', 'warning']);
  assert.deepEqual(severity('whatever'), ['medium', 'warning']);
  assert.deepEqual(oneResult({ level: 'CRITICAL' }).detail.severity_raw, { level: 'CRITICAL' });
  const scored = { properties: { 'security-severity': '2' } };
  assert.deepEqual(severity('CRITICAL', scored), ['low', 'warning']);
});

test('a policy goes before the invocation and the rule, for the rules of its own component', () => {
  const rules = [{ id: 'r', defaultConfiguration: { level: 'note', rank: 20 } }];
  const policy = (level: string, associatedComponent?: object) => ({
    name: 'p',
    ...(associatedComponent && { associatedComponent }),
    rules: [{ id: 'r', defaultConfiguration: { level } }, { id: 'other' }, null],
  });
  const override = { descriptor: { id: 'r' }, configuration: { level: 'none', rank: 30 } };
  const run = { invocations: [{ ruleConfigurationOverrides: [override] }] };
  const level = (policies: unknown, more: object = {}) => {
    const { detail } = oneResult(more, { ...run, policies }, { rules });
    return [detail.level, detail.rank];
  };
  assert.deepEqual(level([policy('error')]), ['error', 30]);
  assert.deepEqual(level([policy('error'), policy('warning')]), ['error', 30]);
  assert.deepEqual(level([policy('error')], { level: 'warning' }), ['warning', 30]);
  assert.deepEqual(level([7, { rules: 7 }]), ['none', 30]);
  const extension = { name: 'e', rules: [{ id: 'r' }] };
  const tool = { driver: { name: 'Tool', rules }, extensions: [extension] };
  const elsewhere = { tool, policies: [policy('error', { name: 'e' })] };
  assert.equal(oneResult({}, elsewhere).detail.level, 'note');
  const named = { rule: { toolComponent: { name: 'e' } } };
  assert.equal(oneResult(named, elsewhere).detail.level, 'error');
});

test('messages of a rule that its component doesn’t describe are looked for in that component', () => {
  const strings = (value: string) => ({ globalMessageStrings: { x: { text: value } } });
  const tool = {
    driver: { name: 'Tool', ...strings('driver') },
    extensions: [{ name: 'e', ...strings('extension') }],
  };
  const said = (rule?: object) =>
    oneResult({ message: { id: 'x' }, ...(rule && { rule }) }, { tool }).message;
  assert.equal(said({ toolComponent: { name: 'e' } }), 'extension');
  assert.equal(said({ toolComponent: { index: 0 } }), 'extension');
  assert.equal(said({ toolComponent: { name: 'nobody' } }), 'driver');
  assert.equal(said(), 'driver');
});

test('a translation says what the tool’s own component leaves out, in the run’s language first', () => {
  const text = (value: string) => ({ text: value });
  const strings = { own: text('own'), both: text('driver') };
  const rules = [{ id: 'r', messageStrings: strings }];
  const translation = (language: string, associatedComponent?: object) => ({
    name: 't',
    language,
    ...(associatedComponent && { associatedComponent }),
    globalMessageStrings: { all: text(`${language} all {0}`) },
    rules: [
      {
        id: 'r',
        shortDescription: text(`${language} short`),
        messageStrings: { both: text(language), only: text(`${language} only`) },
      },
    ],
  });
  const read = (id: string, run: object) =>
    oneResult({ message: { id, arguments: ['x'] } }, run, { rules });
  const run = { language: 'fr-FR', translations: [translation('de-DE'), translation('fr-FR')] };
  assert.equal(read('both', run).message, 'driver');
  assert.equal(read('only', run).message, 'fr-FR only');
  assert.equal(read('all', run).message, 'fr-FR all x');
  assert.equal(read('none', run).message, 'none: x');
  assert.equal(read('own', run).title, 'fr-FR short');
  assert.equal(read('only', { translations: run.translations }).message, 'de-DE only');
  const foreign = { translations: [translation('fr-FR', { name: 'e' }), 7, { rules: [null] }] };
  assert.equal(read('only', foreign).message, 'only: x');
});

test('help stands in for a description that a rule doesn’t have', () => {
  const description = (rule: object) =>
    detailOfResult({}, {}, { rules: [{ id: 'r', help: { text: 'Do so.' }, ...rule }] }).rule
      ?.description;
  assert.equal(description({}), 'Do so.');
  assert.equal(description({ shortDescription: { text: 'It is so.' } }), 'It is so.');
});

test('{{ and }} of a message string are braces even where nothing is filled in', () => {
  const rules = [
    { id: 'r', messageStrings: { d: { text: 'a {{0}} {{{0}}} }}', markdown: '*{{0}}* {0}' } } },
  ];
  const message = (more: object) => oneResult({ message: { id: 'd', ...more } }, {}, { rules });
  assert.equal(message({}).message, 'a {0} {{0}} }');
  const filled = message({ arguments: ['{1}', 'never'] });
  assert.equal(filled.message, 'a {0} {{1}} }');
  assert.equal(filled.detail.message_markdown, '*{0}* {1}');
});

test('a message’s own text is filled in only where there are arguments', () => {
  const text = 'use ${{ github.ref }} {0}';
  assert.equal(oneResult({ message: { text } }).message, text);
  assert.equal(
    oneResult({ message: { text: 'use {{x}} {0} {00}', arguments: ['y'] } }).message,
    'use {x} y y',
  );
});

test('message ids lead to the rule’s strings before the tool’s, in the rule’s own component', () => {
  const tool = {
    driver: { name: 'T', globalMessageStrings: { m: { text: 'global of the driver' } } },
    extensions: [
      {
        name: 'e',
        globalMessageStrings: { m: { text: 'global of e' }, n: { text: 'n of e' } },
        rules: [{ id: 'x', messageStrings: { m: { text: 'own of x' } } }],
      },
    ],
  };
  const message = (more: object, id: string) =>
    oneResult({ ...more, message: { id } }, { tool }).message;
  assert.equal(message({ ruleId: 'x' }, 'm'), 'own of x');
  assert.equal(message({ ruleId: 'x' }, 'n'), 'n of e');
  assert.equal(message({ ruleId: 'unknown' }, 'm'), 'global of the driver');
});

test('a title has the texts of links only, the message keeps them whole', () => {
  const text = 'This [\\[raw\\] value](1) flows [here](https://x.test/a) (2) [and](no link';
  const draft = oneResult({ message: { text } });
  assert.equal(draft.title, 'This [raw] value flows here (2) [and](no link');
  assert.equal(draft.message, text);
});
