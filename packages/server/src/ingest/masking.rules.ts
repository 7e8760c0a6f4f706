// What must not be shown is made unreadable here: values of secret findings, credentials in
// headers, bodies and property bags. Masks show too little to use: at most four characters at an
// end and never more than half of the value. Called by the report readers before anything becomes a
// draft's detail.

export const MASK = '***';

/**
 * `AKIA***MPLE`: at most 4 characters at each end, at most half of the value; short values show
 * nothing.
 */
export function maskValue(value: string): string {
  const shown = Math.min(4, Math.floor(value.length / 4));
  if (value.length < 8) return MASK;
  return `${value.slice(0, shown)}${MASK}${value.slice(-shown)}`.toWellFormed();
}

const PLACEHOLDER = /\b(?:redacted|masked|hidden)\b/gi;

/**
 * What names a value: letters up to the first `=` or `:`. A name has no digits, most secrets have.
 */
const NAME = /^[\sA-Za-z_."'-]{1,40}[=:]/;

/**
 * True for values that a producer masked already: at most 8 readable characters beside name and
 * mask.
 */
export function isMasked(value: string): boolean {
  const bare = value.replace(PLACEHOLDER, MASK);
  return /[*•]{3}|\.{3}|…/.test(bare) && readableChars(bare.replace(NAME, '')) <= 8;
}

/** True for a masked value that still tells one secret from another (`AKIA***MPLE`). */
export function isTelling(masked: string): boolean {
  return readableChars(masked.replace(PLACEHOLDER, '')) >= 4;
}

function readableChars(value: string): number {
  return value.replaceAll(/[*•.…\s]/g, '').length;
}

/**
 * Names of headers, parameters and properties whose text values are credentials; `-` and `_` left
 * out.
 */
const CREDENTIAL_NAMES: ReadonlySet<string> = new Set(
  `accesskey accesstoken apikey apisecret apitoken authorization clientsecret cookie cookie2
    idtoken jsessionid match offender passphrase passwd password phpsessid privatekey
    privatetoken proxyauthorization pwd raw rawsecret rawv2 refreshtoken secret secretaccesskey
    secretkey secretvalue sessionid sessiontoken setcookie setcookie2 token xaccesstoken
    xamzsecuritytoken xapikey xauthtoken xcsrftoken xgoogapikey xvaulttoken xxsrftoken`.split(
    /\s+/,
  ),
);

/** True when a text under this name is to be masked whatever it says. */
export function isCredentialName(name: string): boolean {
  return name.length <= 64 && CREDENTIAL_NAMES.has(name.toLowerCase().replaceAll(/[-_]/g, ''));
}

const ASSIGNMENT = new RegExp(
  '((?:password|passwd|pwd|passphrase|secret|token|api[-_]?key|authorization|cookie|session)' +
    '[\\w-]{0,32}["\']?[ \\t]{0,4}[=:][ \\t]{0,4}["\']?)' +
    '([^\\r\\n&"\',;]{1,512})',
  'gi',
);

/** A request or response text in which values after credential names are masked. */
export function maskAssignments(text: string): string {
  return text.replace(ASSIGNMENT, `$1${MASK}`);
}

/** The snippet of a secret finding: of its first line the name, if it has one; nothing else. */
export function maskSnippet(snippet: string): string {
  if (isMasked(snippet)) return snippet;
  const first = snippet.split('\n', 1)[0] ?? '';
  const name = NAME.exec(first)?.[0] ?? '';
  // The padding of Base64 isn't an assignment.
  const isNamed = first.slice(name.length).replaceAll(/[=\s]/g, '').length >= 4;
  return isNamed ? `${name}${MASK}` : MASK;
}

/**
 * The text with every occurrence of the secret masked; values too short to be told from words are
 * left.
 */
export function maskOccurrences(text: string, secret: string | null): string {
  if (secret === null || secret.length < 6 || !text.includes(secret)) return text;
  return text.replaceAll(secret, () => maskValue(secret));
}
