// The recipes of CTIS fingerprints against their vectors (CTIS §5.4): those in this repository, and
// the whole file of the reference where it is there. Then the reader's conclusions from a
// recognised recipe.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AssetKind } from '@muster/contract';
import { normaliseAsset } from '../../../../src/ingest/report/asset.rules.ts';
import {
  fittingRecipes,
  judgeFingerprint,
} from '../../../../src/ingest/formats/ctis/fingerprint.rules.ts';
import {
  normalised,
  normalisedAddress,
  normalisedHost,
  normalisedUrlPath,
  type RecipeFields,
  recipes,
  sha256Hex,
} from '../../../../src/ingest/formats/ctis/recipes.rules.ts';
import { decodeCtis, ctis, onlyDraft, readJson, sharedFiles } from '../readers.ts';

interface Vectors {
  readonly producer: readonly {
    id: string;
    type: string;
    input: Record<string, string | number>;
    preimage: string | null;
    sha256: string;
  }[];
  readonly server_and_sdk: readonly { id: string; preimage: string; digest: string }[];
  readonly server_identity_v2: readonly {
    id: string;
    kind: string;
    fields: readonly [string, string][];
    digest: string;
  }[];
  readonly normalisation: Readonly<
    Record<'text' | 'host' | 'url_path' | 'address', readonly [string, string][]>
  > & { readonly asset_name: readonly [string, string, string][] };
}

const NOTHING: RecipeFields = {
  path: '',
  rule: '',
  title: '',
  message: '',
  startLine: 0,
  endLine: 0,
  snippet: '',
  logical: '',
  packageName: '',
  packageVersion: '',
  vulnerabilities: [],
  secrets: [],
  resourceType: '',
  resourceName: '',
  framework: '',
  control: '',
  assets: [],
  host: '',
  port: '',
  urlPath: '',
  parameter: '',
  contract: '',
  chainId: 0,
  weakness: '',
  contractFunction: '',
};

/** Short names in the vectors → fields of the recipes. */
function fieldsOf(input: Record<string, string | number>): RecipeFields {
  const text = (name: string): string => String(input[name] ?? '');
  const number = (name: string): number => Number(input[name] ?? 0);
  const list = (name: string): string[] => (input[name] === undefined ? [] : [text(name)]);
  return {
    ...NOTHING,
    path: text('path'),
    rule: text('rule'),
    title: text('message'),
    startLine: number('start'),
    endLine: number('end'),
    snippet: text('snippet'),
    logical: text('logical'),
    packageName: text('pkg'),
    packageVersion: text('ver'),
    vulnerabilities: list('vuln'),
    secrets: list('secret'),
    resourceType: text('rtype'),
    resourceName: text('rname'),
    assets: list('image'),
    host: text('host'),
    urlPath: text('upath'),
    parameter: text('param'),
    contract: text('addr'),
    chainId: number('chain'),
    weakness: text('swc'),
    contractFunction: text('fn'),
  };
}

/**
 * Identity v2 of the reference's server (CTIS §5.3): each field comes with its length in bytes, so
 * nothing is escaped.
 */
function identityV2(kind: string, fields: readonly [string, string][]): string {
  const parts = fields.map(
    ([name, value]) => `${name}\u001E${Buffer.byteLength(value)}\u001E${value}\u001F`,
  );
  return sha256Hex(['v2', kind, parts.join('')].join('\u001F'));
}

function check(vectors: Vectors): void {
  for (const { id, type, input, preimage, sha256 } of vectors.producer) {
    const fields = fieldsOf(input);
    const texts = fittingRecipes(fields)
      .filter(({ name }) => name === type)
      .map(({ text }) => text);
    if (preimage === null) assert.deepEqual(texts, [], id);
    else {
      assert.ok(texts.includes(preimage), `${id}: ${preimage} is not among ${texts.join(', ')}`);
      assert.equal(sha256Hex(preimage), sha256, id);
      assert.equal(judgeFingerprint(sha256, fields).recipe, type, id);
    }
  }
  for (const { id, preimage, digest } of vectors.server_and_sdk) {
    assert.equal(sha256Hex(preimage).slice(0, digest.length), digest, id);
  }
  for (const { id, kind, fields, digest } of vectors.server_identity_v2) {
    assert.equal(identityV2(kind, fields), digest, id);
  }
  const { text, host, url_path: urlPath, address, asset_name: names } = vectors.normalisation;
  for (const [input, expected] of text) assert.equal(normalised(input), expected);
  for (const [input, expected] of host) assert.equal(normalisedHost(input), expected);
  for (const [input, expected] of urlPath) assert.equal(normalisedUrlPath(input), expected);
  for (const [input, expected] of address) assert.equal(normalisedAddress(input), expected);
  for (const [kind, input, expected] of names) {
    const known = kind === 'unknown' ? 'unclassified' : (kind as AssetKind);
    assert.equal(normaliseAsset(known, input)?.value ?? '', expected, `${kind} ${input}`);
  }
}

