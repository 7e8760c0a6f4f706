// The hash of each item of a report as it was sent, with the context of its list. By this hash an
// item that comes again unchanged is recognised without being read. Called by ingest.ts, dry-run.ts
// and reading.ts.

import type { Report } from '../report/report.rules.ts';
import { contextHash, rawHash } from '../match/evidence.rules.ts';

export class RawHashes {
  readonly #report: Pick<Report, 'contextOf'>;
  readonly #secretKey: Buffer;
  /** The context of the last list: items come list by list. */
  #context: { readonly list: string; readonly hash: Buffer } | null = null;

  constructor(report: Pick<Report, 'contextOf'>, secretKey: Buffer) {
    this.#report = report;
    this.#secretKey = secretKey;
  }

  /** `bytes`: an item of that list. */
  of(list: string, bytes: Buffer): Buffer {
    if (this.#context?.list !== list) {
      this.#context = { list, hash: contextHash(this.#report.contextOf(list), this.#secretKey) };
    }
    return rawHash(this.#context.hash, bytes);
  }
}
