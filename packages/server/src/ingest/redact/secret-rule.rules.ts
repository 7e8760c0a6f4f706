// The names and weaknesses of a rule → whether the rule looks for secrets in files. Tools for other
// purposes (Semgrep, Checkov, KICS, CodeQL) have such rules, too, and their findings are hidden
// like those of secret scanners. A rule about secrets that shows none (a missing CSRF token,
// secrets as environment variables) keeps its type, unless its finding holds a text in the form of
// a credential. Called by ctis/secrets.decode.ts and read/identity.decode.ts.

import { holdsForm } from './credential-forms.rules.ts';

/** `maybe`: the rule's name mentions secrets, and the finding decides (showsForm). */
export type SecretRule = 'yes' | 'maybe' | 'no';

/** Hard-coded credentials, passwords and cryptographic keys. */
const WEAKNESSES: ReadonlySet<string> = new Set(['CWE-798', 'CWE-259', 'CWE-321']);

const SECRET =
  '(?:secret|credential|password|passwd|passphrase|token|jwt|api ?key|(?:access|private|secret|encryption|signing) ?key)';

/** A cheap first look at a name as it was sent: most rules have none of these words. */
const MAY_NAME_SECRET = /secret|credential|passw|passphrase|token|jwt|key/i;

const NAMES_SECRET = new RegExp(SECRET);

const LOOKS_FOR_SECRETS = new RegExp(
  [
    // js/hardcoded-credentials, hardcoded_password_string, "Credentials should not be hard-coded"
    `hard ?coded (?:\\w+ ){0,4}(?:${SECRET}|keys?\\b)`,
    `${SECRET}s?\\b.{0,40}\\bhard ?coded`,
    // generic.secrets.security.detected-github-token, "Leaked API key", "Secret leak"
    `(?:detected|leaked|committed) (?:\\w+ ){0,5}${SECRET}`,
    `${SECRET}s? leak`,
    '\\bgeneric secrets\\b',
    // CKV_SECRET_43
    '^ckv secret \\d',
    // KICS: "Passwords And Secrets - Generic Password"
    '\\bpasswords and secrets\\b',
  ].join('|'),
);

/** Names are short; a longer text is prose. */
const NAME_CHARS_MAX = 500;

/**
 * Whether a rule looks for secrets. `names`: its id, name and short title; `cwes`: each as
 * `CWE-<n>`.
 */
export function secretRuleOf(
  names: readonly (string | null)[],
  cwes: readonly string[],
): SecretRule {
  if (cwes.some((cwe) => WEAKNESSES.has(cwe))) return 'yes';
  let rule: SecretRule = 'no';
  for (const name of names) {
    if (name === null || !MAY_NAME_SECRET.test(name)) continue;
    const said = inWords(name.slice(0, NAME_CHARS_MAX));
    if (LOOKS_FOR_SECRETS.test(said)) return 'yes';
    if (NAMES_SECRET.test(said)) rule = 'maybe';
  }
  return rule;
}

/**
 * Brings `detected-github-token`, `HardcodedPassword` and `CKV_SECRET_43` to one spelling: words in
 * lower case.
 */
const inWords = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, ' ')
    .trim();

/** True when the finding holds, in any member, a text in the form of a credential. */
export const showsForm = (finding: unknown): boolean => holdsForm(JSON.stringify(finding));

/** True for a tag by which a finding, or its rule, is about a secret. */
export const isSecretTag = (tag: unknown): boolean =>
  typeof tag === 'string' && /^secrets?$/i.test(tag.trim());
