// The rules by which SARIF results become drafts, one by one. Whole reports stand in
// readers.golden.test.ts.

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

const refusal = (document: unknown): DocumentRefused => {
  try {
    decodeSarif(document, {});
  } catch (error) {
    if (error instanceof DocumentRefused) return error;
    throw error;
  }
  throw new Error('the document was not refused');
};

const one = oneResult;
const detailOf = detailOfResult;

test('2.1.0 is read in every spelling of its errata, whatever $schema says', () => {
  for (const version of ['2.1.0', '2.1.0-rtm.5', '2.1.0+errata01', ' 2.1.0 ']) {
    const report = decodeSarif({ version, $schema: 'sarif-1.0.0', runs: [] }, {});
    assert.deepEqual([...report.items()], []);
  }
});

test('another version is refused by name, with the command that converts it where one does', () => {
  for (const version of ['1.0.0', '2.0.0-csd.2.beta.2019-01-09', '2.2', '2.1.00', 2.1, undefined]) {
    const { code, pointer, message } = refusal({ version, runs: [] });
    assert.deepEqual([code, pointer], ['unsupported_sarif_version', '/version']);
    const isConvertible = /^[12]\.0\.0/.test(String(version));
    assert.equal(message.includes('`npx @microsoft/sarif-multitool rewrite'), isConvertible);
  }
});

test('a document without a list of runs is not SARIF', () => {
  assert.deepEqual(
    [refusal(null).code, refusal([]).code, refusal('x').code],
    Array(3).fill('not_sarif'),
  );
  assert.equal(refusal({ findings: [] }).pointer, '');
  assert.equal(refusal({ version: '2.1.0', runs: {} }).pointer, '/runs');
  assert.equal(refusal({ version: '2.1.0' }).code, 'not_sarif');
});

test('an absent or null result list says nothing, an empty one is a clean scan', () => {
  const listed = (results: unknown) => decodeSarif(sarif(results), {}).analyses[0]?.listed;
  assert.deepEqual(
    [listed(undefined), listed(null), listed({}), listed([])],
    [false, false, false, true],
  );
});

test('a failed invocation or an error notification makes the analysis unsuccessful', () => {
  const succeeded = (invocation: object) =>
    decodeSarif(sarif([], { invocations: [{ executionSuccessful: true }, invocation] }), {})
      .analyses[0]?.succeeded;
  assert.equal(succeeded({}), true);
  assert.equal(succeeded({ executionSuccessful: false }), false);
  const warnings = (level: string) => ({ toolExecutionNotifications: [{ level }] });
  assert.deepEqual([succeeded(warnings('error')), succeeded(warnings('warning'))], [false, true]);
});

test('runs of one tool, category and branch are one analysis, complete if each is', () => {
  const run = (id: string, more: object) => ({
    tool: { driver: { name: ' X  y ' } },
    automationDetails: { id },
    ...more,
  });
  const runs = [run('a/b/1', { results: [] }), run('a/b/2', {}), run('c', { results: [] })];
  const { analyses } = decodeSarif({ version: '2.1.0', runs }, {});
  assert.deepEqual(
    analyses.map(({ tool, category, listed }) => [tool, category, listed]),
    [
      ['x y', 'a/b', false],
      ['x y', '', true],
    ],
  );
});

test("the sender's context beats the document's provenance", () => {
  const run = {
    automationDetails: { id: 'own/1' },
    versionControlProvenance: [
      { repositoryUri: 'https://github.com/acme/own', branch: 'refs/heads/dev', revisionId: 'abc' },
    ],
  };
  const own = decodeSarif(sarif([], run), {});
  assert.deepEqual(
    own.assets.usable.map((asset) => asset.value),
    ['github.com/acme/own'],
  );
  assert.deepEqual([own.analyses[0]?.branch, own.analyses[0]?.commitSha], ['dev', 'abc']);
  const context = {
    repositoryUrl: 'git@h:a/b.git',
    branch: 'main',
    commitSha: 'c',
    category: 'k',
    coverage: 'partial',
  } as const;
  const stated = decodeSarif(sarif([], run), { ...context, defaultBranch: true });
  const { branch, commitSha, category, coverage, claimsDefaultBranch } = stated.analyses[0] ?? {};
  assert.deepEqual(
    [stated.assets.usable[0]?.value, branch, commitSha, category, coverage, claimsDefaultBranch],
    ['h/a/b', 'main', 'c', 'k', 'partial', true],
  );
});

