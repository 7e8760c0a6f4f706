// The names in `depends_on` of a dependency become edges: the components of the same report that
// have those names. The number of edges is bounded, and a name that fits no component is a warning.
// Pure.

import { canonicalPurl } from '../formats/common/component.rules.ts';
import type { ComponentNames } from '../index/component-names.rules.ts';
import type { ComponentEntry } from '../report/report.rules.ts';
import type { Warnings } from '../json/warnings.decode.ts';

/** The most edges of one component; more are the work of a machine. */
const DEPENDS_ON_MAX = 1000;

/**
 * The most characters of the identities that the edges of one component name: short ids may stand
 * for long purls.
 */
const DEPENDS_ON_CHARS_MAX = 64 * 1024;

/** The first edges, as many as one component may have. */
export function boundedEdges(edges: readonly string[]): readonly string[] {
  let chars = 0;
  const end = edges.findIndex((edge) => (chars += edge.length) > DEPENDS_ON_CHARS_MAX);
  return edges.slice(0, end === -1 ? DEPENDS_ON_MAX : Math.min(end, DEPENDS_ON_MAX));
}

/**
 * The identities that a component depends on, each once. `row` is the row of the component in
 * `names`. A name that fits no component is a warning. A bare name or purl that several components
 * have means none of them.
 */
export function edgesOf(
  { dependsOn }: ComponentEntry,
  row: number,
  pointer: string,
  names: ComponentNames,
  warnings: Warnings,
): readonly string[] {
  const edges = new Set<number>();
  for (const [index, name] of dependsOn.entries()) {
    const found = names.find(name.trim()) ?? rowOfPurl(name, names);
    if (found === row) continue;
    if (found === null) {
      const detail = 'This names no component of the report, or several; the edge is left out.';
      warnings.warn(`${pointer}/depends_on/${index}`, 'dependency_unknown', detail);
    } else edges.add(found);
  }
  const all = warnings.first([...edges], DEPENDS_ON_MAX).map((edge) => names.identityOf(edge));
  return warnings.first(all, boundedEdges(all).length);
}

function rowOfPurl(name: string, names: ComponentNames): number | null {
  const purl = canonicalPurl(name);
  return purl === null ? null : names.find(purl);
}
