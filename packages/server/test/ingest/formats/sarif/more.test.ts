// Fixes, attachments, web exchanges, suppressions, provenance and places of SARIF results, as a
// finding page shows them (SARIF 2.1.0 §3.21, §3.28-§3.35, §3.46-§3.48, §3.55-§3.57).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, detailOfResult, oneResult } from '../readers.ts';

const text = (words: string) => ({ text: words });

test('a fix names its files and what it puts where', () => {
  const deletedRegion = { startLine: 3, startColumn: 5, endColumn: 5 };
  const fixes = [
    {
      description: text('quote it'),
      artifactChanges: [
        {
          artifactLocation: { uri: 'a.c' },
          replacements: [
            { deletedRegion, insertedContent: text('"') },
            { deletedRegion: { byteOffset: 7, byteLength: 2 } },
            null,
          ],
        },
      ],
    },
    null,
  ];
  assert.deepEqual(detailOfResult({ fixes }).fixes, [
    {
      description: 'quote it',
      changes: [
        {
          path: 'a.c',
          replacements: 3,
          edits: [
            { start_line: 3, start_column: 5, end_column: 5, inserted: '"' },
            { byte_offset: 7, byte_length: 2 },
          ],
        },
      ],
    },
  ]);
});

test('attachments are named with the parts that matter, and never fetched', () => {
  const attachments = [
    {
      description: text('a screenshot'),
      artifactLocation: { uri: 'https://x.test/shot.png?token=abc' },
      rectangles: [{ top: 1, left: 2, bottom: 3.5, right: 4, message: text('here') }, {}],
    },
    { artifactLocation: { uri: 'logs/run.log' }, regions: [{ startLine: 9, snippet: text('x') }] },
    {},
    5,
  ];
  assert.deepEqual(detailOfResult({ attachments }).attachments, [
    {
      description: 'a screenshot',
      url: 'https://x.test/shot.png?token=',
      rectangles: [{ top: 1, left: 2, bottom: 3.5, right: 4, message: 'here' }],
    },
    { path: 'logs/run.log', regions: [{ start_line: 9, snippet: 'x' }] },
  ]);
});

test('a request or response that is an index is the run’s', () => {
  const run = {
    webRequests: [
      {
        protocol: 'HTTP',
        version: '1.1',
        method: 'GET',
        target: 'https://x.test/a?b=c',
        headers: { Cookie: 'x', Accept: '*' },
      },
    ],
    webResponses: [{ statusCode: 200, body: text('password=hunter2&x=1') }],
  };
  const detail = detailOfResult(
    { webRequest: { index: 0, method: 'HEAD' }, webResponse: { index: 0 } },
    run,
  );
  assert.deepEqual(detail.web_request, {
    protocol: 'HTTP/1.1',
    method: 'HEAD',
    url: 'https://x.test/a?b=',
    headers: { Cookie: '***', Accept: '*' },
  });
  assert.deepEqual(detail.web_response, { status: 200, body: 'password=***&x=1' });
  assert.deepEqual(detailOfResult({ webResponse: { noResponseReceived: true } }).web_response, {
    no_response: true,
  });
  assert.equal(detailOfResult({ webRequest: { index: 9 } }).web_request, undefined);
});

test('a request identifies its finding, whether it is the result’s or the run’s', () => {
  const webRequest = { method: 'get', target: 'https://x.test/a/7?b=c' };
  const own = oneResult({ webRequest });
  const listed = oneResult({ webRequest: { index: 0 } }, { webRequests: [webRequest] });
  assert.deepEqual(own.identity, { kind: 'web', content: ['GET', 'x.test/a/{int}', 'b'] });
  assert.deepEqual(listed.identity, own.identity);
});

test('a result is suppressed when all its suppressions are accepted; a status that is no word accepts nothing', () => {
  const suppressed = (suppressions: unknown) => oneResult({ suppressions }).suppressed;
  const external = (status?: unknown) => ({
    kind: 'external',
    ...(status !== undefined && { status }),
  });
  assert.equal(suppressed(undefined), false);
  assert.equal(suppressed(null), false);
  assert.equal(suppressed([]), false);
  assert.equal(suppressed([{ kind: 'inSource' }]), true);
  assert.equal(suppressed([external('accepted')]), true);
  assert.equal(suppressed([external('underReview')]), false);
  assert.equal(suppressed([external('rejected')]), false);
  assert.equal(suppressed([external('accepted'), external('rejected')]), false);
  for (const status of ['', ' ', 5, {}]) {
    assert.equal(
      suppressed([{ kind: 'external', status }]),
      false,
      'what is no word accepts nothing',
    );
    assert.equal(suppressed([external('accepted'), { status }]), false);
  }
  assert.equal(suppressed([{ kind: 'external', status: null }]), true, 'nothing is said');
  assert.equal(suppressed([external('ACCEPTED?')]), false);
  assert.equal(suppressed([{ kind: null, status: null }]), false);
});

