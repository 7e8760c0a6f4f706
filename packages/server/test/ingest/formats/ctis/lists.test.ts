// The lists of a CTIS report beside its findings (CTIS §3): assets with their technical blocks, the
// dependency graph, relationships and endpoints; and the union of several reports' facts about one
// asset.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergedAttributes } from '../../../../src/ingest/inventory/asset-attributes.rules.ts';
import { unitedComponent } from '../../../../src/ingest/inventory/component-uniting.rules.ts';
import {
  canonicalPurl,
  ecosystemType,
} from '../../../../src/ingest/formats/common/component.rules.ts';
import { decodeCtis, ctis, drafts, onlyDraft, warningCodes } from '../readers.ts';

const envelope = (report: object) => decodeCtis(ctis([], report), {});
const shop = { id: 'shop', type: 'website', value: 'https://shop.example.com/' };

test('an asset keeps its technical blocks, services, identifiers and hints as attributes', () => {
  const technical = {
    domain: { dns_records: [{ type: 'a', name: 'shop', value: '192.0.2.1', ttl: 300 }] },
    service: { port: 443, tls_version: 'TLS 1.3', details: { any: { thing: 1 } } },
    web3: { wallet: { owners: ['0xabc'], token_balances: [{ decimals: 18 }] } },
  };
  const asset = {
    ...shop,
    criticality: 'Severe',
    confidence: 80,
    technical,
    services: [{ port: 443, service: 'https', state: 'Active' }],
    identifiers: { machine_id: 'm1' },
    identity_hints: { fqdn: 'shop.example.com' },
    technologies: [{ name: 'nginx', confidence: 90 }],
    properties: { team: 'web' },
  };
  const [draft] = envelope({ assets: [asset] }).assets.usable;
  assert.equal(draft?.criticality, 'high');
  assert.deepEqual(draft?.attributes, {
    confidence: 80,
    technical: {
      domain: { dns_records: [{ type: 'A', name: 'shop', value: '192.0.2.1', ttl: 300 }] },
      service: { port: 443, tls_version: 'tls1.3', details: { any: { thing: 1 } } },
      web3: { wallet: { owners: ['0xabc'], token_balances: [{ decimals: 18 }] } },
    },
    services: [{ port: 443, service_type: 'https', state: 'active' }],
    identifiers: { machine_id: 'm1' },
    identity_hints: { fqdn: 'shop.example.com' },
    technologies: [{ name: 'nginx', confidence: 90 }],
    properties: { team: 'web' },
    value_as_sent: 'https://shop.example.com/',
  });
});

test('an unknown criticality, and words that no block has, cost a warning and nothing else', () => {
  const technical = { ip_address: { ports: [{ port: 70_000, protocol: 'sctp' }] }, odd: 1 };
  const report = envelope({ assets: [{ ...shop, criticality: 'vital', technical }] });
  const [draft] = report.assets.usable;
  assert.equal(draft?.criticality, null);
  assert.deepEqual(draft?.attributes.technical, { odd: 1 });
  assert.deepEqual(draft?.attributes.properties, {
    'technical/ip_address/ports/0/port': 70_000,
    'technical/ip_address/ports/0/protocol': 'sctp',
  });
  assert.deepEqual(warningCodes(report), ['out_of_range', 'unknown_member', 'unknown_word']);
});

test('credentials in attributes of assets and documents of dependencies are masked', () => {
  const properties = { api_key: 'abc123', plain: 'x' };
  const report = envelope({
    assets: [{ ...shop, properties }],
    dependencies: [{ name: 'n', properties }],
  });
  assert.deepEqual(report.assets.usable[0]?.attributes.properties, { api_key: '***', plain: 'x' });
  assert.deepEqual(report.components.usable[0]?.document.properties, {
    api_key: '***',
    plain: 'x',
  });
});

const graph = (dependencies: object[]) => {
  const report = envelope({ dependencies });
  const edges = report.components.usable.map(({ identity, dependsOn }) => [identity, dependsOn]);
  return { edges: Object.fromEntries(edges) as Record<string, string[]>, report };
};