test('a result that is not an object is rejected in its place, its neighbours are kept', () => {
  const items = [...decodeSarif(sarif([7, result({}), null, {}]), {}).items()];
  assert.deepEqual(
    items.map((item) => (item.outcome === 'rejected' ? item.rejection.code : item.outcome)),
    ['item_not_object', 'finding', 'item_not_object', 'item_empty'],
  );
});

test('kinds that pass and an absent baseline are no problems; open and review are', () => {
  const outcome = (more: object) => [...decodeSarif(sarif([result(more)]), {}).items()][0]?.outcome;
  for (const kind of ['pass', 'notApplicable', 'informational'])
    assert.equal(outcome({ kind }), 'not_problem');
  for (const kind of ['open', 'review', 'fail', 'what', null])
    assert.equal(outcome({ kind }), 'finding');
  assert.equal(outcome({ baselineState: 'absent' }), 'not_problem');
  assert.equal(outcome({ baselineState: 'unchanged' }), 'finding');
});

test('the level is the result’s, the invocation’s, the rule’s, or else warning', () => {
  const driver = { rules: [{ id: 'r', defaultConfiguration: { level: 'note' } }] };
  const ruleConfigurationOverrides = [
    { descriptor: { index: 0 }, configuration: { level: 'error' } },
  ];
  const run = { invocations: [{ ruleConfigurationOverrides }] };
  assert.equal(detailOf({ level: 'none' }, run, driver).level, 'none');
  assert.equal(detailOf({}, run, driver).level, 'error');
  assert.equal(detailOf({}, {}, driver).level, 'note');
  assert.equal(detailOf({}).level, 'warning');
  const two = { invocations: [{}, { ruleConfigurationOverrides }] };
  assert.equal(detailOf({ provenance: { invocationIndex: 1 } }, two, driver).level, 'error');
  assert.equal(detailOf({ provenance: { invocationIndex: 0 } }, two, driver).level, 'note');
});

test('severity is security-severity, then words of the tool, then tags, then the level', () => {
  const severity = (more: object, rule: object = {}) => {
    const draft = one({ level: 'note', ...more }, {}, { rules: [{ id: 'r', ...rule }] });
    return [draft.severity, draft.detail.severity_from];
  };
  const scored = { properties: { 'security-severity': '9.8', 'problem.severity': 'warning' } };
  const own = { properties: { 'security-severity': 6.9, severity: 'low' } };
  assert.deepEqual(severity(own, scored), ['medium', 'security-severity']);
  assert.deepEqual(severity({}, scored), ['critical', 'rule.security-severity']);
  assert.deepEqual(severity({ properties: { issue_severity: 'HIGH' } }), [
    'high',
    'properties.issue_severity',
  ]);
  const rule = { properties: { 'problem.severity': 'error', tags: ['x', 'CRITICAL'] } };
  assert.deepEqual(severity({ level: undefined }, rule), [
    'high',
    'rule.properties.problem.severity',
  ]);
  assert.deepEqual(severity({}, { properties: { tags: ['CRITICAL'] } }), ['critical', 'rule.tags']);
  assert.deepEqual(severity({ properties: { cvssv2_baseScore: '9.9' } }), [
    'high',
    'properties.cvssv2_baseScore',
  ]);
  assert.deepEqual(severity({ properties: { severity: 'Unset', 'security-severity': 'x' } }), [
    'low',
    'level',
  ]);
});

test('a rule is found by id, guid, hierarchical id and index, in driver and extensions', () => {
  const rule = (id: string) => ({ id, guid: `guid-${id}`, name: `name of ${id}` });
  const run = {
    tool: {
      driver: { name: 'T', rules: [rule('a')] },
      extensions: [{ name: 'e', rules: [rule('b')] }],
    },
  };
  const named = (more: object) => {
    const draft = onlyDraft(
      decodeSarif(
        { version: '2.1.0', runs: [{ ...run, results: [{ message: { text: 'm' }, ...more }] }] },
        {},
      ),
    );
    return [draft.ruleId, (draft.detail.rule as { name?: string } | undefined)?.name];
  };
  assert.deepEqual(named({ ruleId: 'b' }), ['b', 'name of b']);
  assert.deepEqual(named({ rule: { id: 'a' } }), ['a', 'name of a']);
  assert.deepEqual(named({ ruleId: 'a/1/2' }), ['a/1/2', 'name of a']);
  assert.deepEqual(named({ ruleId: 'x', rule: { guid: 'guid-b' } }), ['x', 'name of b']);
  assert.deepEqual(named({ ruleIndex: 0 }), ['a', 'name of a']);
  assert.deepEqual(named({ rule: { index: 0, toolComponent: { index: 0 } } }), ['b', 'name of b']);
  assert.deepEqual(named({ rule: { index: 0, toolComponent: { name: 'e' } } }), ['b', 'name of b']);
  assert.deepEqual(named({ ruleIndex: -1 }), ['', undefined]);
});

