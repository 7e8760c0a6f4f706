// Habits of real SARIF files, one test for each: the twenty-five that a collection of real files
// showed. Habits 22 and 23 are about bytes that aren't JSON (BOM, LFS pointers, doubled keys,
// encodings); the tests of reading a document from bytes have them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentRefused } from '../../../../src/ingest/report/report.rules.ts';
import {
  decodeSarif,
  at,
  detailOfResult,
  drafts,
  oneResult,
  onlyDraft,
  result,
  sarif,
  warningCodes,
} from '../readers.ts';

const outcomes = (results: unknown[], run: object = {}, driver: object = {}) =>
  [...decodeSarif(sarif(results, run, driver), {}).items()].map(({ outcome }) => outcome);

test('pitfall 1: results that are absent, null or empty say different things', () => {
  const said = (results: unknown) => {
    const report = decodeSarif(sarif(results), {});
    return [report.analyses[0]?.listed, warningCodes(report)];
  };
  assert.deepEqual(said([]), [true, []]);
  assert.deepEqual(said(null), [false, ['results_missing']]);
  assert.deepEqual(said(undefined), [false, ['results_missing']]);
});

test('pitfall 2: runs of one tool are told apart by category, not by their order', () => {
  const run = (id: string, ruleId: string) => ({
    tool: { driver: { name: 'CodeQL' } },
    automationDetails: { id },
    results: [result({ ruleId })],
  });
  const runs = [run('java/1', 'j'), run('python/1', 'p'), null, run('java/2', 'j2')];
  const read = (order: unknown[]) => {
    const report = decodeSarif({ version: '2.1.0', runs: order }, {});
    const found = drafts(report).map(
      ({ ruleId, analysis }) => `${report.analyses[analysis]?.category} ${ruleId}`,
    );
    return found.sort();
  };
  assert.deepEqual(read(runs), ['java j', 'java j2', 'python p']);
  assert.deepEqual(read(runs.toReversed()), read(runs));
  assert.deepEqual(read([]), []);
});

test('pitfall 3: the level is the result’s, the rule’s, else warning; other kinds are no problem', () => {
  const rules = [{ id: 'r', defaultConfiguration: { level: 'error' } }];
  assert.equal(oneResult({ level: 'note' }, {}, { rules }).severity, 'low');
  assert.equal(oneResult({}, {}, { rules }).severity, 'high');
  assert.equal(oneResult({}).severity, 'medium');
  const kinds = ['pass', 'open', 'informational', 'notApplicable', 'review', 'fail'];
  assert.deepEqual(outcomes(kinds.map((kind) => result({ kind }))), [
    'not_problem',
    'finding',
    'not_problem',
    'not_problem',
    'finding',
    'finding',
  ]);
});

test('pitfall 4: severity hides in many places; all are kept, and the one that decided is named', () => {
  const rules = [
    {
      id: 'r',
      properties: { 'security-severity': '8.1', 'problem.severity': 'warning', tags: ['LOW'] },
    },
  ];
  const draft = oneResult({ properties: { 'security-severity': 5 } }, {}, { rules });
  assert.deepEqual([draft.severity, draft.detail.severity_from], ['medium', 'security-severity']);
  assert.deepEqual(draft.detail.severity_raw, {
    'rule.security-severity': '8.1',
    'rule.problem.severity': 'warning',
    'rule.tags': 'LOW',
    'security-severity': 5,
  });
});

test('pitfall 5: a rule is found by whatever names it', () => {
  const tool = {
    driver: { name: 'T', rules: [{ id: 'CA1000', name: 'first' }] },
    extensions: [{ name: 'pack', rules: [{ id: 'js/x', name: 'second' }] }],
  };
  const ruleOf = (more: object) => {
    const run = { tool, results: [{ message: { text: 'm' }, ...more }] };
    const { ruleId, detail } = onlyDraft(decodeSarif({ version: '2.1.0', runs: [run] }, {}));
    return [ruleId, (detail.rule as { name?: string } | undefined)?.name];
  };
  assert.deepEqual(ruleOf({ ruleIndex: 0 }), ['CA1000', 'first']);
  assert.deepEqual(ruleOf({ ruleId: 'CA1000/1' }), ['CA1000/1', 'first']);
  const inPack = { index: 0, toolComponent: { index: 0 } };
  assert.deepEqual(ruleOf({ rule: inPack }), ['js/x', 'second']);
  assert.deepEqual(ruleOf({ ruleId: 'js/x' }), ['js/x', 'second']);
  assert.deepEqual(ruleOf({}), ['', undefined]);
});

test('pitfall 6: a ruleIndex that was computed before the rules were sorted does not win', () => {
  const rules = [
    { id: 'G101', name: 'secrets' },
    { id: 'G304', name: 'paths' },
  ];
  const detail = detailOfResult({ ruleId: 'G304', ruleIndex: 0 }, {}, { rules });
  assert.equal(detail.rule?.name, 'paths');
});

