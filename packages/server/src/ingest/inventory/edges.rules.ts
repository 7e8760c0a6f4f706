// Names that a dependency depends on → the components of the same report that bear them. Bounded; a name that fits no
// component is a warning. Pure.

import { canonicalPurl } from '../formats/common/component.rules.ts';
import type { ComponentNames } from '../index/component-names.rules.ts';
import type { ComponentEntry } from '../report/report.rules.ts';
import type { Warnings } from '../json/warnings.decode.ts';

/** Edges of one component; more are machine state. */
const DEPENDS_ON_MAX = 1000;

/** Characters of what they name: short ids may stand for long purls. */
const DEPENDS_ON_CHARS_MAX = 64 * 1024;

/** As many of them as one component may have. */
export function boundedEdges(edges: readonly string[]): readonly string[] {
  let chars = 0;
  const end = edges.findIndex((edge) => (chars += edge.length) > DEPENDS_ON_CHARS_MAX);
  return edges.slice(0, end === -1 ? DEPENDS_ON_MAX : Math.min(end, DEPENDS_ON_MAX));
}

/**
 * The identities that a component, which is this row of `names`, depends on, each once; what names no other component is a
 * warning. A bare name or purl means nothing where several components have it.
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