test('a wrong rule index never beats an id, and of two rules with one id the first wins', () => {
  const rules = [
    { id: 'a', name: 'first' },
    { id: 'a', name: 'second' },
    { id: 'b', name: 'other' },
  ];
  const name = (more: object) =>
    (detailOf(more, {}, { rules }).rule as { name?: string } | undefined)?.name;
  assert.equal(name({ ruleId: 'a', ruleIndex: 2 }), 'first');
  assert.equal(name({ ruleId: 'unknown', ruleIndex: 2 }), undefined);
});

test('a message is its text, markdown, or the string of its id with its arguments', () => {
  const rules = [{ id: 'r', messageStrings: { d: { text: '{{x}} {0} {1} {9}' } } }];
  const driver = { rules, globalMessageStrings: { g: { markdown: 'global {0}' } } };
  const message = (value: unknown) => one({ message: value }, {}, driver).message;
  assert.equal(message({ text: 'a {0} {{b}}' }), 'a {0} {{b}}');
  assert.equal(message({ text: 'a {0}', arguments: ['{1}'] }), 'a {1}');
  assert.equal(message({ markdown: '*m*' }), '*m*');
  assert.equal(message({ id: 'd', arguments: ['p', 7] }), '{x} p 7 {9}');
  assert.equal(message({ id: 'g', arguments: ['p'] }), 'global p');
  assert.equal(message({ id: '__proto__', arguments: ['p'] }), '__proto__: p');
  assert.equal(message(null), 'r');
});

test('empty fingerprints, placeholders and columns are no evidence; nested values are', () => {
  const partialFingerprints = {
    primaryLocationLineHash: 'h:1',
    primaryLocationStartColumnFingerprint: '4',
    e: '',
  };
  const draft = one({
    partialFingerprints,
    fingerprints: { a: { value: 'x' }, b: 'requires login', c: 5 },
  });
  assert.deepEqual(draft.fingerprints, { a: 'x', primaryLocationLineHash: 'h:1' });
  const ignored = draft.detail.fingerprints_ignored;
  assert.deepEqual(Object.keys(ignored as object).sort(), [
    'b',
    'c',
    'e',
    'primaryLocationStartColumnFingerprint',
  ]);
});

test('__proto__ in a document is data', () => {
  const document = JSON.parse(`{"version": "2.1.0", "runs": [{"results": [{
    "message": {"text": "m"}, "fingerprints": {"__proto__": "x"},
    "properties": {"__proto__": {"polluted": 1}}, "__proto__": {"level": "error"}
  }]}]}`);
  const draft = onlyDraft(decodeSarif(document, {}));
  assert.equal(draft.severity, 'medium');
  assert.ok(Object.hasOwn(draft.fingerprints, '__proto__'));
  assert.ok(Object.hasOwn(draft.detail.properties as object, '__proto__'));
  assert.equal(({} as { polluted?: number }).polluted, undefined);
});

test('a package makes a component: its version is no part of the identity, its manifest is', () => {
  const identity = (tool: string, more: object) =>
    one({ ruleId: 'CVE-2021-1234', locations: [at('go.mod')], ...more }, {}, { name: tool })
      .identity;
  const text = (message: string) => ({ message: { text: message } });
  const content = (what: string) => ({
    kind: 'component',
    content: [what, 'CVE-2021-1234', 'go.mod'],
  });
  assert.deepEqual(
    identity(
      'osv-scanner',
      text("Package 'golang.org/x/crypto@0.24.0' is vulnerable to 'CVE-2021-1234'"),
    ),
    content('golang.org/x/crypto'),
  );
  assert.deepEqual(
    identity(
      'grype',
      text('A low vulnerability in rpm package: package-1, version 1.1.1 was found at: /x'),
    ),
    content('rpm/package-1'),
  );
  assert.deepEqual(
    identity('Trivy', text('Package: zlib\nInstalled Version: 1.2\nVulnerability CVE-2021-1234')),
    content('zlib'),
  );
  assert.deepEqual(
    identity('any', { properties: { purl: 'pkg:PyPI/Typing_Extensions@4.1?x=y' } }),
    content('pkg:pypi/typing-extensions'),
  );
  const logical = {
    locations: [
      {
        ...(at('go.mod') as object),
        logicalLocations: [{ fullyQualifiedName: '@babel/core@7.1.0' }],
      },
    ],
  };
  assert.deepEqual(identity('any', logical), content('@babel/core'));
});