const KEPT = readJson(
  new URL('../../../fixtures/fingerprints/ctis-vectors.json', import.meta.url),
) as Vectors;

test('all recipes and normalisations agree with the vectors that the project carries', () => {
  assert.deepEqual(
    [KEPT.producer.length, KEPT.server_and_sdk.length, KEPT.server_identity_v2.length],
    [28, 9, 4],
  );
  check(KEPT);
});

const file = sharedFiles('reference')?.find(({ name }) => name === 'ctis-fingerprint-vectors.json');
const skip = file === undefined ? '../shared/reference is not there' : false;

test('the vectors of the reference are the ones that the project carries', { skip }, () => {
  if (file === undefined) return;
  const whole = readJson(file.url) as Vectors;
  check(whole);
  const facts = (vectors: Vectors) => [
    vectors.producer.map(({ id, input, sha256 }) => [id, input, sha256]),
    vectors.server_and_sdk.map(({ id, preimage, digest }) => [id, preimage, digest]),
    vectors.server_identity_v2.map(({ id, fields, digest }) => [id, fields, digest]),
  ];
  assert.deepEqual(facts(whole), facts(KEPT));
});

test('recipes of the specification and of Trivy are built as their vectors say (S04, S05, S08, S09)', () => {
  const asset = '10.0.0.5';
  const network = { ...NOTHING, rule: '19506', port: '443/tcp' };
  assert.equal(recipes.network(network, asset), 'va:10.0.0.5:19506:443/tcp');
  const compliance = { ...NOTHING, framework: 'cis', control: '1.1.1' };
  assert.equal(recipes.compliance(compliance, asset), 'compliance:cis:1.1.1:10.0.0.5');
  const sca = { ...NOTHING, packageName: 'lodash', packageVersion: '4.17.20' };
  assert.equal(
    recipes.trivyVulnerability(sca, 'CVE-2021-23337', 'package-lock.json'),
    'CVE-2021-23337:lodash:4.17.20:package-lock.json',
  );
  const secret = { ...NOTHING, rule: 'aws-access-key-id', path: '.env', startLine: 5 };
  assert.equal(
    recipes.trivySecret(secret, 'AKIAIOSFODNN7EXAMPLE'),
    'aws-access-key-id:.env:5:AKIAIOSFODNN7EXAMPLE',
  );
});

test('what the reference says of equal and different fingerprints holds (CTIS §5.4)', () => {
  const sast = (path: string, rule: string, line = 10) =>
    recipes.sast({ ...NOTHING, path, rule, startLine: line, endLine: 20 });
  assert.equal(sast('SRC/MAIN.GO', 'rule'), sast('src/main.go', 'RULE'));
  assert.equal(sast('src\\main\\app.go', 'rule'), sast('src/main/app.go', 'rule'));
  assert.notEqual(sast('a', 'rule', 10), sast('a', 'rule', 11));
  const web3 = { ...NOTHING, contract: `0x${'a'.repeat(40)}`, chainId: 1 };
  assert.notEqual(recipes.web3(web3), recipes.web3({ ...web3, chainId: 2 }));
});

const judged = (finding: object) => {
  const base = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };
  const { baseFingerprint, fingerprints, detail } = onlyDraft(
    decodeCtis(ctis([{ ...base, ...finding }]), {}),
  );
  const { fingerprint_recipe: recipe, fingerprints_ignored: ignored } = detail;
  return { baseFingerprint, usable: fingerprints.fingerprint ?? null, recipe, ignored };
};

