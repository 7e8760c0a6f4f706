// Whether a rule looks for secrets in files, by what it is called and classified under: tools that look for much else
// besides (Semgrep, Checkov, KICS, CodeQL) have such rules, too, and what these find is hidden like any other secret.
// Rules about secrets that show none (a missing CSRF token, secrets as environment variables) stay what they are, unless
// a finding of theirs holds something that has the form of a credential. Called by both report readers.

import { holdsForm } from './credential-forms.rules.ts';

/** `maybe`: it names secrets; what it found tells (showsForm). */
export type SecretRule = 'yes' | 'maybe' | 'no';

/** Hard-coded credentials, passwords and cryptographic keys. */
const WEAKNESSES: ReadonlySet<string> = new Set(['CWE-798', 'CWE-259', 'CWE-321']);

const SECRET =
  '(?:secret|credential|password|passwd|passphrase|token|jwt|api ?key|(?:access|private|secret|encryption|signing) ?key)';

/** A cheap first look at a name as it is: most rules have none of it. */
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

/** Names are short; what is longer is prose. */
const NAME_CHARS_MAX = 500;

/** `names`: id, name and short title of a rule; `cwes` as `CWE-<n>`. */
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

/** `detected-github-token`, `HardcodedPassword`, `CKV_SECRET_43` in one spelling: words in lower case. */
const inWords = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^a-z\d]+/g, ' ')
    .trim();

/** True where a finding holds, in whatever member, something that has the form of a credential. */
export const showsForm = (finding: unknown): boolean => holdsForm(JSON.stringify(finding));
