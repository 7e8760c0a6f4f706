// The entries of one component that a report lists several times, once for each lock file (CTIS
// §3.3), become the one component that is stored: lists are united, and all places and edges are
// kept. The order of the entries in one slice makes no difference. Pure. Called by components.ts.

import { mergedAttributes } from './asset-attributes.rules.ts';
import type { ComponentDraft } from '../report/report.rules.ts';
import { listOf, objectOf, stringOf } from '../json/json.decode.ts';

type Document = ComponentDraft['document'];

/** CTIS §3.3, `locations`. */
const PLACES_MAX = 100;

/** Unites drafts with the same identity, at least one; a single draft stays as it is. */
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

/**
 * The last entry decides about members with one value. No place is lost, unless there are more than
 * PLACES_MAX.
 */
function united(known: Document, more: Document): Document {
  const places = new Map(
    [...placesOf(known), ...placesOf(more)].map((place) => [JSON.stringify(place), place]),
  );
  const merged = mergedAttributes(known, more);
  if (places.size < 2) return merged;
  return { ...merged, locations: [...places.values()].slice(0, PLACES_MAX) };
}

/** The places of a component: its locations, and its path unless a location has it. */
function placesOf({ path, location, locations }: Document): unknown[] {
  const own = objectOf(location);
  const places = [...(own === null ? [] : [own]), ...listOf(locations)];
  const isNamed = places.some((place) => objectOf(place)?.path === path);
  return stringOf(path) === null || isNamed ? places : [...places, { path }];
}
