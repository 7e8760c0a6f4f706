// The dependencies of a CTIS report (CTIS §3.3) → components, with the names of the components that
// they depend on. `depends_on` is read as the specification has it (deployed servers read it the
// other way round, §7.6). Each id, purl or name in it is resolved later, to the component of this
// report that has it. Called by ctis.decode.ts.

import { limits } from '@muster/contract/plain';
import { boundedBag, newBudget } from '../common/bounded.decode.ts';
import { canonicalPurl, ecosystemType, packageOfPurl } from '../common/component.rules.ts';
import { notAnObject } from './lists.decode.ts';
import { readObject } from './members.decode.ts';
import type { ComponentEntry } from '../../report/report.rules.ts';
import type { Located, Warnings } from '../../json/warnings.decode.ts';
import { objectOf, stringOf, stringsOf } from '../../json/json.decode.ts';

/** One dependency by itself, or the reason why it can't be used. */
export function readComponent(
  value: unknown,
  pointer: string,
  warnings: Warnings,
): ComponentEntry | Located {
  const raw = objectOf(value) === null ? null : readObject('dependency', value, pointer, warnings);
  if (raw === null) return notAnObject(pointer);
  const purl = warnings.textOf(raw.purl, limits.pathCharsMax)?.trim() ?? null;
  const saysAll = stringOf(raw.name) !== null && stringOf(raw.version) !== null;
  const byPurl = purl === null || saysAll ? null : packageOfPurl(purl);
  const name = warnings.textOf(raw.name, limits.nameCharsMax)?.trim() ?? byPurl?.name ?? null;
  if (name === null) {
    const detail = 'A dependency needs a `name` or a purl.';
    return { pointer: `${pointer}/name`, code: 'name_missing', detail };
  }
  const version =
    warnings.textOf(raw.version, limits.nameCharsMax)?.trim() ?? byPurl?.version ?? null;
  const ecosystem = stringOf(raw.ecosystem);
  const type = ecosystem === null ? 'other' : ecosystemType(ecosystem);
  const named = `${type}/${name}${version === null ? '' : `@${version}`}`;
  const canonical = purl === null ? null : canonicalPurl(purl, version);
  const identity = canonical ?? warnings.text(named, limits.pathCharsMax);
  const exact = [raw.uid, identity].flatMap((one) => stringOf(one)?.trim() ?? []);
  if (version !== null) exact.push(`${name}@${version}`);
  // A purl may lack the version that the report states beside it.
  const bare = canonicalPurl(stringOf(raw.purl) ?? '');
  return {
    identity,
    name,
    version,
    document: () => boundedBag(raw, warnings, newBudget()) ?? {},
    id: stringOf(raw.id)?.trim() ?? null,
    exactNames: new Set(exact),
    bareNames: bare === null ? [name] : [name, bare],
    dependsOn: stringsOf(raw.depends_on),
  };
}
