// Values that must not be shown (secrets of findings, credentials in headers, bodies and property
// bags) → masks. A mask shows too little to use: at most four characters at each end and never more
// than half of the value. Readers mask a text before it becomes part of a draft's detail.

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
 * The name before a value: letters up to the first `=` or `:`. A name has no digits, most secrets
 * have.
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
 * Words that make a name a credential's name, at any place in it (`X-Session`, `dbPassword`,
 * `PHPSESSID`).
 */
export const CREDENTIAL_WORDS =
  'pass(?:word|wd|phrase|code)|pwd|secret|token|sess(?:ion|id)|cookie|csrf|xsrf|credential|jwt|authorization' +
  '|(?:api|access|auth|private)[-_]?key|auth(?![a-z])';

const CREDENTIAL = new RegExp(CREDENTIAL_WORDS, 'i');

/** Last words of names that only name, count or date a credential: `secret_type`, `tokenUrl`. */
const ABOUT = new Set(
  `address at balance balances count date endpoint expiration expires expiry flags format kind length limit location
    method methods name policy scheme scope scopes size standard status symbol timeout ttl type types uri url
    version`.split(/\s+/),
);

/** Tokens that are coins (CTIS §3.2, web3). */
const COINS: ReadonlySet<string> = new Set(['governance_token', 'quote_token']);

/** Names under which secret scanners quote the text they found, without `-` and `_`. */
const QUOTES: ReadonlySet<string> = new Set('match offender raw rawv2'.split(' '));

/** True when a text under this name is masked, whatever the text is. */
export function isCredentialName(name: string): boolean {
  if (name.length > NAME_CHARS_MAX) return false;
  return (
    holdsCredential(name) || QUOTES.has(lastPartOf(name).toLowerCase().replaceAll(/[-_]/g, ''))
  );
}

/**
 * A value that was set aside is named by its place (`location/match`): its name is the last part.
 */
const lastPartOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/** Longer names are sentences or data. */
const NAME_CHARS_MAX = 128;

/** True when every value under this name, of any type, is a credential. */
export function holdsCredential(name: string): boolean {
  if (name.length > NAME_CHARS_MAX || !CREDENTIAL.test(name) || COINS.has(name)) return false;
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').split(/[^A-Za-z\d]+/);
  return !ABOUT.has(words.findLast((word) => word !== '')?.toLowerCase() ?? '');
}

/** A private key; only the line that says its kind is shown. */
const KEY_BLOCK = /(-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)(?:(?!-----)[^])+/g;

/**
 * Headers whose value runs to the end of the line: `a=1; sid=…`, `Digest username="…",
 * response="…"`.
 */
