// Fixes and attachments of a SARIF result (SARIF 2.1.0 §3.21, §3.55-§3.57) → the form that a
// finding page shows: the files that a fix changes with its edits, and the files that came with the
// result. Nothing is fetched; the text that a fix of a secret inserts is masked. Called by
// show/detail.decode.ts.

import {
  type DetailAttachment,
  type DetailEdit,
  type DetailFix,
  type DetailLocation,
  limits,
} from '@muster/contract/plain';
import { maskSnippet } from '../../../redact/masking.rules.ts';
import {
  type JsonObject,
  listOf,
  numberOf,
  objectOf,
  stringOf,
} from '../../../json/json.decode.ts';
import { type Reading, regionPlace } from '../read/locations.decode.ts';
import { shownMessage } from '../read/message.decode.ts';
import { putRegion, readRegion } from '../read/regions.decode.ts';

const FIXES_MAX = 10;
const CHANGES_MAX = 20;
const EDITS_MAX = 20;
/** A patch that inserts more is a new file. */
const INSERTED_CHARS_MAX = 4096;

/** §3.55 fix: its description, and its edits in each file. */
export function fixesOf(list: unknown, reading: Reading): DetailFix[] {
  const { rule, run } = reading;
  const fixes: DetailFix[] = [];
  for (const entry of run.warnings.first(listOf(list), FIXES_MAX)) {
    const fix = objectOf(entry);
    if (fix === null) continue;
    const description = shownMessage(fix.description, rule);
    const text =
      description === null
        ? {}
        : { description: run.warnings.text(description, limits.messageCharsMax) };
    const changes: DetailFix['changes'] = [];
    for (const change of run.warnings.first(listOf(fix.artifactChanges), CHANGES_MAX)) {
      changes.push(changeOf(objectOf(change), reading));
    }
    fixes.push({ ...text, changes });
  }
  return fixes;
}

/** §3.56 artifactChange */
function changeOf(change: JsonObject | null, reading: Reading): DetailFix['changes'][number] {
  const { run } = reading;
  const artifact = objectOf(change?.artifactLocation);
  const path = artifact === null ? null : run.places.of(artifact).path;
  const replacements = listOf(change?.replacements);
  const edits = run.warnings.first(replacements, EDITS_MAX).flatMap((entry) => {
    const edit = editOf(objectOf(entry), artifact, reading);
    return Object.keys(edit).length === 0 ? [] : [edit];
  });
  return {
    ...(path === null ? {} : { path }),
    replacements: replacements.length,
    ...(edits.length === 0 ? {} : { edits }),
  };
}

/** §3.57 replacement */
function editOf(
  raw: JsonObject | null,
  artifact: JsonObject | null,
  { run, hide, room }: Reading,
): DetailEdit {
  const edit: DetailEdit = {};
  putRegion(edit, readRegion(raw?.deletedRegion, null, artifact, run));
  const inserted = stringOf(objectOf(raw?.insertedContent)?.text);
  const shown = inserted !== null && hide ? maskSnippet(inserted) : inserted;
  const text = room.text(shown, run, INSERTED_CHARS_MAX);
  if (text !== null) edit.inserted = text;
  return edit;
}

const ATTACHMENTS_MAX = 20;
const PARTS_MAX = 20;

/** §3.21 attachment */
export function attachmentsOf(list: unknown, reading: Reading): DetailAttachment[] {
  const { rule, run, hide, room } = reading;
  const attachments: DetailAttachment[] = [];
  for (const entry of run.warnings.first(listOf(list), ATTACHMENTS_MAX)) {
    const raw = objectOf(entry);
    if (raw === null) continue;
    const attachment: DetailAttachment = {};
    const description = hide ? null : shownMessage(raw.description, rule);
    const text = room.text(description, run);
    if (text !== null) attachment.description = text;
    const artifact = objectOf(raw.artifactLocation);
    const place = artifact === null ? null : run.places.of(artifact);
    if (place !== null && place.url !== null) attachment.url = place.url;
    else if (place !== null && place.path !== null) attachment.path = place.path;
    if (!hide) {
      const regions = regionsOf(raw, artifact, reading);
      const rectangles = rectanglesOf(raw, reading);
      if (regions.length > 0) attachment.regions = regions;
      if (rectangles.length > 0) attachment.rectangles = rectangles;
    }
    if (Object.keys(attachment).length > 0) attachments.push(attachment);
  }
  return attachments;
}

function regionsOf(
  raw: JsonObject,
  artifact: JsonObject | null,
  { rule, run }: Reading,
): DetailLocation[] {
  return run.warnings.first(listOf(raw.regions), PARTS_MAX).flatMap((region) => {
    const place = regionPlace(region, artifact, rule, run);
    return place === null ? [] : [place];
  });
}

/** §3.31 rectangle */
function rectanglesOf(raw: JsonObject, { rule, run, room }: Reading) {
  const rectangles: NonNullable<DetailAttachment['rectangles']> = [];
  for (const entry of run.warnings.first(listOf(raw.rectangles), PARTS_MAX)) {
    const value = objectOf(entry);
    const rectangle: NonNullable<DetailAttachment['rectangles']>[number] = {};
    for (const side of ['top', 'left', 'bottom', 'right'] as const) {
      const number = numberOf(value?.[side]);
      if (number !== null) rectangle[side] = number;
    }
    const message = room.text(shownMessage(value?.message, rule), run);
    if (message !== null) rectangle.message = message;
    if (Object.keys(rectangle).length > 0) rectangles.push(rectangle);
  }
  return rectangles;
}
