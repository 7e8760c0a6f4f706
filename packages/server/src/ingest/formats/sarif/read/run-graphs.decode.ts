// The graphs of a SARIF run (SARIF 2.1.0 §3.39) → graphs whose nodes and edges can be found by id.
// Each graph is read once, when a result first goes through it. Pure. Called by read/run.decode.ts
// and show/graphs.decode.ts.

import { type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';

export interface Node {
  readonly raw: JsonObject;
  readonly parent: string | null;
}

/** A graph whose nodes (nested ones too) and edges are found by their ids. */
export interface Graph {
  readonly raw: JsonObject;
  readonly nodes: ReadonlyMap<string, Node>;
  readonly edges: ReadonlyMap<string, JsonObject>;
}

/** The graphs of a run; each is read once, when a traversal first goes through it. */
export class RunGraphs {
  readonly #raw: readonly unknown[];
  readonly #read = new Map<number, Graph | null>();

  constructor(raw: readonly unknown[]) {
    this.#raw = raw;
  }

  at(index: number): Graph | null {
    let graph = this.#read.get(index);
    if (graph === undefined) {
      graph = graphOf(this.#raw[index]);
      this.#read.set(index, graph);
    }
    return graph;
  }
}

export function graphOf(value: unknown): Graph | null {
  const raw = objectOf(value);
  if (raw === null) return null;
  const nodes = new Map<string, Node>();
  // The parser bounds the depth (contract §2).
  const add = (list: unknown, parent: string | null): void => {
    for (const entry of listOf(list)) {
      const node = objectOf(entry);
      const id = stringOf(node?.id);
      if (node === null || id === null || nodes.has(id)) continue;
      nodes.set(id, { raw: node, parent });
      add(node.children, id);
    }
  };
  add(raw.nodes, null);
  const edges = new Map<string, JsonObject>();
  for (const entry of listOf(raw.edges)) {
    const edge = objectOf(entry);
    const id = stringOf(edge?.id);
    if (edge !== null && id !== null && !edges.has(id)) edges.set(id, edge);
  }
  return { raw, nodes, edges };
}