const HEADER = /((?:authorization|cookie2?)\\*["']?[ \t]*:[ \t]*)[^ \t\r\n][^\r\n]*/gi;

/**
 * A name and its value: in quotes, in quotes that are escaped themselves, or up to the next
 * delimiter.
 */
const ASSIGNMENT = new RegExp(
  `((?:${CREDENTIAL_WORDS})[\\w-]{0,32}\\\\*["']?[ \\t]*(?::=|=>|={1,3}|:)[ \\t]*)` +
    '(?:(")(?:[^"\\\\\\r\\n]|\\\\.)+|(\')(?:[^\'\\\\\\r\\n]|\\\\.)+' +
    '|(\\\\+["\'])(?:(?!(?<!\\\\)\\4)[^\\r\\n])+' +
    '|(?!\\\\+["\'])[^ \\t\\r\\n&"\',;][^\\r\\n&"\',;]*)',
  'gi',
);

/** `curl -u user:password`. */
const USER_OPTION =
  /([ \t](?:-u|-U|--(?:proxy-)?user)(?:[ \t]+|=))("[^":<>\r\n]*:[^"<>\r\n]+|'[^':<>\r\n]*:[^'<>\r\n]+|[^\s:"'<>]+:[^\s"'<>]+)/g;

/** `--token …`, `-password "…"`; a word that begins with a dash is the next option. */
const OPTION =
  /(?<![^ \t\r\n"'`])(--?([\w-]{2,64})[ \t]+)((?:"(?:[^"\\\r\n]|\\.)+"|'(?:[^'\\\r\n]|\\.)+'|[^\s"'=:-])[^\s"']*)/g;

/** `<password>…</password>`, with its namespace and attributes. */
const ELEMENT = new RegExp(
  `(<[\\w.:-]{0,64}?(?:${CREDENTIAL_WORDS})[\\w.:-]{0,64}(?:\\s[^<>]*)?>)(?:<!\\[CDATA\\[)?[^<]+`,
  'gi',
);

/** The user info before the host of a URL: a user is a token as often as a name. */
const USER_INFO = /(:\/\/)[^\s/?#"'<>]*@/g;

/**
 * Masks credentials in a request, a response or an output, by the names before them. Takes linear
 * time. A second masking changes nothing: no step leaves a text in which an earlier step would find
 * more.
 */
export function maskAssignments(text: string): string {
  return text
    .replace(KEY_BLOCK, `$1${MASK}`)
    .replace(HEADER, `$1${MASK}`)
    .replace(ASSIGNMENT, `$1$2$3$4${MASK}`)
    .replace(
      USER_OPTION,
      (_, option: string, pair: string) => `${option}${pair.split(':', 1)[0]}:${MASK}`,
    )
    .replace(OPTION, (whole, option: string, name: string) =>
      holdsCredential(name) ? `${option}${MASK}` : whole,
    )
    .replace(ELEMENT, `$1${MASK}`)
    .replace(USER_INFO, `$1${MASK}@`);
}

/**
 * Like ASSIGNMENT, for sentences. There a colon and a blank introduce words (`Password: too
 * short`), so only `=`, a colon without a blank, and quotes assign, and an unquoted value ends with
 * its word. A comparison or an arrow assigns nothing (`token == null`), but a quoted text behind
 * one may be the credential.
 */
const SAID = new RegExp(
  `((?:${CREDENTIAL_WORDS})[\\w-]{0,32}\\\\*["']?(?:[ \\t]*(?::=|=(?![=>]))[ \\t]*|:(?=[^\\s:/])|[ \\t]*(?::|=>|={2,3})[ \\t]*(?=\\\\*["'])))` +
    '(?:(")(?:[^"\\\\\\r\\n]|\\\\.)+|(\')(?:[^\'\\\\\\r\\n]|\\\\.)+|[^\\s&"\',;]+)',
  'gi',
);

/** `Authorization: Bearer …` in a sentence. */
const SAID_HEADER = /(authorization[ \t]*:[ \t]*[a-z]{1,32}[ \t]+)[^\s"',;]{4,}/gi;

/** Masks credentials in a title or a message, by the names before them. */
export function maskSaid(text: string): string {
  // Every finding has such texts, and hardly any text holds a credential: the look is cheaper than
  // masking.
  const unlocked = text.includes('-----BEGIN') ? text.replace(KEY_BLOCK, `$1${MASK}`) : text;
  const unsaid = assignsCredential(unlocked)
    ? unlocked.replace(SAID_HEADER, `$1${MASK}`).replace(SAID, `$1$2$3${MASK}`)
    : unlocked;
  return unsaid.includes('://') ? unsaid.replace(USER_INFO, `$1${MASK}@`) : unsaid;
}

/** True when a colon or an equals sign follows a credential's name. */
function assignsCredential(text: string): boolean {
  for (const sign of [':', '=']) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      const name = nameBefore(text, at);
      if (name.length > 2 && CREDENTIAL.test(name)) return true;
    }
  }
  return false;
}

/**
 * The name that ends before an index, without the blanks, the quote and the backslashes between
 * them.
 */
function nameBefore(text: string, index: number): string {
  let end = index;
  while (' \t'.includes(text.charAt(end - 1)) && end > 0) end -= 1;
  if ('"\''.includes(text.charAt(end - 1)) && end > 0) end -= 1;
  while (text.charAt(end - 1) === '\\') end -= 1;
  let start = end;
  while (start > end - NAME_CHARS_MAX && isOfName(text.charCodeAt(start - 1))) start -= 1;
  return text.slice(start, end);
}

/** `[\w-]`; false for NaN, the code before the text's beginning. */
const isOfName = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x30 && code <= 0x39) ||
  code === 0x5f ||
  code === 0x2d;

/** The snippet of a secret finding: only a name on its first line is shown. */
export function maskSnippet(snippet: string): string {
  if (isMasked(snippet)) return snippet;
  const first = snippet.split('\n', 1)[0] ?? '';
  const name = NAME.exec(first)?.[0] ?? '';
  // The padding of a Base64 value isn't an assignment.
  const isNamed = first.slice(name.length).replaceAll(/[=\s]/g, '').length >= 4;
  return isNamed ? `${name}${MASK}` : MASK;
}

/**
 * The text with every occurrence of the secret masked; a secret of less than 6 characters could be
 * a word and stays.
 */
export function maskOccurrences(text: string, secret: string | null): string {
  if (secret === null || secret.length < 6 || !text.includes(secret)) return text;
  return text.replaceAll(secret, () => maskValue(secret));
}
