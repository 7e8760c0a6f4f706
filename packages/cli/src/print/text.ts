// Text for a terminal. The author of the scanned code wrote the titles, paths and messages of
// findings: control characters and direction marks in them are shown, never obeyed. Pure.

/**
 * Controls (C0, DEL, C1) except tab and line break; direction marks, which can turn a path around;
 * other line ends.
 */
const CONTROL = /(?![\t\n])[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/gu;

/**
 * The text on one line: line breaks become blanks, and characters that could steer a terminal
 * become visible (`\u{1b}`).
 */
export function plain(text: string): string {
  return lines(text).replace(/[\t\n]+/g, ' ');
}

/** The same, with line breaks and tabs kept. */
export function lines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(CONTROL, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
// East Asian wide and fullwidth (UAX #11), as far as texts in reports use them, and emoji.
const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]|^\p{Emoji_Presentation}/u;
const ASCII = /^[ -~]*$/;

/** Columns that the text takes on a terminal; it has no colours yet. */
export function width(text: string): number {
  if (ASCII.test(text)) return text.length;
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += WIDE.test(segment) ? 2 : 1;
  return columns;
}

/** At most `columns` wide; a cut text ends in `…`. */
export function cut(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  let kept = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    const next = used + (WIDE.test(segment) ? 2 : 1);
    if (next > columns - 1) break;
    kept += segment;
    used = next;
  }
  return `${kept}…`;
}

/** Cut from the front, for paths: their end says more. */
export function cutFront(text: string, columns: number): string {
  if (width(text) <= columns) return text;
  const backwards = [...graphemes.segment(text)].map(({ segment }) => segment).reverse();
  let kept = '';
  let used = 0;
  for (const segment of backwards) {
    used += WIDE.test(segment) ? 2 : 1;
    if (used > columns - 1) break;
    kept = segment + kept;
  }
  return `…${kept}`;
}

export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - width(text)));

/**
 * Breaks the text at blanks so that no line is wider than `columns` where words allow it. Later
 * lines are indented.
 */
export function wrap(text: string, columns: number | null, indent = ''): string {
  if (columns === null) return text;
  const done: string[] = [];
  let line = '';
  for (const piece of text.split(' ')) {
    const longer = line === '' ? piece : `${line} ${piece}`;
    if (line !== '' && width(longer) > columns) {
      done.push(line);
      line = indent + piece;
    } else {
      line = longer;
    }
  }
  return [...done, line].join('\n');
}

/** `1 upload`, `3 uploads`. */
export const counted = (count: number, noun: string): string =>
  `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;

/** `812 B`, `3.4 MB`: powers of 1000, as `ls --si` shows them. */
export function bytes(count: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = count;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/**
 * A document for machines. Characters that JSON may leave bare but a terminal would obey are
 * escaped, too; the document stays the same.
 */
export const jsonText = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(
    /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
