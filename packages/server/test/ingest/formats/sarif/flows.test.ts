// Flows, stacks and graphs of SARIF results as a finding page shows them (SARIF 2.1.0 §3.36-§3.45).

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, detailOfResult, oneResult } from '../readers.ts';

const text = (words: string) => ({ text: words });
const step = (uri: string, more: object = {}) => ({ location: at(uri), ...more });

test('each thread of a code flow is a flow, told by its number and its name', () => {
  const codeFlows = [
    { threadFlows: [{ locations: [step('alone.c')] }] },
    {
      message: text('race'),
      threadFlows: [
        { id: 'main', message: text('writes'), locations: [step('a.c', { executionOrder: 1 })] },
        { id: 'worker', locations: [step('b.c', { executionOrder: 0 }), step('c.c')] },
        { locations: [] },
      ],
    },
  ];
  assert.deepEqual(detailOfResult({ codeFlows }).code_flows, [
    { steps: [{ path: 'alone.c' }] },
    {
      steps: [{ path: 'a.c', execution_order: 1 }],
      message: 'race\nwrites',
      flow: 1,
      thread: 'main',
    },
    {
      steps: [{ path: 'b.c', execution_order: 0 }, { path: 'c.c' }],
      message: 'race',
      flow: 1,
      thread: 'worker',
    },
  ]);
});

test('a step says what it is, how deep it is, and what variables hold there', () => {
  const locations = [
    step('a.c', {
      kinds: ['acquire', 'lock'],
      importance: 'essential',
      module: 'libc',
      nestingLevel: 2,
      state: { x: text('1'), password: text('hunter2'), y: { text: '{0}', arguments: ['7'] } },
    }),
    { module: 'only a module' },
    {},
    null,
  ];
  const flow = { initialState: { i: text('0') }, immutableState: { n: text('9') }, locations };
  assert.deepEqual(detailOfResult({ codeFlows: [{ threadFlows: [flow] }] }).code_flows, [
    {
      steps: [
        {
          path: 'a.c',
          role: 'acquire lock',
          importance: 'essential',
          module: 'libc',
          nesting_level: 2,
          state: { x: '1', password: '***', y: '7' },
        },
        { module: 'only a module' },
      ],
      state: { n: '9', i: '0' },
    },
  ]);
});

test('a step with an index is filled in from the run’s table; its own members come first', () => {
  const threadFlowLocations = [
    { ...step('shared.c'), kinds: ['source'], module: 'm', state: { a: text('1'), b: text('1') } },
  ];
  const locations = [{ index: 0, kinds: ['sink'], state: { b: text('2') } }, { index: 5 }];
  const codeFlows = [{ threadFlows: [{ locations }] }];
  assert.deepEqual(detailOfResult({ codeFlows }, { threadFlowLocations }).code_flows, [
    { steps: [{ path: 'shared.c', role: 'sink', module: 'm', state: { a: '1', b: '2' } }] },
  ]);
});

test('a step may carry the request that caused it', () => {
  const webRequests = [{ method: 'POST', target: 'https://ada:pw@x.test/a?t=secret' }];
  const locations = [{ webRequest: { index: 0 }, webResponse: { statusCode: 500 } }];
  const flows = detailOfResult(
    { codeFlows: [{ threadFlows: [{ locations }] }] },
    { webRequests },
  ).code_flows;
  assert.deepEqual(flows?.[0]?.steps, [
    { web_request: { method: 'POST', url: 'https://x.test/a?t=' }, web_response: { status: 500 } },
  ]);
});

test('frames of a stack have module, thread and parameters, and may have no place', () => {
  const frames = [
    { location: at('a.c'), module: 'm', threadId: 52, parameters: ['null', '14', 5] },
    { location: { logicalLocations: [{ fullyQualifiedName: 'ns::f' }] } },
    7,
  ];
  assert.deepEqual(detailOfResult({ stacks: [{ message: text('called'), frames }] }).stacks, [
    {
      message: 'called',
      frames: [
        { path: 'a.c', module: 'm', thread_id: 52, parameters: ['null', '14'] },
        { logical: 'ns::f' },
      ],
    },
  ]);
});

const GRAPH = {
  description: text('calls'),
  nodes: [
    { id: 'main', label: text('main()'), location: at('a.c', { startLine: 1 }) },
    { id: 'lib', children: [{ id: 'f', location: at('f.c') }] },
  ],
  edges: [
    { id: 'e1', sourceNodeId: 'main', targetNodeId: 'f', label: text('calls') },
    { id: 'e2', sourceNodeId: 'f', targetNodeId: 'main' },
  ],
};

