// Graphs of a SARIF result and the ways through them (SARIF 2.1.0 §3.39-§3.43) → the form that a
// finding page shows. The result's own graphs are shown whole; of a run's graph, which may be a
// whole program, only the part that the result goes through is shown. Called by
// show/detail.decode.ts.

import {
  type DetailEdge,
  type DetailGraph,
  type DetailNode,
  type DetailTraversal,
  limits,
} from '@muster/contract/plain';
import { indexOf, type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';
import { messageOf, stateOf } from './flows.decode.ts';
import { detailLocation, type Reading, readLocation } from '../read/locations.decode.ts';
import { type Graph, graphOf, type Node, type RunGraphs } from '../read/run-graphs.decode.ts';

/**
 * Each traversal may go through a graph of its own, and all edges of that graph are looked through.
 */
const TRAVERSALS_MAX = 50;

interface ReadGraphs {
  readonly graphs: DetailGraph[];
  readonly traversals: DetailTraversal[];
}

/** The graphs that a result has or goes through, and its ways through them. */
export function detailGraphs(
  result: JsonObject,
  runGraphs: RunGraphs,
  reading: Reading,
): ReadGraphs {
  const graphs: DetailGraph[] = [];
  /**
   * Index of a graph of the result, or -1 minus the index of a graph of the run → its index in
   * `graphs`.
   */
  const indexes = new Map<number, number>();
  for (const [index, entry] of listOf(result.graphs).entries()) {
    const graph = graphOf(entry);
    if (graph === null || graph.nodes.size + graph.edges.size === 0) continue;
    indexes.set(index, graphs.push(shownGraph(graph, [...graph.edges.keys()], true, reading)) - 1);
  }
  const traversals: DetailTraversal[] = [];
  const ways = listOf(result.graphTraversals);
  reading.room.omitted += Math.max(0, ways.length - TRAVERSALS_MAX);
  for (const entry of ways.slice(0, TRAVERSALS_MAX)) {
    const raw = objectOf(entry);
    if (raw === null) continue;
    const own = indexOf(raw.resultGraphIndex);
    const foreign = own === null ? indexOf(raw.runGraphIndex) : null;
    const graph = foreign === null ? null : runGraphs.at(foreign);
    if (foreign !== null && graph !== null && !indexes.has(-1 - foreign)) {
      const edges = edgesThrough(result, foreign);
      indexes.set(-1 - foreign, graphs.push(shownGraph(graph, edges, false, reading)) - 1);
    }
    const traversal = traversalOf(raw, reading);
    const index = indexes.get(own ?? -1 - (foreign ?? 0));
    if (index !== undefined && (own !== null || foreign !== null)) traversal.graph = index;
    if (traversal.steps.length > 0) traversals.push(traversal);
  }
  return { graphs, traversals };
}

/** The edges that the result's traversals take through a graph of the run, in their order. */
function edgesThrough(result: JsonObject, index: number): string[] {
  const edges = new Set<string>();
  for (const entry of listOf(result.graphTraversals).slice(0, TRAVERSALS_MAX)) {
    const raw = objectOf(entry);
    if (raw === null || indexOf(raw.runGraphIndex) !== index) continue;
    for (const step of listOf(raw.edgeTraversals)) {
      const id = stringOf(objectOf(step)?.edgeId);
      if (id !== null) edges.add(id);
    }
  }
  return [...edges];
}

/**
 * A graph with these edges and their nodes; with all its nodes if `isWhole`. Nodes and edges share
 * the room of one list.
 */
function shownGraph(
  graph: Graph,
  edgeIds: readonly string[],
  isWhole: boolean,
  reading: Reading,
): DetailGraph {
  const shown = new Map<string, DetailNode>();
  const show = (id: string): void => {
    const node = graph.nodes.get(id);
    if (node === undefined || shown.has(id) || !reading.room.take()) return;
    shown.set(id, nodeOf(id, node, reading));
  };
  if (isWhole) for (const id of graph.nodes.keys()) show(id);
  const edges: DetailEdge[] = [];
  for (const id of edgeIds) {
    const raw = graph.edges.get(id);
    const from = stringOf(raw?.sourceNodeId);
    const to = stringOf(raw?.targetNodeId);
    if (raw === undefined || from === null || to === null || !reading.room.take()) continue;
    show(from);
    show(to);
    edges.push({
      edge: nameOf(id, reading),
      ...labelOf(raw, reading),
      from: nameOf(from, reading),
      to: nameOf(to, reading),
    });
  }
  const text = reading.room.text(messageOf(graph.raw.description, reading), reading.run);
  const description = text === null ? {} : { description: text };
  return { ...description, nodes: [...shown.values()], edges };
}

function nodeOf(id: string, node: Node, reading: Reading): DetailNode {
  const { rule, run, hide, room } = reading;
  const read = readLocation(node.raw.location, run);
  return {
    node: nameOf(id, reading),
    ...labelOf(node.raw, reading),
    ...(node.parent === null ? {} : { parent: nameOf(node.parent, reading) }),
    ...(read === null ? {} : detailLocation(read, rule, run, hide, room)),
  };
}

const nameOf = (id: string, { run }: Reading): string => run.warnings.text(id, limits.nameCharsMax);

function labelOf(raw: JsonObject, reading: Reading): { label?: string } {
  const label = reading.room.text(messageOf(raw.label, reading), reading.run);
  return label === null ? {} : { label };
}

function traversalOf(raw: JsonObject, reading: Reading): DetailTraversal {
  const { run, room } = reading;
  const traversal: DetailTraversal = { steps: [] };
  const description = room.text(messageOf(raw.description, reading), run);
  if (description !== null) traversal.description = description;
  const state = stateOf([raw.immutableState, raw.initialState], reading);
  if (state !== null) traversal.state = state;
  for (const entry of listOf(raw.edgeTraversals)) {
    const step = objectOf(entry);
    const edge = stringOf(step?.edgeId);
    if (step === null || edge === null || !room.take()) continue;
    const message = room.text(messageOf(step.message, reading), run);
    const after = stateOf([step.finalState], reading);
    traversal.steps.push({
      edge: nameOf(edge, reading),
      ...(message === null ? {} : { message }),
      ...(after === null ? {} : { state: after }),
    });
  }
  return traversal;
}
