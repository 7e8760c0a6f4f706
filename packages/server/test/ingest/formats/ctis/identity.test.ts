// The members that tell one CTIS finding from another: findings about different things never become
// one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evidenceOf } from '../../../../src/ingest/match/evidence.rules.ts';
import { decodeCtis, ctis, drafts, type ReadDraft } from '../readers.ts';

const key = Buffer.alloc(32, 1);

const COMMON = { type: 'vulnerability', title: 'T', severity: 'high', rule_id: 'nmap-vulners' };

/** The detail has no part in evidence. */
const evidenceOfRead = (draft: ReadDraft) =>
  evidenceOf({ ...draft, detail: () => draft.detail }, key);

/** The number of different findings, each with a rule, a title and a severity. */
function distinct(findings: readonly object[]): number {
  const read = drafts(decodeCtis(ctis(findings.map((finding) => ({ ...COMMON, ...finding })))));
  return new Set(read.map((draft) => evidenceOfRead(draft).content.toString('hex'))).size;
}

test('one rule that reports two vulnerabilities of one host reports two findings', () => {
  const ids = ['CVE-2020-1111', 'CVE-2020-2222'].map((cve_id) => ({ vulnerability: { cve_id } }));
  const network = { host: 'h', port: 443, protocol: 'tcp' };
  assert.equal(distinct(ids.map((one) => ({ ...one, network }))), 2);
  assert.equal(distinct(ids), 2);
  assert.equal(distinct(ids.map((one) => ({ ...one, message: one.vulnerability.cve_id }))), 2);
  const same = { vulnerability: { cve_id: 'CVE-2020-1111' } };
  assert.equal(
    distinct([
      { ...same, message: 'on a' },
      { ...same, message: 'on b' },
    ]),
    2,
  );
});

/** A finding by one plugin on one port, about these vulnerabilities. */
function advisory(first: string, more: readonly string[] = []): ReadDraft {
  const vulnerability = { cve_id: first, cve_ids: more };
  const network = { host: 'h', port: 443, protocol: 'tcp' };
  const [draft] = drafts(decodeCtis(ctis([{ ...COMMON, vulnerability, network }])));
  if (draft === undefined) throw new Error('a finding was expected');
  return draft;
}

test('a finding about several vulnerabilities is one finding that names all of them, in any order', () => {
  const [one, two, three] = ['CVE-2020-1111', 'CVE-2020-2222', 'CVE-2020-3333'] as const;
  const sent = advisory(one, [two, three]);
  assert.deepEqual(sent.detail.vulnerability_ids, [one, two, three]);
  assert.deepEqual(evidenceOfRead(advisory(three, [two, one])), evidenceOfRead(sent));
  // An advisory that grew is the same finding.
  assert.deepEqual(
    evidenceOfRead(advisory(one, [two, three, 'CVE-2021-4444'])).content,
    evidenceOfRead(sent).content,
  );
});

test('findings that differ only in the further vulnerabilities that they name are not one item', () => {
  const [a, b] = ['CVE-2020-2222', 'CVE-2020-3333'].map((id) => advisory('CVE-2020-1111', [id]));
  assert.ok(a !== undefined && b !== undefined);
  assert.notDeepEqual(evidenceOfRead(a).duplicateKey, evidenceOfRead(b).duplicateKey);
});

test('one function of one contract on two chains is two findings', () => {
  const on = (more: object) => ({
    type: 'web3',
    web3: { contract_address: '0xAbC', function_signature: 'f()', ...more },
  });
  const all = [{}, { chain_id: 1 }, { chain_id: 137 }, { chain: 'bsc' }, { chain: 'near' }];
  assert.equal(distinct(all.map(on)), all.length);
  assert.equal(distinct([on({ chain_id: 1 }), on({ chain_id: 1, chain: 'ethereum' })]), 1);
  assert.equal(
    distinct([on({ chain: 'bsc' }), on({ chain: ' BSC', contract_address: '0xabc' })]),
    1,
  );
  // Addresses that aren't hexadecimal depend on case.
  assert.equal(distinct([on({ contract_address: 'So1' }), on({ contract_address: 'so1' })]), 2);
  const source = { location: { path: 'a.sol', logical_location: { name: 'f' } } };
  const [one, other] = drafts(
    decodeCtis(ctis([1, 137].map((chain_id) => ({ ...COMMON, ...source, ...on({ chain_id }) })))),
  ).map(evidenceOfRead);
  assert.deepEqual(one?.content, other?.content, 'it is known by its source');
  assert.notDeepEqual(one?.duplicateKey, other?.duplicateKey);
});

test('a control that a finding is mapped to is not what the finding is about', () => {
  const compliance = { framework: 'pci-dss', control_id: '6.2', result: 'fail' };
  const packages = ['openssl', 'libssl'].map((name) => ({
    compliance,
    vulnerability: { cve_id: 'CVE-2020-1111', package: name },
  }));
  assert.equal(distinct(packages), 2);
  const code = ['a(x)', 'b(y)'].map((snippet) => ({
    compliance,
    location: { path: 'a.c', snippet },
  }));
  assert.equal(distinct(code), 2);
  assert.equal(distinct(code.map((one) => ({ ...one, type: 'compliance' }))), 1);
  const resources = ['a', 'b'].map((resource_name) => ({ misconfiguration: { resource_name } }));
  assert.equal(distinct(resources), 2);
});

test('a web address and the path beside it both tell findings apart', () => {
  const pages = [1, 2].map((n) => ({
    message: 'sqli',
    location: { path: 'index.php' },
    web: {
      url: `https://shop.example/p${n}?q=1`,
      method: 'GET',
      parameter: { location: 'query', name: `p${n}` },
    },
  }));
  assert.equal(distinct(pages), 2);
  const web = { url: 'https://shop.example/', method: 'GET' };
  const code = ['a.php', 'b.php'].map((path) => ({ web, location: { path } }));
  assert.equal(distinct(code), 2);
});

test('resources of several namespaces, and libraries of several services, are several findings', () => {
  const misconfiguration = { resource_type: 'Deployment', resource_name: 'web' };
  const inNamespace = (namespace?: string) => ({
    type: 'misconfiguration',
    misconfiguration: { ...misconfiguration, ...(namespace === undefined ? {} : { namespace }) },
  });
  assert.equal(distinct([inNamespace('shop'), inNamespace('billing'), inNamespace()]), 3);
  const vulnerability = { cve_id: 'CVE-2020-1111', package: 'jquery' };
  const on = (port: number) => ({ vulnerability, network: { host: 'h', port } });
  assert.equal(distinct([on(443), on(8443), { vulnerability }]), 3);
  const page = (url: string) => ({ vulnerability, web: { url } });
  const site = 'https://shop.example.com';
  assert.equal(distinct([page(`${site}/a`), page(`${site}:8443/a`)]), 2);
});