test('pitfall 7: rules may be missing, doubled, or no objects', () => {
  const rules = [null, 'x', { id: 'r', name: 'first' }, { id: 'r', name: 'second' }, {}];
  assert.equal(detailOfResult({}, {}, { rules }).rule?.name, 'first');
  assert.equal(detailOfResult({ ruleId: 'other' }, {}, { rules }).rule, undefined);
  assert.equal(detailOfResult({}, {}, { rules: null }).rule, undefined);
});

test('pitfall 8: a text may come by id, in markdown only, with links, or not at all', () => {
  const rules = [
    {
      id: 'r',
      shortDescription: { text: 'of the rule' },
      messageStrings: { default: { text: '{0} in {1}' } },
    },
  ];
  const draft = (message: unknown) => oneResult({ message }, {}, { rules });
  assert.equal(draft({ id: 'default', arguments: ['A', 'b.c'] }).message, 'A in b.c');
  assert.equal(draft({ markdown: '**bold**' }).message, '**bold**');
  assert.equal(oneResult({ message: { text: 'a [value](1)' } }).title, 'a value');
  assert.equal(draft(undefined).message, 'of the rule');
  assert.equal(draft({ text: 'int a[] = {0};' }).message, 'int a[] = {0};');
});

test('pitfall 9: fingerprints may be empty, objects, odd names, or the same on many results', () => {
  const same = { fingerprints: { 'App\\Rule': 'abc', '': 'def', obj: { value: 'x' } } };
  const gitleaks = { partialFingerprints: { commitSha: '', author: '', date: '2024' } };
  const report = decodeSarif(sarif([result(same), result(same), result(gitleaks)]), {});
  const [first, second, third] = drafts(report);
  assert.deepEqual(first?.fingerprints, { 'App\\Rule': 'abc', '': 'def', obj: 'x' });
  assert.deepEqual(second?.fingerprints, first?.fingerprints);
  assert.deepEqual(third?.fingerprints, {});
});

test('pitfall 10: without fingerprints the code identifies, not its line nor the machine', () => {
  const draft = (uri: string, startLine: number) =>
    oneResult({ locations: [at(uri, { startLine, snippet: { text: 'eval(x)' } })] });
  const here = draft('file:///home/runner/work/shop/shop/src/a.js', 3);
  const there = draft('file:///builds/acme/shop/src/a.js', 30);
  assert.deepEqual([here.path, here.identity], [there.path, there.identity]);
});

test('pitfall 11: a result that comes twice is two items; folding them is counted elsewhere', () => {
  const twice = result({ locations: [at('a.tf', { startLine: 1 })] });
  assert.deepEqual(outcomes([twice, twice]), ['finding', 'finding']);
});

test('pitfall 12: odd paths are normalised once and stay below the root', () => {
  const path = (uri: string) => oneResult({ locations: [at(uri)] }).path;
  assert.equal(path('/modules/x.tf'), 'modules/x.tf');
  assert.equal(path('file:////src/x.js'), '/src/x.js');
  assert.equal(path('file:///BOOT-INF\\classes\\A.class'), '/BOOT-INF/classes/A.class');
  assert.equal(path('file:///..\\..\\a.c'), '/a.c');
  assert.equal(path('a%2520b.c'), 'a%20b.c');
  assert.equal(path('a b.c'), 'a b.c');
  assert.equal(path(''), null);
  assert.equal(path('<golden:x>'), '<golden:x>');
});

test('pitfall 13: no place, a logical one only, or several: it is a finding', () => {
  const logical = { logicalLocations: [{ fullyQualifiedName: 'ns::f' }] };
  assert.deepEqual(
    outcomes([result({}), result({ locations: [] }), result({ locations: [logical] })]),
    ['finding', 'finding', 'finding'],
  );
  assert.deepEqual(oneResult({ locations: [logical] }).identity.content, ['', 'ns::f']);
  const several = oneResult({ locations: [{}, at('a.py'), at('b.py')] });
  assert.equal(several.path, 'a.py');
  assert.deepEqual(several.detail.locations, [{ path: 'a.py' }, { path: 'b.py' }]);
});

test('pitfall 14: a line 0, an offset only, or an empty region is no line', () => {
  for (const region of [{}, { startLine: 0 }, { charOffset: 5 }, { startLine: '7' }]) {
    const draft = oneResult({ locations: [at('a.c', region)] });
    assert.deepEqual([draft.path, draft.startLine], ['a.c', null]);
  }
});

test('pitfall 15: findings of one manifest line differ by package and vulnerability', () => {
  const draft = (ruleId: string, name: string) =>
    oneResult(
      {
        ruleId,
        locations: [
          {
            ...(at('package.json', { startLine: 1 }) as object),
            logicalLocations: [{ fullyQualifiedName: name }],
          },
        ],
      },
      {},
      { name: 'Snyk Open Source' },
    ).identity.content;
  assert.deepEqual(draft('SNYK-JS-ASYNC-1', 'async@3.2.4'), [
    'npm/async',
    'SNYK-JS-ASYNC-1',
    'package.json',
  ]);
  assert.notDeepEqual(
    draft('SNYK-JS-ASYNC-1', 'async@3.2.4'),
    draft('SNYK-JS-ASYNC-1', 'tar@6.1.0'),
  );
  assert.deepEqual(
    draft('SNYK-JS-ASYNC-1', 'async@3.2.4'),
    draft('SNYK-JS-ASYNC-1', 'async@3.2.5'),
  );
});