test('a suppression is shown with its id, its place and its end', () => {
  const suppressions = [
    {
      kind: 'inSource',
      guid: 'g1',
      justification: 'test code',
      location: at('a.c', { startLine: 7 }),
      properties: { ignoredOn: '2024-10-11', expiration: '2025-02-11', other: 1 },
    },
  ];
  assert.deepEqual(detailOfResult({ suppressions }).suppressions, [
    {
      kind: 'inSource',
      status: 'accepted',
      justification: 'test code',
      producer_id: 'g1',
      location: { path: 'a.c', start_line: 7 },
      at: '2024-10-11',
      expires_at: '2025-02-11',
    },
  ]);
});

test('provenance says when, by which run, and from which output; what it quotes is not repeated', () => {
  const provenance = {
    firstDetectionTimeUtc: '2020-01-01T00:00:00Z',
    lastDetectionRunGuid: 'run-2',
    invocationIndex: 0,
    conversionSources: [
      { artifactLocation: { uri: 'out.xml' }, region: { startLine: 4, snippet: text('<raw/>') } },
      {},
    ],
  };
  assert.deepEqual(detailOfResult({ provenance }).provenance, {
    first_detected_at: '2020-01-01T00:00:00Z',
    last_detected_run: 'run-2',
    converted_from: [{ path: 'out.xml', start_line: 4 }],
  });
  assert.equal(detailOfResult({ provenance: {} }).provenance, undefined);
});

test('ids, counts, states and links of a result are kept as they were sent', () => {
  const more = {
    guid: 'g',
    correlationGuid: 'c',
    occurrenceCount: 3,
    hostedViewerUri: 'https://x.test/1',
    workItemUris: ['https://x.test/2', 5],
    baselineState: 'updated',
    kind: 'review',
  };
  const detail = detailOfResult(more);
  assert.deepEqual(
    [detail.producer_id, detail.correlation_id, detail.occurrence_count, detail.kind],
    ['g', 'c', 3, 'review'],
  );
  assert.deepEqual(
    [detail.hosted_viewer_uri, detail.work_item_uris, detail.baseline_state],
    ['https://x.test/1', ['https://x.test/2'], 'updated'],
  );
});

test('the analysed file is named where the finding is elsewhere, and stands in for a missing place', () => {
  const analysisTarget = { uri: 'main.c' };
  assert.equal(
    detailOfResult({ analysisTarget, locations: [at('lib.h')] }).analysis_target,
    'main.c',
  );
  assert.equal(
    detailOfResult({ analysisTarget, locations: [at('main.c')] }).analysis_target,
    undefined,
  );
  assert.equal(oneResult({ analysisTarget }).path, 'main.c');
});

test('all names of a place are kept, the first is its name; the run’s table fills in', () => {
  const run = {
    logicalLocations: [
      { name: 'Example', kind: 'namespace' },
      { name: 'Worker', parentIndex: 0, kind: 'type' },
      { name: 'DoIt', parentIndex: 1 },
      { name: 'a', parentIndex: 4 },
      { name: 'b', parentIndex: 3 },
      { name: 'm', parentIndex: 6 },
      { fullyQualifiedName: 'N.C', name: 'C' },
    ],
  };
  const place = (...logicalLocations: object[]) =>
    detailOfResult({ locations: [{ logicalLocations }] }, run).locations?.[0];
  assert.deepEqual(place({ fullyQualifiedName: 'css' }, { fullyQualifiedName: '/xpath' }), {
    logical: 'css',
    logical_others: ['/xpath'],
  });
  assert.deepEqual(place({ index: 1 }), { logical: 'Example.Worker', logical_kind: 'type' });
  assert.equal(place({ index: 2 })?.logical, 'Example.Worker.DoIt');
  assert.equal(place({ index: 5 })?.logical, 'N.C.m');
  assert.equal(place({ decoratedName: '_Z1f' })?.logical, '_Z1f');
  assert.match(place({ index: 3 })?.logical ?? '', /^(?:[ab]\.)+a$/);
});

test('annotations and relationships of a place are kept', () => {
  const location = {
    ...(at('a.c', { startLine: 1 }) as object),
    id: 4,
    annotations: [{ startLine: 2, startColumn: 3, message: text('(y + z) = 42') }, {}],
    relationships: [{ target: 5, kinds: ['includes'], description: text('by way of') }, {}],
  };
  assert.deepEqual(detailOfResult({ locations: [location] }).locations, [
    {
      path: 'a.c',
      start_line: 1,
      id: 4,
      annotations: [{ start_line: 2, start_column: 3, message: '(y + z) = 42' }],
      relationships: [{ target: 5, kinds: ['includes'], description: 'by way of' }],
    },
  ]);
});

