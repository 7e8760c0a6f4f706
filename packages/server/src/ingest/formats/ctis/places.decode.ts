// The place of a CTIS finding (CTIS §2.2), a code location or a web address → its normal form,
// which is that of SARIF's places, and the form that a finding page shows.

import { type DetailLocation, limits } from '@muster/contract/plain';
import type { Targets } from './targets.decode.ts';
import { maskSnippet } from '../../redact/masking.rules.ts';
import {
  cleanPath,
  isForeignUri,
  isHttpUri,
  type PathRoots,
  pathOfUri,
  relativePath,
  usablePath,
} from '../common/path.rules.ts';
import type { Warnings } from '../../json/warnings.decode.ts';
import {
  indexOf,
  type JsonObject,
  objectOf,
  positionOf,
  stringOf,
} from '../../json/json.decode.ts';
import { redactUrl, type WebPlace, webPlaceOf } from '../common/web.rules.ts';

/** The state that one pass over the findings shares. */
export interface CtisPass {
  readonly warnings: Warnings;
  readonly targets: Targets;
  readonly roots: PathRoots;
}

/** A CTIS CodeLocation (§2.2), or the address of a web finding. */
export interface CtisPlace {
  readonly raw: JsonObject | null;
  readonly path: string | null;
  /** The redacted address, where the place is on the web. */
  readonly url: string | null;
  readonly web: WebPlace | null;
  readonly startLine: number | null;
  readonly startColumn: number | null;
  readonly snippet: string | null;
  readonly logical: string | null;
}

/**
 * The finding's own place: its location, else its web address. `web` is set wherever the finding
 * has a web address.
 */
export function readLocation(finding: JsonObject, pass: CtisPass): CtisPlace {
  const place = placeOf(objectOf(finding.location) ?? {}, pass);
  const url = stringOf(objectOf(finding.web)?.url);
  if (url === null) return place;
  const web = webPlaceOf(url) ?? place.web;
  if (place.path !== null) return { ...place, web };
  const shown = pass.warnings.text(redactUrl(url), limits.pathCharsMax);
  return { ...place, path: web?.address ?? shown, url: shown, web };
}

/** One CodeLocation. Its path is a path, not a URI: only a `file:` path has percent escapes. */
export function placeOf(raw: JsonObject, pass: CtisPass): CtisPlace {
  const text = usablePath(stringOf(raw.path) ?? '');
  const logical = objectOf(raw.logical_location);
  const startLine = positionOf(raw.start_line);
  const rest = {
    raw,
    startLine,
    startColumn: startLine === null ? null : positionOf(raw.start_column),
    snippet: stringOf(raw.snippet),
    logical: stringOf(logical?.fully_qualified_name) ?? stringOf(logical?.name),
  };
  if (text === null) return { ...rest, path: null, url: null, web: null };
  if (isForeignUri(text)) {
    const web = isHttpUri(text) ? webPlaceOf(text) : null;
    const url = pass.warnings.text(redactUrl(text), limits.pathCharsMax);
    return { ...rest, path: web?.address ?? url, url, web };
  }
  const clean = /^file:/i.test(text) ? pathOfUri(text) : cleanPath(text);
  const path = usablePath(relativePath(clean, pass.roots));
  const bounded = path === null ? null : pass.warnings.text(path, limits.pathCharsMax);
  return { ...rest, path: bounded, url: null, web: null };
}

/** A CodeLocation as it is shown; empty when it says nothing. */
export function locationDetail(place: CtisPlace, hide: boolean, pass: CtisPass): DetailLocation {
  const { warnings } = pass;
  const detail: DetailLocation = {};
  if (place.url !== null) detail.url = place.url;
  else if (place.path !== null) detail.path = place.path;
  if (place.startLine !== null) {
    detail.start_line = place.startLine;
    if (place.startColumn !== null) detail.start_column = place.startColumn;
    const endLine = positionOf(place.raw?.end_line);
    const endColumn = positionOf(place.raw?.end_column);
    if (endLine !== null && endLine >= place.startLine) detail.end_line = endLine;
    if (endColumn !== null) detail.end_column = endColumn;
  }
  if (place.snippet !== null) {
    const shown = hide ? maskSnippet(place.snippet) : place.snippet;
    detail.snippet = warnings.text(shown, limits.snippetCharsMax);
  }
  const context = hide ? null : stringOf(place.raw?.context_snippet);
  if (context !== null) {
    detail.context = warnings.text(context, limits.snippetCharsMax);
    const first = positionOf(place.raw?.context_start_line);
    if (first !== null) detail.context_start_line = first;
  }
  if (place.logical !== null) detail.logical = warnings.text(place.logical, limits.pathCharsMax);
  const kind = warnings.textOf(objectOf(place.raw?.logical_location)?.kind, limits.nameCharsMax);
  if (kind !== null) detail.logical_kind = kind;
  const parent = indexOf(objectOf(place.raw?.logical_location)?.parent_index);
  if (parent !== null) detail.logical_parent_index = parent;
  for (const name of ['branch', 'commit_sha'] as const) {
    const text = warnings.textOf(place.raw?.[name], limits.nameCharsMax);
    if (text !== null) detail[name] = text;
  }
  return detail;
}