test('an edge leads from a component to what it depends on, by id, purl, name@version or name', () => {
  const { edges, report } = graph([
    { id: 'app', name: 'app', depends_on: ['d-a', 'pkg:npm/B@2', 'c@3', 'd', ' d-a '] },
    { id: 'd-a', name: 'a', version: '1', ecosystem: 'npm' },
    { name: 'b', purl: 'pkg:npm/b@2' },
    { name: 'c', version: '3', ecosystem: 'pip' },
    { name: 'd', uid: 'u-d', depends_on: ['d-a'] },
    { name: 'e', depends_on: ['u-d'] },
  ]);
  assert.deepEqual(edges, {
    'other/app': ['npm/a@1', 'pkg:npm/b@2', 'pypi/c@3', 'other/d'],
    'npm/a@1': [],
    'pkg:npm/b@2': [],
    'pypi/c@3': [],
    'other/d': ['npm/a@1'],
    'other/e': ['other/d'],
  });
  assert.deepEqual(warningCodes(report), []);
});

test('two versions are two components, though their purl has none', () => {
  const { edges, report } = graph([
    { name: 'q', version: '2', purl: 'pkg:npm/q' },
    { name: 'q', version: '3:1+b', purl: 'pkg:npm/q?arch=x' },
    { name: 'r', purl: 'pkg:npm/r@1', version: '2', depends_on: ['pkg:npm/q@2', 'pkg:npm/q'] },
    { name: 's', version: '1', purl: 'pkg:npm/s' },
    { name: 't', depends_on: ['pkg:npm/s', 'pkg:npm/Q'] },
    { name: 'q', version: '4', purl: 'pkg:npm/q' },
  ]);
  assert.deepEqual(edges, {
    'pkg:npm/q@2': [],
    'pkg:npm/q@3:1%2Bb?arch=x': [],
    'pkg:npm/r@1': ['pkg:npm/q@2'],
    'pkg:npm/s@1': [],
    'other/t': ['pkg:npm/s@1'],
    'pkg:npm/q@4': [],
  });
  assert.deepEqual(
    report.warnings.map(({ pointer }) => pointer),
    ['/dependencies/2/depends_on/1', '/dependencies/4/depends_on/1'],
  );
});

test('a component of several lock files keeps the places and lists of all, in whatever order they come', () => {
  const draft = (document: object, ...dependsOn: string[]) => ({
    identity: 'pkg:npm/q@2',
    name: 'q',
    version: '2',
    dependsOn,
    document: document as Record<string, unknown>,
  });
  const some = [
    draft({ path: 'a/lock', licenses: ['MIT'], relationship: 'direct' }, 'x'),
    draft({ path: 'b/lock', licenses: ['MIT', 'ISC'] }, 'y', 'x'),
    draft({ location: { path: 'c/lock', start_line: 3 } }),
  ];
  const one = unitedComponent(some);
  assert.deepEqual(new Set(one.document.licenses as string[]), new Set(['MIT', 'ISC']));
  assert.equal(one.document.relationship, 'direct');
  const paths = (one.document.locations as { path: string }[]).map(({ path }) => path);
  assert.deepEqual(paths.sort(), ['a/lock', 'b/lock', 'c/lock']);
  assert.deepEqual(new Set(one.dependsOn), new Set(['x', 'y']));
  assert.deepEqual(unitedComponent(some.toReversed()), unitedComponent(some));
  const [alone] = some;
  assert.ok(alone !== undefined);
  assert.deepEqual(unitedComponent([alone]), alone);
  assert.deepEqual(unitedComponent([alone, alone]).document, alone.document);
});

test('no purl brings credentials with it, wherever it stands', () => {
  const purls = [
    'pkg:git/x@1?vcs_url=https://u:hunter2@h.example/r',
    'pkg:git/x@1?a=b&vcs_url=git%2Bhttps%3A%2F%2Fu%3Ahunter2%40h.example%2Fr#sub/u:p@q',
    'pkg:git/x@1?download_url=https://h.example/r%3Ftoken=hunter2&token=hunter2',
  ];
  for (const purl of purls) {
    const finding = { type: 'vulnerability', title: 'T', severity: 'low', rule_id: 'r' };
    const found = { ...finding, vulnerability: { purl, cve_id: 'CVE-2020-1111' } };
    const report = decodeCtis(ctis([found], { dependencies: [{ purl }] }), {});
    const { identity: _, ...shown } = onlyDraft(report);
    const text = JSON.stringify([shown, report.components]);
    assert.doesNotMatch(text, /hunter2/);
  }
  assert.equal(
    canonicalPurl(purls[1] ?? ''),
    'pkg:git/x@1?a=b&vcs_url=git%2Bhttps%3A%2F%2Fh.example%2Fr#sub/u:p@q',
  );
  const plain = 'pkg:deb/debian/x@1?distro=deb%2012&vcs_url=git%2Bhttps://h.example/r';
  assert.equal(canonicalPurl(plain), plain);
});