test('pitfall 16: null and [] suppress nothing, underReview and rejected neither', () => {
  const suppressed = (suppressions: unknown) => oneResult({ suppressions }).suppressed;
  const by = (status: string) => [{ kind: 'external', status }];
  assert.deepEqual([null, [], by('underReview'), by('rejected'), by('accepted')].map(suppressed), [
    false,
    false,
    false,
    false,
    true,
  ]);
});

test('pitfall 17: what a baseline calls absent is not there, what it calls new may be old', () => {
  const states = ['absent', 'new', 'unchanged', 'updated'];
  assert.deepEqual(outcomes(states.map((baselineState) => result({ baselineState }))), [
    'not_problem',
    'finding',
    'finding',
    'finding',
  ]);
});

test('pitfall 18: a thousand rules, sources and notifications make no finding', () => {
  const rules = Array.from({ length: 1000 }, (_, index) => ({
    id: `r${index}`,
    help: { markdown: 'x'.repeat(999) },
  }));
  const artifacts = [{ location: { uri: 'a.c' }, contents: { text: 'x\n'.repeat(9999) } }];
  const notifications = Array.from({ length: 1000 }, () => ({
    level: 'none',
    message: { text: 'x' },
  }));
  const invocations = [{ executionSuccessful: true, toolExecutionNotifications: notifications }];
  const report = decodeSarif(sarif([], { artifacts, invocations }, { rules }), {});
  assert.deepEqual([[...report.items()], report.warnings], [[], []]);
});

test('pitfall 19: very long texts are cut visibly, and markup is data', () => {
  const long = `<script>${'x'.repeat(20_000)}`;
  const report = decodeSarif(
    sarif([result({ message: { text: long, markdown: `# ${long}` } })]),
    {},
  );
  const draft = onlyDraft(report);
  assert.ok(draft.message.startsWith('<script>x') && draft.message.endsWith('…'));
  assert.ok(draft.message.length <= 8192 && draft.title.length <= 500);
  assert.equal(warningCodes(report).includes('text_cut'), true);
});

test('pitfall 20: a failed scan is not a clean scan', () => {
  const report = decodeSarif(sarif([], { invocations: [{ executionSuccessful: false }] }), {});
  assert.equal(report.analyses[0]?.succeeded, false);
  assert.deepEqual(warningCodes(report), ['run_failed']);
});

test('pitfall 21: the version decides, the schema’s address does not', () => {
  const read = (version: unknown, $schema: string): string => {
    try {
      return decodeSarif({ version, $schema, runs: [] }, {}).version;
    } catch (error) {
      assert.ok(error instanceof DocumentRefused);
      return `${error.code}: ${error.message}`;
    }
  };
  assert.equal(read('2.1.0', 'http://json.schemastore.org/sarif-1.0.0'), '2.1.0');
  const current =
    'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';
  for (const version of ['1.0.0', '2.0.0', '2.0.0-csd.2.beta.2019-01-09']) {
    assert.match(read(version, current), /^unsupported_sarif_version: .*sarif-multitool rewrite/);
  }
  for (const version of ['2.1.2', '2.2', 2.1, null]) {
    assert.match(read(version, current), /^unsupported_sarif_version: .*write 2\.1\.0\.$/);
  }
});

test('pitfall 24: files beside the report are not fetched; inline properties may be useless', () => {
  const run = {
    tool: { driver: { name: 'T' } },
    results: [result({})],
    externalPropertyFileReferences: { taxonomies: [{ location: { uri: 'https://x.test/a' } }] },
  };
  const inlineExternalProperties = [{ guid: 'x' }, { tool: 'ShellCheck', version: '0.9' }, null, 7];
  const report = decodeSarif({ version: '2.1.0', runs: [run], inlineExternalProperties }, {});
  assert.equal(drafts(report).length, 1);
  assert.deepEqual(warningCodes(report), ['external_file', 'wrong_type']);
});

test('pitfall 25: a secret in a finding is shown nowhere, not even in a warning', () => {
  const value = 'ghp_0123456789abcdefABCDEF';
  const secret = {
    message: { text: `${value} found` },
    locations: [at('a.env', { startLine: 1, snippet: { text: `KEY=${value}` } })],
    properties: { secret: value, email: 'ada@x.test' },
    level: value.slice(0, 3),
  };
  const report = decodeSarif(sarif([secret], {}, { name: 'gitleaks' }), {});
  const draft = onlyDraft(report);
  assert.ok(
    !JSON.stringify({ ...draft, identity: null, warnings: report.warnings }).includes(value),
  );
  const redacted = {
    locations: [at('a.env', { startLine: 1, snippet: { text: 'KEY=<<cut>> x1' } })],
  };
  const cut = oneResult(redacted, { redactionTokens: ['<<cut>>'] }, { name: 'gitleaks' });
  assert.deepEqual(cut.identity.content, ['m']);
});
