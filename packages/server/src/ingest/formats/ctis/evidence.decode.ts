// Evidence items of a CTIS finding (CTIS §2.9), which may hold raw values → the items as they may
// be shown. A part that an item marks as sensitive is masked whole; credentials in requests and
// outputs are masked by their names. A mark that leads nowhere hides all texts of its item, since
// nobody can tell which one it means. Called by ctis/detail.decode.ts.

import { boundedCopy, type Budget } from '../common/bounded.decode.ts';
import { valueAt } from './secrets.decode.ts';
import { MASK, maskAssignments } from '../../redact/masking.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import {
  type JsonObject,
  listOf,
  objectOf,
  pointerToken,
  stringOf,
} from '../../json/json.decode.ts';

/** Members of an item that hold proof; the others tell the kind of proof. */
const PROOF: ReadonlySet<string> = new Set(
  'http match extracted text command file artifact data'.split(' '),
);

/** Members whose texts have credentials after their names. */
const OUTPUT: ReadonlySet<string> = new Set('url body text command snippet'.split(' '));

/** The items as they may be shown, within the finding's budget. */
export function evidenceItems(
  value: unknown,
  pointer: string,
  budget: Budget,
  warnings: Warnings,
): unknown[] {
  const items: unknown[] = [];
  for (const [index, entry] of listOf(value).entries()) {
    const item = objectOf(entry);
    if (item === null) continue;
    const copy = boundedCopy(shownItem(item, `${pointer}/${index}`, warnings), warnings, budget);
    if (copy !== undefined) items.push(copy);
  }
  return items;
}

function shownItem(item: JsonObject, pointer: string, warnings: Warnings): unknown {
  const hidden = new Set<string>();
  for (const mark of listOf(item.sensitive)) {
    const place = stringOf(objectOf(mark)?.pointer);
    if (place !== null && valueAt(item, place) !== undefined) {
      hidden.add(place);
      continue;
    }
    const detail = 'A mark of something sensitive leads nowhere; the item is shown without texts.';
    warnings.warn(`${pointer}/sensitive`, 'sensitive_pointer_unknown', detail);
    return Object.fromEntries(Object.entries(item).filter(([name]) => !PROOF.has(name)));
  }
  return masked(item, '', '', hidden);
}

/** A copy without the hidden values; the parser bounds the depth (contract §2). */
function masked(
  value: unknown,
  name: string,
  pointer: string,
  hidden: ReadonlySet<string>,
): unknown {
  if (hidden.has(pointer)) return MASK;
  if (typeof value === 'string') return OUTPUT.has(name) ? maskAssignments(value) : value;
  if (Array.isArray(value)) {
    return value.map((entry, index) => masked(entry, name, `${pointer}/${index}`, hidden));
  }
  const object = objectOf(value);
  if (object === null) return value;
  const isEncoded = object.body_encoding === 'base64';
  return Object.fromEntries(
    Object.entries(object).map(([member, entry]) => {
      // An encoded body can't be searched for credentials.
      if (isEncoded && member === 'body') return [member, '…'];
      return [member, masked(entry, member, `${pointer}/${pointerToken(member)}`, hidden)];
    }),
  );
}
