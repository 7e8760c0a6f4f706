// Locations of a SARIF result (SARIF 2.1.0 §3.28-§3.34) → the facts that identify the finding, and
// the form that its page shows: bounded lists, normalised paths, masked where the finding is a
// secret. A malformed part is left out of its location, and never costs the finding.

import { type DetailAddress, type DetailLocation, limits } from '@muster/contract/plain';
import { boundedBag, newBudget } from '../../common/bounded.decode.ts';
import { maskSnippet } from '../../../redact/masking.rules.ts';
import type { Warnings } from '../../../json/warnings.decode.ts';
import {
  indexOf,
  type JsonObject,
  listOf,
  memberOf,
  numberOf,
  objectOf,
  positionOf,
  stringOf,
  stringsOf,
} from '../../../json/json.decode.ts';
import { shownMessage } from './message.decode.ts';
import { NOWHERE, type Place } from './places.decode.ts';
import { putRegion, readRegion, type Region } from './regions.decode.ts';
import type { RuleFacts } from './rules.decode.ts';
import type { SarifRun } from './run.decode.ts';

/** A SARIF location, read once: its place, the code there, and its logical name. */
export interface ReadLocation {
  readonly place: Place;
  readonly region: Region;
  readonly startLine: number | null;
  /** In UTF-16 code units, as far as the column could be converted (read/regions.decode.ts). */
  readonly startColumn: number | null;
  /** The code itself (§3.30.13), unmasked: for the identity. The detail of a secret masks it. */
  readonly snippet: string | null;
  readonly context: string | null;
  readonly logical: string | null;
  readonly raw: JsonObject;
}

/** Reads one location; null for a value that is no object. */
export function readLocation(value: unknown, run: SarifRun): ReadLocation | null {
  const raw = objectOf(value);
  if (raw === null) return null;
  const physical = objectOf(raw.physicalLocation);
  const artifact = objectOf(physical?.artifactLocation);
  const around = objectOf(physical?.contextRegion);
  const region = readRegion(physical?.region, around, artifact, run);
  const { startLine } = region;
  let snippet = snippetOf(region.raw);
  if (snippet === null && artifact !== null && startLine !== null) {
    const { endLine, startColumn } = region;
    snippet = run.sources.lines(artifact, startLine, endLine ?? startLine, startColumn);
  }
  return {
    place: artifact === null ? NOWHERE : run.places.of(artifact),
    region,
    startLine,
    startColumn: region.startColumn,
    snippet,
    context: snippetOf(around),
    logical: logicalName(raw, run),
    raw,
  };
}

/** §3.30.13; `rendered` isn't used, because it holds line numbers and terminal colours. */
function snippetOf(region: JsonObject | null): string | null {
  return stringOf(objectOf(region?.snippet)?.text);
}

/** The first logical name of a location (§3.28.4). */
function logicalName(location: JsonObject, run: SarifRun): string | null {
  for (const entry of listOf(location.logicalLocations)) {
    const name = nameOf(entry, run);
    if (name !== null) return name;
  }
  return null;
}

/** A name has classes in namespaces in modules. The bound also ends a cycle of parents. */
const PARENTS_MAX = 16;

/**
 * §3.33: the qualified name. It comes from the run's table when only an index is given, and is made
 * of the parents' names when there is no qualified one.
 */
function nameOf(entry: unknown, run: SarifRun): string | null {
  const own = objectOf(entry);
  const listed = objectOf(run.logicalLocations[indexOf(own?.index) ?? -1]);
  const qualified = stringOf(own?.fullyQualifiedName) ?? stringOf(listed?.fullyQualifiedName);
  if (qualified !== null) return qualified;
  let name = stringOf(own?.name) ?? stringOf(listed?.name) ?? stringOf(own?.decoratedName);
  let parent = indexOf(own?.parentIndex) ?? indexOf(listed?.parentIndex);
  for (let depth = 0; name !== null && parent !== null && depth < PARENTS_MAX; depth += 1) {
    const above = objectOf(run.logicalLocations[parent]);
    const prefix = stringOf(above?.fullyQualifiedName);
    if (prefix !== null) return `${prefix}.${name}`;
    const step = stringOf(above?.name);
    if (step !== null) name = `${step}.${name}`;
    parent = indexOf(above?.parentIndex);
  }
  return name;
}

/** A result may have hundreds of places; only the first is shown with the whole of its texts. */
const MINOR_TEXT_CHARS_MAX = 1000;