test('a secret is masked everywhere but in the content of its identity', () => {
  const value = 'ghp_0123456789abcdefABCDEF';
  const draft = one(
    {
      message: { text: `found ${value}`, markdown: `**${value}**` },
      locations: [at('a.env', { startLine: 1, snippet: { text: `TOKEN=${value}` } })],
      relatedLocations: [at('b.env', { startLine: 2, snippet: { text: value } })],
      fixes: [{ description: { text: `drop ${value}` } }],
      properties: { secret: value, note: `it is ${value}` },
    },
    {},
    { name: 'gitleaks' },
  );
  assert.deepEqual(draft.identity, { kind: 'secret', content: [value] });
  const shown = JSON.stringify({ ...draft, identity: null });
  assert.ok(!shown.includes(value));
  assert.equal(draft.message, 'found ghp_***CDEF');
});

test('weaknesses come from taxa, relationships, tags and properties in one spelling', () => {
  const taxonomies = [
    { name: 'CWE', guid: 'g', taxa: [{ id: '22' }] },
    { name: 'Categories', taxa: [] },
  ];
  const taxa = [
    { index: 0, toolComponent: { index: 0 } },
    { id: 'CAT1', toolComponent: { name: 'Categories' } },
  ];
  const relationships = [{ target: { id: 'CWE-079', toolComponent: { guid: 'g' } } }];
  const tags = ['external/cwe/cwe-089', 'OWASP-A03:2021'];
  const detail = detailOf(
    { taxa, properties: { cwe: 'CWE-798: Use of Hard-coded Credentials' } },
    { taxonomies },
    { rules: [{ id: 'r', relationships, properties: { tags } }] },
  );
  assert.deepEqual(
    [detail.cwe, detail.owasp, detail.taxa],
    [['CWE-79', 'CWE-89', 'CWE-22', 'CWE-798'], ['A03:2021'], ['Categories/CAT1']],
  );
});

test('lists of a result are bounded and say what was left out', () => {
  const related = Array.from({ length: 150 }, (_, index) => at(`f${index}.c`));
  const detail = detailOf({ relatedLocations: related });
  assert.equal((detail.related_locations as unknown[]).length, 100);
  assert.deepEqual(detail.omitted, { related_locations: 50 });
});

test('warnings are shown up to their bound and all counted', () => {
  const results = Array.from({ length: 250 }, () => result({ invented: 1 }));
  const report = decodeSarif(sarif(results), {});
  assert.equal(drafts(report).length, 250);
  assert.equal(report.warnings.length, 100);
  assert.deepEqual(report.warningsByCode, { unknown_member: 250 });
  assert.equal(report.warnings[0]?.pointer, '/runs/0/results/0/invented');
});

test('NUL and lone surrogates are replaced, and one warning counts them', () => {
  const report = decodeSarif(
    sarif([result({ message: { text: 'a\0b\ud800' } }), result({ message: { text: 'c\0' } })]),
    {},
  );
  assert.deepEqual(
    drafts(report).map((draft) => draft.message),
    ['a\ufffdb\ufffd', 'c\ufffd'],
  );
  assert.deepEqual(report.warningsByCode, { text_repaired: 1 });
  assert.match(report.warnings[0]?.detail ?? '', /^2 texts/);
});

test('external files are never fetched; inline results are read where their run is known', () => {
  const external = { externalPropertyFileReferences: { results: [{ location: { uri: 'x' } }] } };
  assert.deepEqual(warningCodes(decodeSarif(sarif([], external), {})), ['external_file']);
  const inline = { inlineExternalProperties: [{ results: [result({})] }] };
  const report = decodeSarif({ ...(sarif(undefined) as object), ...inline }, {});
  assert.deepEqual(
    drafts(report).map((draft) => draft.pointer),
    ['/inlineExternalProperties/0/results/0'],
  );
  assert.equal(report.analyses[0]?.listed, true);
  const named = { tool: { driver: { name: 'Tool' } } };
  const two = {
    version: '2.1.0',
    runs: [
      { ...named, results: [] },
      { ...named, results: [] },
    ],
    ...inline,
  };
  const [item] = [...decodeSarif(two, {}).items()];
  assert.equal(item?.outcome, 'rejected');
});