test('a graph of the result is shown whole, its nested nodes by their parents', () => {
  const graphTraversals = [
    {
      resultGraphIndex: 0,
      description: text('the way'),
      initialState: { x: text('0') },
      edgeTraversals: [
        { edgeId: 'e1', message: text('down'), finalState: { x: text('1') } },
        { edgeId: 'e2', stepOverEdgeCount: 1 },
      ],
    },
  ];
  const { graphs, graph_traversals } = detailOfResult({ graphs: [GRAPH], graphTraversals });
  assert.deepEqual(graphs, [
    {
      description: 'calls',
      nodes: [
        { node: 'main', label: 'main()', path: 'a.c', start_line: 1 },
        { node: 'lib' },
        { node: 'f', parent: 'lib', path: 'f.c' },
      ],
      edges: [
        { edge: 'e1', label: 'calls', from: 'main', to: 'f' },
        { edge: 'e2', from: 'f', to: 'main' },
      ],
    },
  ]);
  assert.deepEqual(graph_traversals, [
    {
      steps: [{ edge: 'e1', message: 'down', state: { x: '1' } }, { edge: 'e2' }],
      description: 'the way',
      state: { x: '0' },
      graph: 0,
    },
  ]);
});

test('a graph of the run shows only the part that a result goes through, once', () => {
  const way = (edgeId: string) => ({ runGraphIndex: 0, edgeTraversals: [{ edgeId }] });
  const detail = detailOfResult({ graphTraversals: [way('e2'), way('e2')] }, { graphs: [GRAPH] });
  assert.deepEqual(
    detail.graphs?.map(({ nodes, edges }) => [
      nodes.map(({ node }) => node),
      edges.map(({ edge }) => edge),
    ]),
    [[['f', 'main'], ['e2']]],
  );
  assert.deepEqual(
    detail.graph_traversals?.map(({ graph }) => graph),
    [0, 0],
  );
  assert.equal(detailOfResult({}, { graphs: [GRAPH] }).graphs, undefined);
});

test('a traversal of no graph keeps its steps; repeated nodes, edges to nowhere and cycles do no harm', () => {
  const lost = { graphTraversals: [{ runGraphIndex: 4, edgeTraversals: [{ edgeId: 'e' }] }] };
  assert.deepEqual(detailOfResult(lost).graph_traversals, [{ steps: [{ edge: 'e' }] }]);
  let nested: object = { id: 'deepest' };
  for (let depth = 0; depth < 50; depth += 1) nested = { id: `n${depth}`, children: [nested] };
  const graph = {
    nodes: [nested, { id: 'n49' }, 5],
    edges: [{ id: 'e', sourceNodeId: 'n49', targetNodeId: 'gone' }, { id: 'half' }],
  };
  const [shown] = detailOfResult({ graphs: [graph] }).graphs ?? [];
  assert.equal(shown?.nodes.length, 51);
  assert.deepEqual(shown?.edges, [{ edge: 'e', from: 'n49', to: 'gone' }]);
});

test('a huge graph is cut visibly', () => {
  const nodes = Array.from({ length: 300 }, (_, index) => ({ id: `n${index}` }));
  const { graphs, omitted } = detailOfResult({ graphs: [{ nodes }] });
  assert.equal(graphs?.[0]?.nodes.length, 100);
  assert.deepEqual(omitted, { graphs: 200 });
});

test('flows, stacks and graphs of a secret show nothing but places', () => {
  const value = 'ghp_0123456789abcdefABCDEF';
  const said = text(`it is ${value}`);
  const place = at('a.env', { startLine: 1, snippet: { text: value } });
  const location = { ...(place as object), message: said, annotations: [{ message: said }] };
  const draft = oneResult(
    {
      message: said,
      locations: [location],
      codeFlows: [
        {
          message: said,
          threadFlows: [{ message: said, locations: [{ location, state: { v: text(value) } }] }],
        },
      ],
      stacks: [{ message: said, frames: [{ location, parameters: [value] }] }],
      graphs: [{ description: said, nodes: [{ id: 'n', label: said, location }] }],
      graphTraversals: [{ description: said, edgeTraversals: [{ edgeId: 'e', message: said }] }],
      attachments: [
        {
          description: said,
          artifactLocation: { uri: 'x' },
          regions: [{ startLine: 1, message: said }],
        },
      ],
      webRequest: { method: 'GET', headers: { 'X-Trace': value }, body: text(value) },
      suppressions: [{ kind: 'external', location }],
    },
    {},
    { name: 'gitleaks' },
  );
  assert.deepEqual(draft.identity.content, [value]);
  assert.ok(!JSON.stringify({ ...draft, identity: null }).includes(value));
});

test('a step has its time, its taxa and its stack, its own before those of the run’s table', () => {
  const frame = (module: string) => ({
    frames: [{ module, location: at('b.c', { startLine: 2 }) }],
  });
  const listed = {
    executionTimeUtc: '2024-01-01T00:00:00Z',
    taxa: [{ id: 'source', toolComponent: { name: 'Roles' } }],
    stack: frame('listed'),
  };
  const locations = [
    { index: 0, stack: frame('own'), taxa: [{ id: '20', toolComponent: { name: 'CWE' } }] },
    { index: 0 },
  ];
  const more = { codeFlows: [{ threadFlows: [{ locations }] }] };
  const steps = detailOfResult(more, { threadFlowLocations: [listed] }).code_flows?.[0]?.steps;
  const stack = (module: string) => ({ frames: [{ path: 'b.c', start_line: 2, module }] });
  const executed_at = '2024-01-01T00:00:00Z';
  assert.deepEqual(steps, [
    { executed_at, taxa: ['CWE-20'], stack: stack('own') },
    { executed_at, taxa: ['Roles/source'], stack: stack('listed') },
  ]);
});