/**
 * The location as it is shown. `hide` masks everything that may hold a secret. Without `room` it is
 * the finding's own place, and with `room` one of its many others.
 */
export function detailLocation(
  read: ReadLocation,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room | null = null,
): DetailLocation {
  const { warnings } = run;
  const detail: DetailLocation = {};
  if (read.place.url !== null) detail.url = read.place.url;
  else if (read.place.path !== null) detail.path = read.place.path;
  putRegion(detail, read.region);
  const physical = objectOf(read.raw.physicalLocation);
  const address = physical?.address === undefined ? null : addressOf(physical.address, run);
  if (address !== null) detail.address = address;
  if (read.snippet !== null) {
    const shown = hide ? maskSnippet(read.snippet) : read.snippet;
    const text =
      room === null ? warnings.text(shown, limits.snippetCharsMax) : room.text(shown, run);
    if (text !== null) detail.snippet = text;
  }
  // The text around a secret may hold more of it.
  if (read.context !== null && !hide && room === null) {
    detail.context = warnings.text(read.context, limits.snippetCharsMax);
    const first = positionOf(objectOf(physical?.contextRegion)?.startLine);
    if (first !== null) detail.context_start_line = first;
  }
  if (read.logical !== null) putLogical(detail, read, run, room);
  // §3.30.14: a region may have a message where the location has none.
  const message = hide
    ? null
    : (shownMessage(read.raw.message, rule) ?? shownMessage(read.region.raw?.message, rule));
  if (message !== null) {
    const text =
      room === null ? warnings.text(message, limits.messageCharsMax) : room.text(message, run);
    if (text !== null) detail.message = text;
  }
  const id = indexOf(read.raw.id);
  if (id !== null) detail.id = id;
  if (read.raw.annotations !== undefined && !hide) {
    const annotations = annotationsOf(read, rule, run);
    if (annotations.length > 0) detail.annotations = annotations;
  }
  if (read.raw.properties !== undefined && room === null && !hide) {
    const bag = boundedBag(read.raw.properties, warnings, newBudget());
    if (bag !== undefined) detail.properties = bag;
  }
  if (read.raw.relationships !== undefined) {
    const relationships = relationshipsOf(read.raw, rule, run, hide);
    if (relationships.length > 0) detail.relationships = relationships;
  }
  return detail;
}

function putLogical(
  detail: DetailLocation,
  read: ReadLocation,
  run: SarifRun,
  room: Room | null,
): void {
  const { warnings } = run;
  detail.logical = warnings.text(read.logical ?? '', limits.pathCharsMax);
  const entries = listOf(read.raw.logicalLocations);
  const first = objectOf(entries[0]);
  const listed = objectOf(run.logicalLocations[indexOf(first?.index) ?? -1]);
  const kind = stringOf(first?.kind) ?? stringOf(listed?.kind);
  if (kind !== null) detail.logical_kind = warnings.text(kind, limits.nameCharsMax);
  if (entries.length < 2 || room !== null) return;
  const others: string[] = [];
  for (const entry of warnings.first(entries, LISTED_MAX)) {
    const name = nameOf(entry, run);
    if (name !== null && name !== read.logical)
      others.push(warnings.text(name, limits.pathCharsMax));
  }
  if (others.length > 0) detail.logical_others = others;
}

/** Names, annotations or relationships of one location; tools write one or two. */
const LISTED_MAX = 20;

/** §3.28.6: further regions of the location's file. */
function annotationsOf(read: ReadLocation, rule: RuleFacts, run: SarifRun): DetailLocation[] {
  const artifact = objectOf(objectOf(read.raw.physicalLocation)?.artifactLocation);
  const annotations: DetailLocation[] = [];
  for (const entry of run.warnings.first(listOf(read.raw.annotations), LISTED_MAX)) {
    const annotation = regionPlace(entry, artifact, rule, run);
    if (annotation !== null) annotations.push(annotation);
  }
  return annotations;
}

/** A region as a place of its own; null when it says nothing. */
export function regionPlace(
  value: unknown,
  artifact: JsonObject | null,
  rule: RuleFacts,
  run: SarifRun,
): DetailLocation | null {
  const region = readRegion(value, null, artifact, run);
  const place: DetailLocation = {};
  putRegion(place, region);
  const snippet = snippetOf(region.raw);
  if (snippet !== null) place.snippet = run.warnings.text(snippet, MINOR_TEXT_CHARS_MAX);
  const message = shownMessage(region.raw?.message, rule);
  if (message !== null) place.message = run.warnings.text(message, MINOR_TEXT_CHARS_MAX);
  return Object.keys(place).length === 0 ? null : place;
}

