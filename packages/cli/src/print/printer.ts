// Prints for a command: results on stdout, as text or as one JSON document; everything else on
// stderr. Colours only where they can be seen.

import { styleText } from 'node:util';
import type { Io, Sink } from '../lib/io.ts';
import { type Column, table } from './table.ts';
import { jsonText, lines, plain, wrap } from './text.ts';

export type Style = Parameters<typeof styleText>[0];

/**
 * Name and value; a value of several lines is indented below its name. A value of null isn't shown.
 */
export type Field = readonly [name: string, value: string | null];

export class Printer {
  readonly isJson: boolean;
  readonly #out: Sink;
  readonly #err: Sink;
  readonly #isPlain: boolean;

  constructor(io: Io, options: { readonly json: boolean; readonly 'no-color': boolean }) {
    this.isJson = options.json;
    this.#out = io.out;
    this.#err = io.err;
    // https://no-color.org: set and not empty.
    this.#isPlain =
      options['no-color'] || (io.env['NO_COLOR'] ?? '') !== '' || io.env['TERM'] === 'dumb';
  }

  /** Columns of the terminal; null where text goes elsewhere. */
  get columns(): number | null {
    return this.#out.columns;
  }

  /** The text in a style, for stdout. */
  style(style: Style, text: string): string {
    return this.#painted(this.#out, style, text);
  }

  /** Prints a result: the document for machines, or the text of `human` (ended by a line break). */
  result(document: unknown, human: () => string): void {
    this.#out.write(this.isJson ? `${jsonText(document)}\n` : human());
  }

  /** One sentence as a result. */
  line(text: string): string {
    return `${plain(text)}\n`;
  }

  /** Prints text that is neither result nor error: what to do next, what was left out. */
  note(text: string): void {
    this.#err.write(`${this.#painted(this.#err, 'dim', wrap(plain(text), this.#err.columns))}\n`);
  }

  /** Prints an error, as one paragraph. */
  error(text: string): void {
    const head = this.#painted(this.#err, ['red', 'bold'], 'muster:');
    this.#err.write(`${wrap(`muster: ${text}`, this.#err.columns).replace(/^muster:/, head)}\n`);
  }

  table<T>(layout: readonly Column<T>[], rows: readonly T[]): string {
    return table(layout, rows, this.columns, (title) => this.style('bold', title));
  }

  /** Names and values below each other. */
  fields(fields: readonly Field[]): string {
    const shown = fields.filter((field): field is [string, string] => field[1] !== null);
    const room = Math.max(0, ...shown.map(([name]) => name.length));
    return shown
      .map(([name, value]) => {
        const clean = lines(value).replace(/\n+$/, '');
        const label = this.style('dim', name.padEnd(room));
        if (!clean.includes('\n')) return `${label}  ${clean}\n`;
        return `${this.style('dim', name)}\n${clean.replace(/^/gm, '  ')}\n`;
      })
      .join('');
  }

  #painted(sink: Sink, style: Style, text: string): string {
    if (this.#isPlain || !sink.isTty) return text;
    return styleText(style, text, { validateStream: false });
  }
}