test('a recipe without line and version is evidence, and is named', () => {
  const location = { path: 'main.tf', start_line: 3, end_line: 9 };
  const misconfiguration = { resource_type: 'aws_s3_bucket', resource_name: 'b' };
  const fingerprint = sha256Hex('misconfig:aws_s3_bucket:b:r:main.tf');
  assert.deepEqual(judged({ fingerprint, location, misconfiguration }), {
    baseFingerprint: fingerprint,
    usable: fingerprint,
    recipe: 'misconfig',
    ignored: undefined,
  });
  const dast = sha256Hex('dast:r:shop.example.com:/a:q');
  const web = {
    url: 'https://shop.example.com/a?q=',
    parameter: { location: 'query', name: 'q' },
  };
  assert.equal(judged({ fingerprint: dast, web }).recipe, 'dast');
});

test('a recipe with the version is no evidence: an upgrade that stays vulnerable is the same finding', () => {
  const vulnerability = { package: 'Lodash', affected_version: '4', cve_id: 'CVE-2021-23337' };
  const fingerprint = sha256Hex('sca:lodash:4:cve-2021-23337');
  const { usable, recipe, ignored } = judged({ fingerprint, vulnerability });
  assert.deepEqual([usable, recipe], [null, 'sca']);
  assert.deepEqual(ignored, { fingerprint: 'hashes the version' });
  const trivy = sha256Hex('CVE-2021-23337:Lodash:4:package-lock.json').slice(0, 32);
  const location = { path: 'package-lock.json' };
  assert.equal(judged({ fingerprint: trivy, vulnerability, location }).recipe, 'trivy');
});

test('a recipe that hashed the raw secret is recognised, and the secret is not shown', () => {
  const value = 'AKIAIOSFODNN7EXAMPLE';
  const location = { path: '.env', start_line: 5, snippet: `AWS_KEY="${value}"` };
  const text = `secret:.env:r:5:${sha256Hex(value).slice(0, 16)}`;
  const finding = {
    type: 'secret',
    secret: { length: 20 },
    location,
    fingerprint: sha256Hex(text),
  };
  assert.deepEqual(judged(finding).ignored, { fingerprint: 'hashes the line number' });
});

test('a hash in capitals is the same hash, and is asked about as it was sent', () => {
  const fingerprint = 'AB'.repeat(32);
  const { usable, baseFingerprint } = judged({ fingerprint });
  assert.deepEqual([usable, baseFingerprint], ['ab'.repeat(32), fingerprint]);
  assert.equal(judged({ fingerprint: 'Rule-A:main.tf' }).usable, 'Rule-A:main.tf');
});

test('fingerprints of old SDKs are known to hash the line, with the value and without', () => {
  const fields = { ...NOTHING, path: 'a.env', rule: 'aws', startLine: 7, secrets: ['AKIA***MPLE'] };
  const digest = sha256Hex('AKIA***MPLE').slice(0, 8);
  for (const text of ['a.env:aws:7', `a.env:aws:7:${digest}`]) {
    const { recipe, weakness } = judgeFingerprint(sha256Hex(text), fields);
    assert.deepEqual([recipe, weakness], ['secret-old', 'hashes the line number']);
  }
});

test("Trivy's fingerprint of a misconfiguration tells the file, not the resource: it is named, and no evidence", () => {
  const misconfiguration = { resource_type: 'dockerfile', resource_name: 'Dockerfile' };
  const finding = {
    type: 'misconfiguration',
    title: 'Image user should not be root',
    message: 'Add a USER statement',
    rule_id: 'DS002',
    location: { path: 'app/Dockerfile', start_line: 3 },
    misconfiguration,
  };
  for (const message of [finding.message, finding.title]) {
    const whole = sha256Hex(`DS002:app/Dockerfile:dockerfile:${message}`);
    const fingerprint = whole.slice(0, 32);
    assert.deepEqual(judged({ ...finding, fingerprint }), {
      baseFingerprint: fingerprint,
      usable: null,
      recipe: 'trivy-misconfig',
      ignored: { fingerprint: 'hashes the file, not the resource' },
    });
    assert.equal(judged({ ...finding, fingerprint: whole }).recipe, undefined);
  }
});

test("Nuclei's fingerprint tells the host, not the address: it is named, and no evidence", () => {
  const finding = { rule_id: 'CVE-2021-44228', web: { url: 'https://shop.example.com/a?q=' } };
  for (const host of ['shop.example.com', 'https://shop.example.com']) {
    const fingerprint = sha256Hex(`sast:${host}:cve-2021-44228:0:0`);
    assert.deepEqual(judged({ ...finding, fingerprint }), {
      baseFingerprint: fingerprint,
      usable: null,
      recipe: 'nuclei',
      ignored: { fingerprint: 'hashes the host, not the address' },
    });
  }
});
