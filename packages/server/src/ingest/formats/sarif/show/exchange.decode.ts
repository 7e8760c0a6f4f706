// Web requests and responses of a SARIF result (SARIF 2.1.0 §3.46, §3.47), its own or those in the
// run's tables → the form that a finding page shows: bounded, with masked credentials. Called by
// show/detail.decode.ts and show/flows.decode.ts.

import { type DetailExchange, limits } from '@muster/contract/plain';
import { isCredentialName, MASK, maskAssignments } from '../../../redact/masking.rules.ts';
import {
  indexOf,
  type JsonObject,
  memberOf,
  numberOf,
  objectOf,
  stringOf,
} from '../../../json/json.decode.ts';
import type { Reading } from '../read/locations.decode.ts';
import { redactUrl } from '../../common/web.rules.ts';

/** Enough of a body to recognise the answer; the whole body is in the sealed upload. */
const BODY_CHARS_MAX = 4096;
const HEADERS_MAX = 50;
const HEADER_CHARS_MAX = 2048;

/**
 * A request or response; its index leads into `table`, the run's list (§3.46.2). The object's own
 * members come first.
 */
export function exchangeOf(
  value: unknown,
  table: readonly unknown[],
  reading: Reading,
): DetailExchange | null {
  if (value === undefined) return null;
  const own = objectOf(value);
  if (own === null) return null;
  const listed = objectOf(table[indexOf(own.index) ?? -1]);
  const said = (name: string): unknown =>
    memberOf(own, name) ?? (listed === null ? undefined : memberOf(listed, name));
  const { run, room, hide } = reading;
  const { warnings } = run;
  const exchange: DetailExchange = {};
  const protocol = stringOf(said('protocol'));
  const version = stringOf(said('version'));
  if (protocol !== null) {
    const text = version === null ? protocol : `${protocol}/${version}`;
    exchange.protocol = warnings.text(text, limits.nameCharsMax);
  }
  const method = warnings.textOf(said('method'), limits.nameCharsMax);
  const target = stringOf(said('target'));
  const status = numberOf(said('statusCode'));
  const reason = warnings.textOf(said('reasonPhrase'), limits.nameCharsMax);
  if (method !== null) exchange.method = method;
  if (target !== null) exchange.url = warnings.text(redactUrl(target), limits.pathCharsMax);
  if (status !== null) exchange.status = status;
  if (reason !== null) exchange.reason = reason;
  if (said('noResponseReceived') === true) exchange.no_response = true;
  const headers = headersOf(objectOf(said('headers')), reading);
  if (headers !== null) exchange.headers = headers;
  // Sorted: the order of the members says nothing, and must not make a finding look changed.
  const parameters = Object.keys(objectOf(said('parameters')) ?? {}).sort();
  if (parameters.length > 0) {
    exchange.parameters = warnings
      .first(parameters, HEADERS_MAX)
      .map((name) => warnings.text(name, limits.nameCharsMax));
  }
  const body = stringOf(objectOf(said('body'))?.text);
  if (body !== null && !hide) {
    const cut = warnings.text(body, BODY_CHARS_MAX);
    const text = room.text(maskAssignments(cut), run, 2 * BODY_CHARS_MAX);
    if (text !== null) exchange.body = text;
  }
  return Object.keys(exchange).length === 0 ? null : exchange;
}

function headersOf(
  headers: JsonObject | null,
  { run, room, hide }: Reading,
): Record<string, string> | null {
  const entries = Object.entries(headers ?? {});
  if (entries.length === 0) return null;
  const shown: [string, string][] = [];
  for (const [name, header] of run.warnings.first(entries, HEADERS_MAX)) {
    const text = typeof header === 'string' ? header : '';
    const isHidden = hide || isCredentialName(name);
    const safe = isHidden ? MASK : maskAssignments(run.warnings.text(text, HEADER_CHARS_MAX));
    const value = room.text(safe, run, 2 * HEADER_CHARS_MAX);
    if (value !== null) shown.push([run.warnings.text(name, limits.nameCharsMax), value]);
  }
  return Object.fromEntries(shown);
}
