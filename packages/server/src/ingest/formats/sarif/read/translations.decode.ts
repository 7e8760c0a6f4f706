// The translations of a SARIF tool (SARIF 2.1.0 §3.14.9, §3.19.4) → texts for rules and messages
// where the tool's own component has none. The language of the run comes first, then English, then
// the order of the report. Called by read/rules.decode.ts.

import type { Warnings } from '../../../json/warnings.decode.ts';
import { type JsonObject, listOf, objectOf, stringOf } from '../../../json/json.decode.ts';

/** Tools speak a dozen languages; each unknown string is looked for in all of them. */
const TRANSLATIONS_MAX = 50;

/** A component that translates another one. */
export interface Translation {
  readonly raw: JsonObject;
  /** The component that is translated; null for the driver. */
  readonly of: JsonObject | null;
  /** Its rules by id and guid; made when first asked for. */
  rules: ReadonlyMap<string, JsonObject> | null;
}

/** The translations of a rule: the translated rules, and the tables of message strings by id. */
export interface Translated {
  readonly rules: readonly JsonObject[];
  readonly strings: readonly unknown[];
}

export const UNTRANSLATED: Translated = { rules: [], strings: [] };

/** The translations of a run; those in its language come first. */
export function translationsOf(run: JsonObject, warnings: Warnings): Translation[] {
  const wanted = stringOf(run.language)?.toLowerCase() ?? 'en-us';
  const rank = ({ raw }: Translation): number => {
    const language = stringOf(raw.language)?.toLowerCase() ?? 'en-us';
    if (language === wanted) return 0;
    if (language.slice(0, 2) === wanted.slice(0, 2)) return 1;
    return language.startsWith('en') ? 2 : 3;
  };
  return warnings
    .first(listOf(run.translations), TRANSLATIONS_MAX)
    .map((entry): Translation => {
      const raw = objectOf(entry) ?? {};
      return { raw, of: objectOf(raw.associatedComponent), rules: null };
    })
    .sort((a, b) => rank(a) - rank(b));
}

/**
 * Joins several translations of a rule; strings of the rule come before strings of its component.
 */
export function translated(
  translations: readonly Translation[],
  id: string | null,
  guid: string | null,
): Translated {
  const rules = translations.flatMap((one) => {
    one.rules ??= rulesOf(one.raw);
    const rule = one.rules.get(id ?? '') ?? one.rules.get(guid ?? '');
    return rule === undefined ? [] : [rule];
  });
  const strings = [
    ...rules.map((rule) => rule.messageStrings),
    ...translations.map(({ raw }) => raw.globalMessageStrings),
  ];
  return { rules, strings };
}

function rulesOf(raw: JsonObject): ReadonlyMap<string, JsonObject> {
  const rules = new Map<string, JsonObject>();
  for (const entry of [...listOf(raw.rules), ...listOf(raw.notifications)]) {
    const rule = objectOf(entry);
    for (const key of [stringOf(rule?.id)?.trim(), stringOf(rule?.guid)]) {
      if (rule !== null && typeof key === 'string' && !rules.has(key)) rules.set(key, rule);
    }
  }
  return rules;
}
