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

/** Words that make a name a credential's wherever they stand in it (`X-Session`, `dbPassword`, `PHPSESSID`). */
const CREDENTIAL_WORDS =
  'pass(?:word|wd|phrase|code)|pwd|secret|token|sess(?:ion|id)|cookie|csrf|xsrf|credential|jwt|authorization' +
  '|(?:api|access|auth|private)[-_]?key|auth(?![a-z])';

const CREDENTIAL = new RegExp(CREDENTIAL_WORDS, 'i');

/** What only names, counts or dates a credential, by its last word: `secret_type`, `tokenUrl`. */
const ABOUT = new Set(
  `address at balance balances count date endpoint expiration expires expiry flags format kind length limit location
    method methods name policy scheme scope scopes size standard status symbol timeout ttl type types uri url
    version`.split(/\s+/),
);

/** Tokens that are coins (CTIS §3.2, web3). */
const COINS: ReadonlySet<string> = new Set(['governance_token', 'quote_token']);

/** Names under which scanners of secrets quote what they found; `-` and `_` left out. */
const QUOTES: ReadonlySet<string> = new Set('match offender raw rawv2'.split(' '));

/** True when a text under this name is to be masked whatever it says. */
export function isCredentialName(name: string): boolean {
  if (name.length > NAME_CHARS_MAX) return false;
  return (
    holdsCredential(name) || QUOTES.has(lastPartOf(name).toLowerCase().replaceAll(/[-_]/g, ''))
  );
}

/** What is kept under its place (`location/match`) is called what stands last. */
const lastPartOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1);

/** Longer ones are sentences or data. */
const NAME_CHARS_MAX = 128;

/** True when all that stands under this name, whatever its type, is a credential. */
export function holdsCredential(name: string): boolean {
  if (name.length > NAME_CHARS_MAX || !CREDENTIAL.test(name) || COINS.has(name)) return false;
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').split(/[^A-Za-z\d]+/);
  return !ABOUT.has(words.findLast((word) => word !== '')?.toLowerCase() ?? '');
}

/** Of a key only what kind it is. */
const KEY_BLOCK = /(-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----)(?:(?!-----)[^])+/g;

/** Headers whose value is the rest of the line: `a=1; sid=…`, `Digest username="…", response="…"`. */
const HEADER = /((?:authorization|cookie2?)\\*["']?[ \t]*:[ \t]*)[^ \t\r\n][^\r\n]*/gi;

/** A name and its value: in quotes, in quotes that are themselves quoted, or up to the next delimiter. */
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

/** `--token …`, `-password "…"`; what begins with a dash is the next option. */
const OPTION =
  /(?<![^ \t\r\n"'`])(--?([\w-]{2,64})[ \t]+)((?:"(?:[^"\\\r\n]|\\.)+"|'(?:[^'\\\r\n]|\\.)+'|[^\s"'=:-])[^\s"']*)/g;

/** `<password>…</password>`, with its namespace and attributes. */
const ELEMENT = new RegExp(
  `(<[\\w.:-]{0,64}?(?:${CREDENTIAL_WORDS})[\\w.:-]{0,64}(?:\\s[^<>]*)?>)(?:<!\\[CDATA\\[)?[^<]+`,
  'gi',
);

/** What stands before the host of a URL: users are tokens as often as names. */
const USER_INFO = /(:\/\/)[^\s/?#"'<>]*@/g;

/**
 * A request, a response or an output, in which credentials are masked by what stands before them. Takes linear time.
 * Repeating it changes nothing: each step leaves nothing that would make an earlier one find more.
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
 * As ASSIGNMENT, in sentences: there a colon and a blank introduce words (`Password: too short`), so that it takes `=`, a
 * colon without a blank or quotes to assign, and what isn't quoted ends with the word. A comparison or an arrow is none (`token
 * == null`), but what is quoted behind it may be the credential.
 */
const SAID = new RegExp(
  `((?:${CREDENTIAL_WORDS})[\\w-]{0,32}\\\\*["']?(?:[ \\t]*(?::=|=(?![=>]))[ \\t]*|:(?=[^\\s:/])|[ \\t]*(?::|=>|={2,3})[ \\t]*(?=\\\\*["'])))` +
    '(?:(")(?:[^"\\\\\\r\\n]|\\\\.)+|(\')(?:[^\'\\\\\\r\\n]|\\\\.)+|[^\\s&"\',;]+)',
  'gi',
);

/** `Authorization: Bearer …`, in a sentence. */
const SAID_HEADER = /(authorization[ \t]*:[ \t]*[a-z]{1,32}[ \t]+)[^\s"',;]{4,}/gi;

/** A title or a message, in which credentials are masked by what stands before them. */
export function maskSaid(text: string): string {
  // Every finding has such texts, and next to none of them a credential: looking for one costs less than masking.
  const unlocked = text.includes('-----BEGIN') ? text.replace(KEY_BLOCK, `$1${MASK}`) : text;
  const unsaid = assignsCredential(unlocked)
    ? unlocked.replace(SAID_HEADER, `$1${MASK}`).replace(SAID, `$1$2$3${MASK}`)
    : unlocked;
  return unsaid.includes('://') ? unsaid.replace(USER_INFO, `$1${MASK}@`) : unsaid;
}

/** True where a colon or an equals sign stands behind a name of credentials. */
function assignsCredential(text: string): boolean {
  for (const sign of [':', '=']) {
    for (let at = text.indexOf(sign); at !== -1; at = text.indexOf(sign, at + 1)) {
      const name = nameBefore(text, at);
      if (name.length > 2 && CREDENTIAL.test(name)) return true;
    }
  }
  return false;
}

/** The name that ends before an index, but for blanks, a quote and its backslashes. */
function nameBefore(text: string, index: number): string {
  let end = index;
  while (' \t'.includes(text.charAt(end - 1)) && end > 0) end -= 1;
  if ('"\''.includes(text.charAt(end - 1)) && end > 0) end -= 1;
  while (text.charAt(end - 1) === '\\') end -= 1;
  let start = end;
  while (start > end - NAME_CHARS_MAX && isOfName(text.charCodeAt(start - 1))) start -= 1;
  return text.slice(start, end);
}

/** `[\w-]`; not NaN, which stands before the beginning. */
const isOfName = (code: number): boolean =>
  (code >= 0x61 && code <= 0x7a) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x30 && code <= 0x39) ||
  code === 0x5f ||
  code === 0x2d;

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
