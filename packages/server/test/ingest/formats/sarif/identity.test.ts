// The members that tell SARIF results apart, and those that must not: chosen levels, places without
// lines, wrong indexes, the order of members, requests beside files.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evidenceOf } from '../../../../src/ingest/match/evidence.rules.ts';
import { decodeSarif, drafts, oneResult, onlyDraft, sarif, warningCodes } from '../readers.ts';

const KEY = Buffer.alloc(32, 7);
const text = (words: string) => ({ text: words });
const place = (uri: string, region: object) => ({
  physicalLocation: { artifactLocation: { uri }, region },
});

test('a level that was chosen for the rule, or for the result, comes before the rule’s default', () => {
  const severity = (result: object, properties: object, overrides: object[] = []) => {
    const driver = { name: 'T', rules: [{ id: 'r', properties }] };
    const run = {
      tool: { driver },
      invocations: [{ executionSuccessful: true, ruleConfigurationOverrides: overrides }],
      results: [{ ruleId: 'r', message: text('m'), ...result }],
    };
    return onlyDraft(decodeSarif({ version: '2.1.0', runs: [run] }, {})).severity;
  };
  const override = { descriptor: { id: 'r' }, configuration: { level: 'error' } };
  const byDefault = { 'problem.severity': 'recommendation' };
  assert.equal(severity({}, byDefault), 'low');
  assert.equal(severity({ level: 'error' }, byDefault), 'high');
  assert.equal(severity({}, byDefault, [override]), 'high');
  assert.equal(severity({}, { severity: 'minor' }, [override]), 'high');
  assert.equal(severity({ level: 'error' }, { severity: 'critical' }), 'critical');
  assert.equal(severity({}, { 'security-severity': '3.0' }, [override]), 'low');
});

test('results with one message at two offsets of a file without lines are two findings', () => {
  const at = (byteOffset: number) => ({
    ruleId: 'BA2009',
    message: text('no ASLR'),
    locations: [place('a.dll', { byteOffset })],
  });
  const [one, two, same] = drafts(decodeSarif(sarif([at(10), at(20), at(10)]), {})).map((draft) =>
    evidenceOf({ ...draft, detail: () => ({}) }, KEY).duplicateKey.toString('hex'),
  );
  assert.notEqual(one, two);
  assert.equal(one, same);
});

test('an index that names another file than the uri gives no snippet', () => {
  const artifacts = [
    { location: { uri: 'a.c' }, contents: text('AAA') },
    { location: { uri: 'b.c' }, contents: text('BBB') },
  ];
  const located = (artifactLocation: object) => {
    const locations = [{ physicalLocation: { artifactLocation, region: { startLine: 1 } } }];
    return oneResult({ locations }, { artifacts }).identity.content[0];
  };
  assert.equal(located({ uri: 'b.c', index: 0 }), 'BBB');
  assert.equal(located({ uri: 'c.c', index: 0 }), 'm', 'the message is all there is');
  assert.equal(located({ index: 0 }), 'AAA');
});

test('the value of a secret is the same in whatever order its members come', () => {
  const content = (properties: object) =>
    oneResult({ properties }, {}, { name: 'gitleaks' }).identity.content;
  const value = content({ secret: 'abc-123-xyz', match: 'KEY=abc-123-xyz' });
  assert.deepEqual(value, ['abc-123-xyz']);
  assert.deepEqual(content({ match: 'KEY=abc-123-xyz', secret: 'abc-123-xyz' }), value);
});

test('a request beside a file tells how the defect was reached, not where it is', () => {
  const webRequest = { method: 'GET', target: 'http://localhost:8080/x?q=1' };
  const beside = (uri: string) =>
    oneResult({ webRequest, locations: [place(uri, { startLine: 3, snippet: text('x') })] });
  assert.equal(beside('src/A.java').identity.kind, 'code');
  assert.equal(oneResult({ webRequest, locations: [] }).identity.kind, 'web');
});

test('a request whose target is a path is told by its host, method, path and parameters', () => {
  const of = (webRequest: object, more: object = {}) => {
    const { identity } = oneResult({ webRequest, locations: [], ...more });
    assert.equal(identity.kind, 'web');
    return identity.content.join(' ');
  };
  const headers = (host: string) => ({ Accept: '*/*', host });
  const different = [
    of({ target: '/a?q=1' }),
    of({ target: '/b?q=1' }),
    of({ target: '/a?q=1', headers: headers('one.test') }),
    of({ target: '/a?q=1', headers: headers('two.test:8080') }),
    of({ target: '/a?p=1' }),
    of({ target: '/a', method: 'POST', parameters: { user: 'x' } }),
    of({ target: '/a', method: 'POST', parameters: { pass: 'x' } }),
    of({ target: '/a', method: 'POST', parameters: { pass: 'x', user: 'x' } }),
    of({ target: 'one.test:8443', method: 'CONNECT' }),
    of({ target: '*', method: 'OPTIONS', headers: headers('one.test') }),
  ];
  assert.equal(new Set(different).size, different.length);
  assert.equal(of({ target: '/a?q=2', headers: headers('one.test') }), different[2]);
  assert.equal(of({ target: 'http://one.test/a?q=1' }), different[2]);
  assert.equal(
    of({ target: 'https://one.test/a' }),
    of({ target: '/a', headers: { ':authority': 'one.test:443' } }),
  );
  const fields = { user: '1', pass: '2' };
  assert.equal(of({ target: '/a', method: 'POST', parameters: fields }), different[7]);
  // The scanner's own name for the parameter comes first.
  const param = { properties: { param: 'user' } };
  assert.equal(of({ target: '/a', method: 'POST', parameters: fields }, param), different[5]);
});

test('a log whose runs are null has no runs, and a warning tells so', () => {
  const report = decodeSarif({ version: '2.1.0', runs: null }, {});
  assert.deepEqual([...report.items()], []);
  assert.ok(warningCodes(report).includes('results_missing'));
});

test('suppressions end when the last of them does; one without an end has none', () => {
  const until = (...ends: (string | undefined)[]) =>
    oneResult({
      suppressions: ends.map((expiration) => ({
        kind: 'external',
        status: 'Accepted',
        properties: expiration === undefined ? {} : { expiration },
      })),
    });
  const ended = until('2025-02-11', '2025-02-12T08:00:00Z');
  assert.equal(ended.suppressed, true);
  assert.equal(ended.suppressedUntil, Date.UTC(2025, 1, 12, 8));
  assert.equal(until('2025-02-11').suppressedUntil, Date.UTC(2025, 1, 12));
  assert.equal(until('2025-02-11', undefined).suppressedUntil, undefined);
  assert.equal(until('never').suppressedUntil, undefined);
});