test('a place in a binary has its address, through the run’s table where it is an index', () => {
  const run = {
    addresses: [{ absoluteAddress: 4096, fullyQualifiedName: 'a.dll!f', kind: 'function' }],
  };
  const locations = [
    { physicalLocation: { address: { index: 0, offsetFromParent: -8, absoluteAddress: -1 } } },
  ];
  assert.deepEqual(detailOfResult({ locations }, run).locations, [
    { address: { offset_from_parent: -8, name: 'a.dll!f', kind: 'function' } },
  ]);
  const [plain] =
    detailOfResult({ locations: [{ physicalLocation: { address: { index: 0 } } }] }, run)
      .locations ?? [];
  assert.deepEqual(plain?.address, { absolute: 4096, name: 'a.dll!f', kind: 'function' });
});

test('the property bag of a finding’s own place is kept, with credentials masked', () => {
  const place = (more: object) => ({ ...(at('a.c') as object), ...more });
  const own = place({ properties: { attack: '<script>', password: 'hunter2' } });
  const locations = [own, place({ properties: { attack: 'other' } })];
  assert.deepEqual(detailOfResult({ locations }).locations, [
    { path: 'a.c', properties: { attack: '<script>', password: '***' } },
    { path: 'a.c' },
  ]);
});

test('property bags are data, tags have a place of their own', () => {
  const properties = { tags: ['x', 'y'], deep: { list: [1, { a: null }] }, empty: '' };
  const detail = detailOfResult({ properties });
  assert.deepEqual(detail.properties, { deep: { list: [1] } });
  assert.deepEqual(detail.tags, ['x', 'y']);
});

test('property bags inside a result are kept by their pointers, masked; those of a secret are not kept', () => {
  const place = (more: object) => ({
    physicalLocation: { artifactLocation: { uri: 'a.c' }, ...more },
    properties: { own: 1 },
  });
  const more = {
    locations: [place({ region: { startLine: 1, properties: { 'a/b': 'region' } } }), place({})],
    fixes: [{ description: { text: 'd' }, properties: { api_token: 'abcdef0123' } }],
    suppressions: [{ kind: 'external', properties: { ticket: 'S-1', empty: {} } }],
    partialFingerprints: { properties: 'no bag' },
    properties: { of: 'the result' },
  };
  const detail = detailOfResult(more);
  assert.deepEqual(detail.property_bags, {
    '/locations/0/physicalLocation/region': { 'a/b': 'region' },
    '/locations/1': { own: 1 },
    '/fixes/0': { api_token: '***' },
    '/suppressions/0': { ticket: 'S-1' },
  });
  assert.deepEqual(detail.locations?.[0]?.properties, { own: 1 });
  assert.equal(detailOfResult(more, {}, { name: 'gitleaks' }).property_bags, undefined);
  assert.equal(detailOfResult({}).property_bags, undefined);
  const many = Array.from({ length: 60 }, (_, index) => ({ properties: { index } }));
  const bags = detailOfResult({ relatedLocations: many }).property_bags ?? {};
  assert.equal(Object.keys(bags).length, 50);
});

test('pointers of property bags take room like their contents, and a name that is data leads to no bag', () => {
  const bags = (name: string) => {
    const below = Array.from({ length: 50 }, (_, index) => ({ properties: { index } }));
    return detailOfResult({ relatedLocations: [{ [name]: below }] }).property_bags;
  };
  assert.equal(Object.keys(bags('n'.repeat(128)) ?? {}).length, 50);
  assert.equal(bags('n'.repeat(129)), undefined);
  const [shownAt] = Object.keys(bags('password=hunter2') ?? {});
  assert.equal(shownAt, '/relatedLocations/0/password=***/0');
  const deep = Array.from({ length: 100 }).reduce<object>(
    (inner, _, index) => ({
      ['d'.repeat(100)]: inner,
      ...(index % 3 === 0 && { properties: { index } }),
    }),
    {},
  );
  const shown = detailOfResult({ relatedLocations: [deep] }).property_bags ?? {};
  const chars = JSON.stringify(shown).length;
  assert.ok(chars > 32 * 1024 && chars < 80 * 1024, `${chars} characters`);
});

test('property bags of web exchanges are not shown: they quote what is masked in the exchange', () => {
  const raw = 'GET / HTTP/1.1\r\nAuthorization: Bearer c2VjcmV0';
  const webRequest = { method: 'GET', properties: { request: raw }, body: { properties: { raw } } };
  const steps = [{ location: {}, webRequest, webResponse: { properties: { raw } } }];
  const more = { webRequest, codeFlows: [{ threadFlows: [{ locations: steps }] }] };
  const detail = detailOfResult(more);
  assert.equal(detail.web_request?.method, 'GET');
  assert.doesNotMatch(JSON.stringify(detail), /c2VjcmV0/);
});
