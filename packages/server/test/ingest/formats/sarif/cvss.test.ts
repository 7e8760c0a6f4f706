// CVSS vectors in the property bags of SARIF: their base score, and its severity.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cvssOf } from '../../../../src/ingest/formats/common/cvss.rules.ts';
import { oneResult } from '../readers.ts';

const V2 = 'AV:N/AC:L/Au:N/C:P/I:P/A:P';
const V3 = 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H';
const V4 = 'CVSS:4.0/AV:N/AC:L/AT:N/PR:N/UI:N/VC:H/VI:H/VA:H/SC:N/SI:N/SA:N';

const severity = (properties: object, rule: object = {}) => {
  const draft = oneResult({ properties }, {}, { rules: [{ id: 'r', properties: rule }] });
  return [draft.severity, draft.detail.severity_from];
};

const detail = (properties: object) => oneResult({ properties }).detail;

test('base scores are those of the specifications’ examples', () => {
  const scores: [string, number | null][] = [
    [V3, 9.8],
    // FIRST, CVSS v3.1 examples: CVE-2013-1937, CVE-2013-0375, CVE-2014-3566, CVE-2012-1516,
    // CVE-2009-0783, CVE-2019-7551.
    ['CVSS:3.1/AV:N/AC:L/PR:N/UI:R/S:C/C:L/I:L/A:N', 6.1],
    ['CVSS:3.0/AV:N/AC:L/PR:L/UI:N/S:C/C:L/I:L/A:N', 6.4],
    ['CVSS:3.1/AV:N/AC:H/PR:N/UI:R/S:U/C:L/I:N/A:N', 3.1],
    ['CVSS:3.1/AV:N/AC:L/PR:L/UI:N/S:C/C:H/I:H/A:H', 9.9],
    ['CVSS:3.1/AV:L/AC:L/PR:H/UI:N/S:U/C:L/I:L/A:L', 4.2],
    ['CVSS:3.1/AV:N/AC:L/PR:L/UI:R/S:C/C:H/I:H/A:H', 9],
    ['CVSS:3.1/AV:P/AC:H/PR:H/UI:R/S:U/C:N/I:N/A:N', 0],
    // CVSS v2 guide, §3.3: CVE-2002-0392, CVE-2003-0818, CVE-2003-0062.
    ['AV:N/AC:L/Au:N/C:N/I:N/A:C', 7.8],
    ['(AV:N/AC:L/Au:N/C:C/I:C/A:C)', 10],
    ['AV:L/AC:H/Au:N/C:C/I:C/A:C', 6.2],
    [V4, null],
  ];
  for (const [vector, score] of scores) assert.equal(cvssOf(vector)?.score, score, vector);
});

test('metrics may have any order, with temporal ones among them; with a repeated metric, or a missing or wrong base metric, it is no vector', () => {
  assert.equal(cvssOf('CVSS:3.1/A:H/I:H/C:H/S:U/UI:N/PR:N/AC:L/AV:N/E:U/RL:O')?.score, 9.8);
  assert.equal(cvssOf(V3.slice('CVSS:3.1/'.length))?.score, 9.8);
  for (const junk of [
    `${V3}/AV:N`,
    V3.replace('AV:N/', ''),
    V3.replace('AV:N', 'AV:X'),
    V3.replace('3.1', '3.2'),
    `${V3}/`,
    `${V3} `.repeat(9),
    V3.toLowerCase(),
    'CVSS:3.1',
    '',
    7,
    null,
    {},
  ]) {
    assert.equal(cvssOf(junk), null, JSON.stringify(junk));
  }
});

test('a vector without a score decides by its base score; v2 knows no critical', () => {
  assert.deepEqual(severity({ cvssv3_vector: V3 }), ['critical', 'properties.cvssv3_vector']);
  assert.deepEqual(severity({ cvss: V2 }), ['high', 'properties.cvss']);
  const worst = V2.replaceAll(':P', ':C');
  assert.deepEqual(severity({ cvss_vector: worst }), ['high', 'properties.cvss_vector']);
  assert.deepEqual(severity({}, { cvssV3: { vectorString: V3 } }), [
    'critical',
    'rule.properties.cvssV3',
  ]);
});

test('a stated score beats the vector beside it, a severity word beats both', () => {
  const cvss = { version: '3.1', vector: V3, score: 5 };
  assert.deepEqual(severity({ cvss }), ['medium', 'properties.cvss']);
  assert.deepEqual(severity({ cvssv3_vector: V3, cvssv3_score: '2.0' }), [
    'low',
    'properties.cvssv3_vector',
  ]);
  assert.deepEqual(severity({ cvss_score: 3, cvss_vector: V3 }), ['low', 'properties.cvss_score']);
  assert.deepEqual(severity({ cvss, severity: 'high' }), ['high', 'properties.severity']);
});

test('v4 counts where its score is stated, and stays in the detail where it is not', () => {
  const stated = { cvssV4: { vectorString: V4, baseScore: 9.3 } };
  assert.deepEqual(severity(stated), ['critical', 'properties.cvssV4']);
  assert.deepEqual(severity({ cvss: V4 }), ['medium', 'level']);
  assert.deepEqual(detail({ cvss: V4 }).vulnerability, { cvss_version: '4.0', cvss_vector: V4 });
  assert.deepEqual(severity({ cvss: [V4, V2] }), ['high', 'properties.cvss']);
  assert.deepEqual(severity({ cvss: [{ vector: V4 }, { vector: V2 }] }), [
    'high',
    'properties.cvss',
  ]);
});

test('among several databases and versions the newest with a score counts', () => {
  const cvss = {
    nvd: { V2Vector: V2, V2Score: 7.5, V3Vector: V3, V3Score: 8.1 },
    ghsa: { V3Vector: V3 },
  };
  assert.deepEqual(detail({ cvss }).vulnerability, {
    cvss_version: '3.1',
    cvss_score: 8.1,
    cvss_vector: V3,
  });
  assert.deepEqual(severity({ cvss: { score: 9.5, version: 2 } }), ['high', 'properties.cvss']);
});

test('a text that is no vector decides nothing and stays as it was written', () => {
  const raw = 'CVSS:3.1/AV:N/AC:L/PR:N/nonsense';
  const read = detail({ cvss_vector: raw });
  assert.equal(read.severity_from, 'level');
  assert.deepEqual(read.severity_raw, { cvss_vector: raw });
  assert.deepEqual(read.properties, { cvss_vector: raw });
  assert.equal(read.vulnerability, undefined);
});

test('whatever stands under a name of CVSS, there is a severity', () => {
  const metric = fc.constantFrom(
    ...V2.split('/'),
    ...V3.split('/'),
    ...V4.split('/'),
    'x',
    ':',
    '',
  );
  const vector = fc.array(metric, { maxLength: 14 }).map((parts) => parts.join('/'));
  const value = fc.oneof(vector, fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(V2, V3, V4));
  const name = fc.constantFrom('cvss', 'cvss_vector', 'cvssV3', 'cvssv2_vector', 'cvss_score');
  const inner = fc.constantFrom('vector', 'score', 'version', 'nvd', 'V3Score', 'constructor');
  const said = fc.oneof(value, fc.dictionary(inner, value), fc.array(fc.dictionary(inner, value)));
  fc.assert(
    fc.property(fc.dictionary(name, said), (properties) => {
      const draft = oneResult({ properties });
      assert.match(draft.severity, /^(?:critical|high|medium|low|info)$/);
      const score = (draft.detail.vulnerability as { cvss_score?: number })?.cvss_score ?? 0;
      assert.ok(score >= 0 && score <= 10);
    }),
  );
});
