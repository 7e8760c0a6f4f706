// Property bags inside a SARIF result (SARIF 2.1.0 §3.8), where tools write what the standard has
// no member for: facts about a place, a step, a fix or a suppression → the bags by their pointers,
// within the budget that all bags of a finding share. Tags are read here, too.

import { type Budget, boundedBag } from '../../common/bounded.decode.ts';
import { maskSaid } from '../../../redact/masking.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  type JsonObject,
  objectOf,
  pointerToken,
  stringOf,
  stringsOf,
} from '../../../json/json.decode.ts';

/** Tools that write bags inside a result write one for each step; more of them tell nobody more. */
const BAGS_MAX = 50;

/**
 * Longer names are data: SARIF's own have at most 24 characters. A name stands in every pointer
 * below it.
 */
const NAME_CHARS_MAX = 128;

/**
 * Members that aren't searched. Some have no bags, and some are shown where they stand. The bag of
 * an exchange quotes the request or the response as it was sent, with credentials that are masked
 * elsewhere.
 */
const PASSED_OVER: ReadonlySet<string> = new Set(
  'properties fingerprints partialFingerprints message webRequest webResponse'.split(' '),
);

/** True for the finding's own place, whose bag is shown with the place. */
const isOwnPlace = ([list, index, ...more]: readonly string[]): boolean =>
  list === 'locations' && index === '0' && more.length === 0;

/** The bags by their pointers, which begin at the result; null when there are none. */
export function bagsBelow(
  result: JsonObject,
  isMember: (name: string) => boolean,
  warnings: Warnings,
  budget: Budget,
): Record<string, unknown> | null {
  const bags: [string, unknown][] = [];
  let seen = 0;
  let isFull = false;
  // The names that lead to the current value. Only a bag needs them as a pointer, and few results
  // have one.
  const trail: string[] = [];
  const take = (own: JsonObject): void => {
    isFull = seen === BAGS_MAX || budget.left <= 0;
    if (isFull) return warnings.countCut();
    seen += 1;
    const bag = boundedBag(own, warnings, budget);
    if (bag === undefined) return;
    // Names below unknown members are texts of the document like any others.
    const pointer = trail.map((name) => `/${maskSaid(pointerToken(name))}`).join('');
    bags.push([pointer, bag]);
    budget.left -= pointer.length;
  };
  const step = (name: string, member: unknown): void => {
    if (typeof member !== 'object' || member === null || PASSED_OVER.has(name)) return;
    if (name.length > NAME_CHARS_MAX) return warnings.countCut();
    trail.push(name);
    look(member);
    trail.pop();
  };
  const look = (value: object): void => {
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length && !isFull; at += 1) step(String(at), value[at]);
      return;
    }
    const own = objectOf((value as JsonObject).properties);
    if (own !== null && !isOwnPlace(trail) && Object.keys(own).length > 0) take(own);
    for (const name in value) if (!isFull) step(name, (value as JsonObject)[name]);
  };
  for (const name in result) if (isMember(name)) step(name, result[name]);
  return bags.length === 0 ? null : Object.fromEntries(bags);
}

/**
 * §3.8.2: the tags of a property bag. Many tools write one text with commas; it is read as a list.
 */
export function tagsOf(properties: JsonObject | null): string[] {
  const tags = properties?.tags;
  if (typeof tags !== 'string') return stringsOf(tags);
  return tags.split(',').flatMap((tag) => stringOf(tag)?.trim() ?? []);
}

/** The bag without the tags that were read; tags that are no texts stay. */
export function withoutTags(properties: JsonObject): JsonObject {
  if (!Object.hasOwn(properties, 'tags')) return properties;
  const { tags, ...rest } = properties;
  if (typeof tags === 'string') return rest;
  if (!Array.isArray(tags)) return properties;
  const others = tags.filter((tag) => typeof tag !== 'string');
  return others.length === 0 ? rest : { ...rest, tags: others };
}
