// One 32-byte master key, from which HKDF derives one key for each purpose (contract §2). Its check
// value stands in the database: a node with another key refuses to start, because it could neither
// read sealed uploads nor recognise secrets. On SQLite the key is made at the first run and kept in
// a 0600 file beside the database; backups cover both.

import { hkdfSync, timingSafeEqual } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '../db/db.ts';
import type { Secret } from '../lib/log.ts';
import { randomBytes } from '../lib/random.ts';
import { insertInstallation, readMasterKeyCheck } from './installation.queries.ts';

/** The purposes of derived keys; the words are part of the derivation and never change. */
type Purpose = 'sealed uploads' | 'secret findings' | 'check value';

const KEY_BYTES = 32;

/** The server can't start with this configuration; the message says what to do. */
export class MasterKeyError extends Error {}

export class MasterKey {
  readonly #bytes: Buffer;
  constructor(bytes: Buffer) {
    if (bytes.length !== KEY_BYTES) throw new MasterKeyError('The master key must have 32 bytes.');
    this.#bytes = bytes;
  }
  /** HKDF-SHA-256 (RFC 5869) without salt: the input is uniformly random already. */
  derive(purpose: Purpose): Buffer {
    return Buffer.from(
      hkdfSync('sha256', this.#bytes, Buffer.alloc(0), `muster ${purpose}`, KEY_BYTES),
    );
  }
}

/**
 * Takes the key from the configuration, otherwise from the file. The file is made when there is
 * none and the database is embedded.
 */
export function loadMasterKey(
  configured: Secret | null,
  directory: string,
  embedded: boolean,
): MasterKey {
  if (configured !== null) return new MasterKey(parse(configured.expose()));
  if (!embedded) {
    throw new MasterKeyError(
      'MUSTER_MASTER_KEY is required with PostgreSQL, and must be the same on all nodes. Make one with: openssl rand -hex 32',
    );
  }
  const path = join(directory, 'master.key');
  if (existsSync(path)) return new MasterKey(parse(readFileSync(path, 'utf8')));
  const bytes = randomBytes(KEY_BYTES);
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, `${bytes.toString('hex')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return new MasterKey(bytes);
}

function parse(text: string): Buffer {
  const trimmed = text.trim();
  return /^[0-9a-fA-F]{64}$/.test(trimmed)
    ? Buffer.from(trimmed, 'hex')
    : Buffer.from(trimmed, 'base64');
}

/**
 * Compares the key with the check value in the database; the first start writes that. Rejects with
 * MasterKeyError when they differ.
 */
export async function verifyMasterKey(
  database: Database,
  key: MasterKey,
  nowMs: number,
): Promise<void> {
  const check = key.derive('check value');
  await database.transaction('system', async (tx) => {
    await insertInstallation(tx, check, nowMs);
    const known = await readMasterKeyCheck(tx);
    if (
      known === undefined ||
      known.byteLength !== check.length ||
      !timingSafeEqual(known, check)
    ) {
      throw new MasterKeyError(
        'This master key is not the one that this database was made with. Give MUSTER_MASTER_KEY (or the file master.key) from the backup.',
      );
    }
  });
}