/** The relationships of a location (§3.34). */
function relationshipsOf(raw: JsonObject, rule: RuleFacts, run: SarifRun, hide: boolean) {
  const relationships: NonNullable<DetailLocation['relationships']> = [];
  for (const entry of run.warnings.first(listOf(raw.relationships), LISTED_MAX)) {
    const relationship = objectOf(entry);
    const target = indexOf(relationship?.target);
    if (target === null) continue;
    const kinds = run.warnings.first(stringsOf(relationship?.kinds), LISTED_MAX);
    const said = hide ? null : shownMessage(relationship?.description, rule);
    relationships.push({
      target,
      ...(kinds.length === 0
        ? {}
        : { kinds: kinds.map((kind) => run.warnings.text(kind, limits.nameCharsMax)) }),
      ...(said === null ? {} : { description: run.warnings.text(said, MINOR_TEXT_CHARS_MAX) }),
    });
  }
  return relationships;
}

/** §3.32: an address, filled in from the run's table when an index is given. */
export function addressOf(value: unknown, run: SarifRun): DetailAddress | null {
  const own = objectOf(value);
  if (own === null) return null;
  const listed = objectOf(listOf(run.raw.addresses)[indexOf(own.index) ?? -1]);
  const said = (name: string): unknown =>
    memberOf(own, name) ?? (listed === null ? undefined : memberOf(listed, name));
  const address: DetailAddress = {};
  const numbers = [
    ['absolute', indexOf(said('absoluteAddress'))],
    ['relative', numberOf(said('relativeAddress'))],
    ['offset_from_parent', numberOf(said('offsetFromParent'))],
    ['length', indexOf(said('length'))],
  ] as const;
  for (const [name, number] of numbers) if (number !== null) address[name] = number;
  const name = run.warnings.textOf(said('fullyQualifiedName') ?? said('name'), limits.pathCharsMax);
  const kind = run.warnings.textOf(said('kind'), limits.nameCharsMax);
  if (name !== null) address.name = name;
  if (kind !== null) address.kind = kind;
  return Object.keys(address).length === 0 ? null : address;
}

/**
 * The state in which the lists of one finding are read: its rule, its run, whether to hide, the
 * room left.
 */
export interface Reading {
  readonly rule: RuleFacts;
  readonly run: SarifRun;
  /**
   * True for secrets: texts that quote the scanned file are masked, and texts from the run's tables
   * are left out where they might repeat a secret. The result itself comes without its secrets.
   */
  readonly hide: boolean;
  readonly room: Room;
}

/**
 * The room left for the places of one finding: items per list, and characters in all. It counts the
 * items that are left out.
 */
export class Room {
  #items = 0;
  #chars = limits.propertiesBytesMax;
  omitted = 0;

  /** Begins a list with room for so many items. */
  begin(items: number): void {
    this.#items = items;
    this.omitted = 0;
  }

  take(): boolean {
    if (this.#items === 0) {
      this.omitted += 1;
      return false;
    }
    this.#items -= 1;
    return true;
  }

  /** The text as far as there is room for it; null for no text, and when no room is left. */
  text(
    value: string | null,
    run: { readonly warnings: Warnings },
    charsMax = MINOR_TEXT_CHARS_MAX,
  ): string | null {
    if (value === null) return null;
    const max = Math.min(charsMax, this.#chars);
    if (max <= 1) {
      run.warnings.countCut();
      return null;
    }
    this.#chars -= Math.min(max, value.length);
    return run.warnings.text(value, max);
  }
}

/** A list of locations, as many as there is room for. */
export function detailLocations(
  list: unknown,
  rule: RuleFacts,
  run: SarifRun,
  hide: boolean,
  room: Room,
): DetailLocation[] {
  const details: DetailLocation[] = [];
  for (const entry of listOf(list)) {
    if (!room.take()) continue;
    const read = readLocation(entry, run);
    if (read === null) continue;
    const detail = detailLocation(read, rule, run, hide, details.length === 0 ? null : room);
    if (Object.keys(detail).length > 0) details.push(detail);
  }
  return details;
}
