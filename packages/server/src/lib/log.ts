// Structured logs (pino). Secrets are redacted by type: a Secret never prints, whoever logs it.
// Well-known header names are censored as well.

import { inspect } from 'node:util';
import { pino, type Logger } from 'pino';

export type { Logger } from 'pino';

/** A value that must never reach a log or a message. `expose()` is the one way to its text. */
export class Secret {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  expose(): string {
    return this.#text;
  }
  toString(): string {
    return '[secret]';
  }
  toJSON(): string {
    return '[secret]';
  }
  [inspect.custom](): string {
    return '[secret]';
  }
}

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** One JSON line per event on standard output, times in RFC 3339. */
export function createLogger(level: LogLevel): Logger {
  return pino({
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        'headers.*',
        'api_key',
        '*.api_key',
        'token',
        '*.token',
      ],
      censor: '[secret]',
    },
  });
}
