// One component that a report names several times, once for each lock file (CTIS §3.3) → the one that is stored: lists are
// united, all places and edges are kept, and the order of those that come in one slice makes no difference. Called by
// components.ts. Pure.

import { mergedAttributes } from './asset-attributes.rules.ts';
import type { ComponentDraft } from '../report/report.rules.ts';
import { listOf, objectOf, stringOf } from '../json/json.decode.ts';

type Document = ComponentDraft['document'];

/** CTIS §3.3, `locations`. */
const PLACES_MAX = 100;

/** Of drafts with the same identity, one at least; a single one stays as it is. */
export function unitedComponent(same: readonly ComponentDraft[]): ComponentDraft {
  const drafts = same.length === 1 ? same : inOrder(same);
  return drafts.reduce((known, more) => ({
    ...more,
    document: united(known.document, more.document),
    dependsOn: [...known.dependsOn, ...more.dependsOn],
  }));
}

const inOrder = (same: readonly ComponentDraft[]): ComponentDraft[] =>
  same
    .map((draft) => ({ draft, text: JSON.stringify(draft.document) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ draft }) => draft);

/** What is said of one thing alone is said by the last; of places none is lost but those beyond the bound. */
function united(known: Document, more: Document): Document {
  const places = new Map(
    [...placesOf(known), ...placesOf(more)].map((place) => [JSON.stringify(place), place]),
  );
  const merged = mergedAttributes(known, more);
  if (places.size < 2) return merged;
  return { ...merged, locations: [...places.values()].slice(0, PLACES_MAX) };
}

/** Where a component was found: its locations, and its path where they don't name it. */
function placesOf({ path, location, locations }: Document): unknown[] {
  const own = objectOf(location);
  const places = [...(own === null ? [] : [own]), ...listOf(locations)];
  const isNamed = places.some((place) => objectOf(place)?.path === path);
  return stringOf(path) === null || isNamed ? places : [...places, { path }];
}