test('a component has no edge to itself; an edge that names no component, or several, costs a warning', () => {
  const { edges, report } = graph([
    { id: 'x', name: 'x', depends_on: ['x', 'gone', 'twice'] },
    { name: 'twice', version: '1' },
    { name: 'twice', version: '2' },
  ]);
  assert.deepEqual(edges['other/x'], []);
  assert.deepEqual(
    report.warnings.map(({ code, pointer }) => [code, pointer]),
    [
      ['dependency_unknown', '/dependencies/0/depends_on/1'],
      ['dependency_unknown', '/dependencies/0/depends_on/2'],
    ],
  );
});

test('an id that two components have means the first, and is warned about', () => {
  const { edges, report } = graph([
    { id: 'd', name: 'a' },
    { id: 'd', name: 'b' },
    { name: 'c', depends_on: ['d'] },
  ]);
  assert.deepEqual(edges['other/c'], ['other/a']);
  assert.deepEqual(warningCodes(report), ['dependency_id_repeated']);
});

test('purls, ecosystems and words for the use of a component have one spelling', () => {
  assert.equal(canonicalPurl('pkg:npm/@Scope/Name@1.0?arch=x'), 'pkg:npm/%40scope/name@1.0?arch=x');
  assert.equal(canonicalPurl('pkg:pypi/typing_extensions'), 'pkg:pypi/typing-extensions');
  assert.equal(canonicalPurl('pkg:maven/Org/Name@1'), 'pkg:maven/Org/Name@1');
  assert.equal(canonicalPurl('lodash@4'), null);
  assert.deepEqual(
    ['pip', 'GoMod', 'go', 'gradle', 'rubygems', 'swiftpm', 'hex', 'cran'].map(ecosystemType),
    ['pypi', 'golang', 'golang', 'maven', 'gem', 'swift', 'hex', 'cran'],
  );
  const words = ['direct', 'root', 'Indirect', 'transit', 'development', 'peer', 'odd'];
  const { report } = graph(words.map((relationship, at) => ({ name: `n${at}`, relationship })));
  assert.deepEqual(
    report.components.usable.map(({ document }) => document.relationship ?? document.properties),
    ['direct', 'direct', 'transitive', 'transitive', 'dev', 'optional', { relationship: 'odd' }],
  );
});

test('the location of 1.0 to 1.2 is read as the start (CTIS §8)', () => {
  const [component] = envelope({ dependencies: [{ name: 'n', location: { path: 'p', line: 15 } }] })
    .components.usable;
  assert.deepEqual(component?.document.location, { path: 'p', start_line: 15 });
});

test('relationships lead between assets of the report; a word of another vocabulary stays', () => {
  const host = { id: 'host', type: 'host', value: 'h1' };
  const between = (type: string) => ({ type, from_ref: 'shop', to_ref: ' host ' });
  const report = envelope({
    assets: [shop, host],
    relationships: [between('Hosted_By'), between('talks_to')],
  });
  assert.deepEqual(report.relationships.usable, [
    { from: 0, to: 1, type: 'hosted_by' },
    { from: 0, to: 1, type: 'talks_to' },
  ]);
  assert.deepEqual(warningCodes(report), ['unknown_word']);
});

test('an endpoint belongs to the asset it refers to, else to the web asset that its origin is', () => {
  const origin = 'HTTPS://Shop.example.com:443';
  const report = envelope({
    assets: [shop],
    endpoints: [
      { origin, path: '/orders/17', method: 'get', origin_ref: 'shop' },
      { origin, path: '/orders/18' },
      { origin: 'http://other.example', path: '/', origin_ref: 'gone' },
    ],
  });
  assert.deepEqual(
    report.endpoints?.usable.map(({ asset, identity }) => [
      report.assets.usable[asset]?.value,
      identity,
    ]),
    [
      ['https://shop.example.com', 'GET https://shop.example.com/orders/17'],
      ['https://shop.example.com', 'ANY https://shop.example.com/orders/18'],
      ['http://other.example', 'ANY http://other.example/'],
    ],
  );
  assert.deepEqual(warningCodes(report), ['asset_ref_unknown']);
});

