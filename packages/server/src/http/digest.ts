// `Content-Digest` (RFC 9530), over the bytes as sent: read from the headers, computed while the
// body arrives, compared at its end. Bodies that are read whole are compared in body.ts; the upload
// routes compare by themselves.

import { createHash, type Hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { Problem } from '../lib/problem.ts';

type DigestAlgorithm = 'sha-256' | 'sha-512';

/**
 * `Content-Digest: sha-256=:base64:, sha-512=:base64:` (RFC 9530 §2). Unknown algorithms are left
 * out, as the RFC wants. Problem: invalid_digest when it can't be read.
 */
export function digestsOf(headers: IncomingHttpHeaders): Map<DigestAlgorithm, Buffer> {
  const digests = new Map<DigestAlgorithm, Buffer>();
  const header = headers['content-digest'];
  if (typeof header !== 'string') return digests;
  for (const member of header.split(',')) {
    const match = /^\s*([a-z0-9-]+)=:([A-Za-z0-9+/]+={0,2}):\s*$/.exec(member);
    if (match === null) throw new Problem('invalid_digest');
    const [, algorithm, value] = match as unknown as [string, string, string];
    if (algorithm === 'sha-256' || algorithm === 'sha-512')
      digests.set(algorithm, Buffer.from(value, 'base64'));
  }
  return digests;
}

/** The check of a body's bytes: `update` with each piece as sent, then `verify`. */
interface DigestCheck {
  update(bytes: Uint8Array): void;
  /** Problem: digest_mismatch. */
  verify(): void;
}

/** Null when the headers name no digest that we know. Problem: invalid_digest. */
export function digestCheckOf(headers: IncomingHttpHeaders): DigestCheck | null {
  if (headers['content-digest'] === undefined) return null;
  const expected = digestsOf(headers);
  if (expected.size === 0) return null;
  const hashes = [...expected.keys()].map((algorithm): readonly [DigestAlgorithm, Hash] => [
    algorithm,
    createHash(algorithm.replace('-', '')),
  ]);
  return {
    update: (bytes) => {
      for (const [, hash] of hashes) hash.update(bytes);
    },
    verify: () => {
      for (const [algorithm, hash] of hashes) {
        if (expected.get(algorithm)?.equals(hash.digest()) === true) continue;
        throw new Problem(
          'digest_mismatch',
          `The ${algorithm} of the body is not what Content-Digest says.`,
        );
      }
    },
  };
}
