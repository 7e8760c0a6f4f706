// Property bags below a SARIF result (SARIF 2.1.0 §3.8): what a tool knows of a place, a step, a fix or a suppression and the
// standard has no member for. Kept by where they stand, within the budget that all bags of a finding share. Called by the
// detail reader, last.

import { type Budget, boundedBag } from './bounded.decode.ts';
import { type JsonObject, type Notes, objectOf, pointerToken } from './report-notes.decode.ts';

/** Tools that write bags below a result write one a step; more of them tell nobody more. */
const BAGS_MAX = 50;

/** Members without bags in them, and those that are shown where they stand. */
const PASSED_OVER: ReadonlySet<string> = new Set(
  'properties fingerprints partialFingerprints message'.split(' '),
);

/** The bag of the finding's own place is shown with it. */
const SHOWN_WITH_ITS_PLACE = '/locations/0';

/** The bags by their pointers, from the result on; null when there are none. */
export function bagsBelow(
  result: JsonObject,
  isMember: (name: string) => boolean,
  notes: Notes,
  budget: Budget,
): Record<string, unknown> | null {
  const bags: [string, unknown][] = [];
  let left = BAGS_MAX;
  const look = (value: unknown, pointer: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const own = pointer === SHOWN_WITH_ITS_PLACE ? null : objectOf(objectOf(value)?.properties);
    if (own !== null && Object.keys(own).length > 0) {
      left -= 1;
      if (left < 0) return void (left === -1 && notes.countCut());
      const bag = boundedBag(own, notes, budget);
      if (bag !== undefined) bags.push([pointer, bag]);
    }
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== 'object' || PASSED_OVER.has(name)) continue;
      look(member, `${pointer}/${pointerToken(name)}`);
    }
  };
  for (const [name, member] of Object.entries(result)) {
    if (isMember(name) && !PASSED_OVER.has(name)) look(member, `/${name}`);
  }
  return bags.length === 0 ? null : Object.fromEntries(bags);
}