test('an endpoint’s template is computed; values of parameters, users and queries are never kept', () => {
  const endpoint = {
    origin: 'https://ada:pw@shop.example.com',
    path: '/orders/17?token=abc#x',
    template: '/wrong',
    parent: 'https://ada:pw@shop.example.com/?q=secret',
    kind: 'API',
    auth: 'Redirect-Login',
    params: [{ location: 'query', name: 'q', type_hint: 'string', required: true }],
  };
  const report = envelope({ endpoints: [endpoint] });
  assert.deepEqual(report.endpoints?.usable[0]?.document, {
    origin: 'https://shop.example.com',
    path: '/orders/17',
    template: '/orders/{int}',
    parent: 'https://shop.example.com/?q=',
    kind: 'api',
    auth: 'redirect_login',
    params: [{ location: 'query', name: 'q', type_hint: 'string', required: true }],
  });
});

test('endpoints that name no place are located rejections', () => {
  const report = envelope({
    endpoints: [5, {}, { origin: 'x', path: '/' }, { origin: 'https://h', path: 'no-slash' }],
  });
  assert.deepEqual(
    report.endpoints?.rejections.map(({ code, pointer }) => [code, pointer]),
    [
      ['item_not_object', '/endpoints/0'],
      ['origin_missing', '/endpoints/1/origin'],
      ['origin_missing', '/endpoints/2/origin'],
      ['path_missing', '/endpoints/3/path'],
    ],
  );
});

test('a report of nothing but endpoints is a report', () => {
  const report = decodeCtis({ endpoints: [] }, {});
  assert.deepEqual(report.endpoints, { usable: [], rejections: [] });
});

test('later facts about an asset win, facts that they don’t mention stay, lists are united', () => {
  const stored = {
    description: 'old',
    technical: { ip_address: { asn: 1, ports: [{ port: 22, protocol: 'tcp', state: 'open' }] } },
    tags: ['a', 'b'],
  };
  const said = {
    description: 'new',
    technical: {
      ip_address: {
        city: 'Oslo',
        ports: [
          { port: 22, protocol: 'tcp', state: 'closed' },
          { port: 80, protocol: 'tcp' },
        ],
      },
    },
    tags: ['b', 'c'],
  };
  const merged = mergedAttributes(stored, said);
  assert.deepEqual(merged, {
    description: 'new',
    technical: {
      ip_address: {
        asn: 1,
        city: 'Oslo',
        ports: [
          { port: 22, protocol: 'tcp', state: 'closed' },
          { port: 80, protocol: 'tcp' },
        ],
      },
    },
    tags: ['a', 'b', 'c'],
  });
  assert.deepEqual(mergedAttributes(merged, said), merged);
});

test('merged lists and attributes stay within their bounds; the newest are kept', () => {
  const numbers = (from: number) => Array.from({ length: 400 }, (_, index) => `t${from + index}`);
  const { tags } = mergedAttributes({ tags: numbers(0) }, { tags: numbers(400) });
  assert.deepEqual([(tags as string[]).length, (tags as string[]).at(-1)], [500, 't799']);
  const large = { a: 'x'.repeat(40_000) };
  assert.deepEqual(mergedAttributes(large, { b: 'y'.repeat(40_000) }), { b: 'y'.repeat(40_000) });
});

test('a finding about a rejected asset is never taken for one about the asset beside it', () => {
  const assets = [
    { id: 'A', type: 'repository', value: 'github.com/a/a' },
    { id: 'B', type: 'repository' },
  ];
  const finding = { type: 'vulnerability', title: 'T', severity: 'low' };
  const targets = (listed: object[], ...refs: (string | undefined)[]) => {
    const findings = refs.map((asset_ref) => ({ ...finding, asset_ref }));
    return drafts(decodeCtis(ctis(findings, { assets: listed }), {})).map(({ asset }) => asset);
  };
  assert.deepEqual(targets(assets, 'A', 'B', undefined), [0, null, null]);
  assert.deepEqual(targets(assets.slice(0, 1), 'A', 'C', undefined), [0, 0, 0]);
});

test('ids of assets lead to them however long they are', () => {
  const id = 'x'.repeat(300);
  const assets = [
    { id, type: 'repository', value: 'github.com/a/a' },
    { id: 'B', type: 'repository', value: 'github.com/b/b' },
  ];
  const finding = { type: 'vulnerability', title: 'T', severity: 'low', asset_ref: id };
  const [draft] = drafts(decodeCtis(ctis([finding], { assets }), {}));
  assert.equal(draft?.asset, 0);
});
