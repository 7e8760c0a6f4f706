// The hashes of a report's items as they were sent, each with the context of its list: by them an item that comes again
// unchanged is known without being read. Used by reading.ts and write-batches.ts.

import type { Report } from '../report/report.rules.ts';
import { contextHash, rawHash } from '../match/evidence.rules.ts';

export class RawHashes {
  readonly #report: Pick<Report, 'contextOf'>;
  readonly #secretKey: Buffer;
  /** Items come list by list: only the last one's context is kept. */
  #context: { readonly list: string; readonly hash: Buffer } | null = null;

  constructor(report: Pick<Report, 'contextOf'>, secretKey: Buffer) {
    this.#report = report;
    this.#secretKey = secretKey;
  }

  /** `bytes`: the item of that list. */
  of(list: string, bytes: Buffer): Buffer {
    if (this.#context?.list !== list) {
      this.#context = { list, hash: contextHash(this.#report.contextOf(list), this.#secretKey) };
    }
    return rawHash(this.#context.hash, bytes);
  }
}
