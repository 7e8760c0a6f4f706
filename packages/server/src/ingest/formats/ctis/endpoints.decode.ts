// The endpoints of a CTIS report (CTIS §3.4, since 1.6) → endpoints of web assets: method, origin,
// path and the names of parameters, without their values. The path's template is computed here,
// whatever the report says. An endpoint belongs to the asset that it refers to, else to the web
// asset at its origin. Called by ctis.decode.ts.

import { limits } from '@muster/contract/plain';
import { boundedBag, newBudget } from '../common/bounded.decode.ts';
import { notAnObject } from './lists.decode.ts';
import { readObject } from './members.decode.ts';
import type { Targets } from './targets.decode.ts';
import type { EndpointDraft } from '../../report/report.rules.ts';
import type { Located, Warnings } from '../../json/warnings.decode.ts';
import { indexable } from '../../report/indexed-text.rules.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../json/json.decode.ts';
import { pathTemplate, redactUrl, webPlaceOf } from '../common/web.rules.ts';

/**
 * One endpoint, or the reason why it can't be used. Its origin may become an asset of the report.
 */
export function readEndpoint(
  value: unknown,
  pointer: string,
  targets: Targets,
  warnings: Warnings,
): EndpointDraft | Located {
  const raw = objectOf(value) === null ? null : readObject('endpoint', value, pointer, warnings);
  if (raw === null) return notAnObject(pointer);
  const origin = originOf(warnings.textOf(raw.origin, limits.pathCharsMax)?.trim() ?? '');
  if (origin === null) {
    const detail = 'An endpoint needs an `origin`: scheme://host[:port].';
    return { pointer: `${pointer}/origin`, code: 'origin_missing', detail };
  }
  const path = pathOf(warnings.textOf(raw.path, limits.pathCharsMax)?.trim() ?? '');
  if (path === null) {
    const detail = 'An endpoint needs a `path` that begins with a slash.';
    return { pointer: `${pointer}/path`, code: 'path_missing', detail };
  }
  const ref = stringOf(raw.origin_ref)?.trim() ?? null;
  const byRef = ref === null ? null : targets.listed.rowOfRef(ref);
  if (ref !== null && byRef === null) {
    const detail =
      'The reference leads to no asset of this report; the origin itself is the asset.';
    warnings.warn(`${pointer}/origin_ref`, 'asset_ref_unknown', detail);
  }
  const asset = byRef ?? targets.add('website', origin, warnings);
  if (asset === null) {
    const detail = 'The origin names no web asset.';
    return { pointer: `${pointer}/origin`, code: 'origin_missing', detail };
  }
  const method = stringOf(raw.method);
  return {
    asset,
    identity: indexable(`${method ?? 'ANY'} ${origin}${path}`),
    document: () => documentOf({ ...raw, origin, path, template: pathTemplate(path) }, warnings),
  };
}

/** The scheme and host of a web address; null for other texts. */
function originOf(text: string): string | null {
  const place = webPlaceOf(text);
  if (place === null || place.host === '') return null;
  const scheme = place.address.slice(0, place.address.indexOf(':'));
  return `${scheme}://${place.host}`;
}

/** The path without query and fragment, because values of parameters are never kept. */
function pathOf(text: string): string | null {
  return text.startsWith('/') ? (text.split(/[?#]/, 1)[0] ?? null) : null;
}

function documentOf(raw: JsonObject, warnings: Warnings): JsonObject {
  const shown = Object.fromEntries(
    Object.entries(raw).map(([name, value]) => [name, withoutValues(name, value)]),
  );
  const copy = boundedBag(shown, warnings, newBudget()) ?? {};
  // `auth` is CTIS's word for the kind of login, not a credential, so it isn't masked.
  return raw.auth === undefined ? copy : { ...copy, auth: raw.auth };
}

/** Members in which producers write the value that a parameter was sent with. */
const VALUE = /value|default|example|sample/i;

/** A member of an endpoint without values of parameters. */
function withoutValues(name: string, value: unknown): unknown {
  if (typeof value === 'string') {
    const isAddress = name !== 'origin' && name !== 'path' && name !== 'template';
    return isAddress && /^\S*:\/\//.test(value) ? redactUrl(value) : value;
  }
  if (name !== 'params') return value;
  return listOf(value).map((entry) =>
    Object.fromEntries(
      Object.entries(objectOf(entry) ?? {}).filter(([member]) => !VALUE.test(member)),
    ),
  );
}
