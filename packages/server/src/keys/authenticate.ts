// Turns the text of a key into its caller. One key stands for one tenant and one runner; nothing
// else in a request is trusted (contract §2). Verified keys are believed for limits.keyCacheMs, so
// a revocation is effective within a second on every node. Every refusal is null, with its reason
// in the log: callers answer the one 401.

import { timingSafeEqual } from 'node:crypto';
import type { BlockList } from 'node:net';
import { type KeyScope, limits, type Role } from '@muster/contract';
import type { Database } from '../db/db.ts';
import type { Clock } from '../lib/clock.ts';
import type { RunnerId, TenantId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import { allowList, isAllowed } from './allow-list.ts';
import { type KeyKind, parseKey } from './key.format.ts';
import { findCredential } from './keys.queries.ts';
import { factsOf, needsRotation, refusal } from './keys.rules.ts';
import { proveCandidate } from './keys.ts';
import { isUnproven } from './key.machine.ts';

export interface RunnerCaller {
  readonly kind: 'runner';
  readonly tenantId: TenantId;
  readonly runnerId: RunnerId;
  readonly keyId: string;
  readonly scopes: readonly KeyScope[];
  /** Whether the runner is paused: it claims nothing, and its held commands go on. */
  readonly paused: boolean;
  /** Whether the runner is paused and to be stopped when its work is done. */
  readonly draining: boolean;
  readonly rotateAdvised: boolean;
}

interface OperatorCaller {
  readonly kind: 'operator';
  readonly tenantId: TenantId;
  readonly keyId: string;
  readonly name: string;
  readonly role: Role;
}

export interface EnrolmentCaller {
  readonly kind: 'enrolment';
  readonly tenantId: TenantId;
  readonly keyId: string;
  readonly usesLeft: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The labels that the token's runners may ask for; null: any. */
  readonly allowedLabels: readonly string[] | null;
}

export type Caller = RunnerCaller | OperatorCaller | EnrolmentCaller;

type Credential = NonNullable<Awaited<ReturnType<typeof findCredential>>>;

interface Cached {
  readonly row: Credential;
  /** The caller that the row describes, parsed once. */
  readonly caller: Caller;
  /** Where the key is accepted from; null: anywhere. */
  readonly allowed: BlockList | null;
  readonly readAtMs: number;
}

/** Compared against when the key id is unknown, so that known and unknown keys cost the same. */
const NOBODY = Buffer.alloc(32);

/** Why a credential was refused: a closed set, because it labels a metric. */
type RefusalReason =
  | 'malformed'
  | 'unknown'
  | 'expired'
  | 'retired'
  | 'revoked'
  | 'runner revoked'
  | 'address'
  | 'scope';

const CACHE_KEYS_MAX = 100_000;

export class Authenticator {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #onRefused: (reason: RefusalReason) => void;
  readonly #cache = new Map<string, Cached>();
  readonly #lastUsed = new Map<string, { tenantId: string; at: number; from: string }>();

  constructor(
    database: Database,
    clock: Clock,
    log: Logger,
    /** Told of every refusal. */
    onRefused: (reason: RefusalReason) => void = () => {},
  ) {
    this.#onRefused = onRefused;
    this.#database = database;
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * The caller that presents this key, or null. Proves a candidate on its first use, before the
   * call goes on, so that the lifecycle never depends on what the call does. `from` is the peer
   * address, for "last used from".
   */
  async authenticate(text: string, kind: KeyKind, from: string): Promise<Caller | null> {
    const key = parseKey(text);
    if (key === null || key.kind !== kind) return this.#refuse('malformed', null, from);
    const nowMs = this.#clock.nowMs();
    const known = this.#fresh(key.keyId, nowMs) ?? (await this.#read(key.keyId, nowMs));
    const row = known?.row;
    const equal = timingSafeEqual(key.secretHash, row?.secret_hash ?? NOBODY);
    if (known === undefined || row === undefined || !equal)
      return this.#refuse('unknown', key.keyId, from);
    const reason = refusal(factsOf(row), nowMs);
    if (reason !== null) return this.#refuse(reason, key.keyId, from);
    if (known.allowed !== null && !isAllowed(known.allowed, from)) {
      return this.#refuse('address', key.keyId, from);
    }
    if (row.kind === 'runner' && row.runner_admin === 'revoked') {
      return this.#refuse('runner revoked', key.keyId, from);
    }
    if (row.kind === 'runner' && isUnproven(row.state)) {
      const proven = await proveCandidate(this.#database, row, nowMs);
      this.forget(row.runner_id);
      if (!proven) return this.#refuse('retired', key.keyId, from);
    }
    this.#lastUsed.set(row.key_id, { tenantId: row.tenant_id, at: nowMs, from });
    return known.caller;
  }

  /**
   * Drops what is remembered of a runner's keys (null: of all keys), after a change made on this
   * node.
   */
  forget(runnerId: string | null): void {
    for (const [keyId, { row }] of this.#cache) {
      if (runnerId === null || row.runner_id === runnerId) this.#cache.delete(keyId);
    }
  }

  /** The last use of each key since the last call; written with the flush of presence. */
  takeLastUsed(): {
    tenant_id: string;
    key_id: string;
    last_used_at: number;
    last_used_from: string;
  }[] {
    const rows = [...this.#lastUsed].map(([keyId, use]) => ({
      tenant_id: use.tenantId,
      key_id: keyId,
      last_used_at: use.at,
      last_used_from: use.from,
    }));
    this.#lastUsed.clear();
    return rows;
  }

  #fresh(keyId: string, nowMs: number): Cached | undefined {
    const cached = this.#cache.get(keyId);
    // A clock that was set back must not keep a revoked key alive.
    const fresh = cached !== undefined && Math.abs(nowMs - cached.readAtMs) < limits.keyCacheMs;
    return fresh ? cached : undefined;
  }

  async #read(keyId: string, nowMs: number): Promise<Cached | undefined> {
    const row = await findCredential(this.#database.system(), keyId);
    this.#cache.delete(keyId);
    if (row === undefined) return undefined;
    const allowed =
      row.allow_from === null ? null : allowList(JSON.parse(row.allow_from) as string[]);
    const read: Cached = { row, caller: caller(row, nowMs), allowed, readAtMs: nowMs };
    this.#cache.set(keyId, read);
    if (this.#cache.size > CACHE_KEYS_MAX) {
      const oldest = this.#cache.keys().next().value;
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    return read;
  }

  /** Logs that a good key lacks the scope for the endpoint it was used for. */
  outOfScope(keyId: string, from: string): void {
    this.#refuse('scope', keyId, from);
  }

  #refuse(reason: RefusalReason, keyId: string | null, from: string): null {
    this.#onRefused(reason);
    this.#log.info(
      { event: 'auth_refused', reason, key_id: keyId, from },
      'a credential was refused',
    );
    return null;
  }
}

function caller(row: Credential, nowMs: number): Caller {
  const tenantId = row.tenant_id as TenantId;
  switch (row.kind) {
    case 'runner':
      return {
        kind: 'runner',
        tenantId,
        runnerId: row.runner_id as RunnerId,
        keyId: row.key_id,
        scopes: row.scopes === null ? [] : (JSON.parse(row.scopes) as KeyScope[]),
        paused: row.runner_admin !== 'active',
        draining: row.runner_admin === 'draining',
        rotateAdvised: needsRotation(
          { createdAt: row.created_at, expiresAt: row.expires_at },
          nowMs,
        ),
      };
    case 'operator':
      return {
        kind: 'operator',
        tenantId,
        keyId: row.key_id,
        name: row.name,
        role: row.role ?? 'viewer',
      };
    case 'enrolment':
      return {
        kind: 'enrolment',
        tenantId,
        keyId: row.key_id,
        usesLeft: row.uses_left ?? 0,
        labels: row.labels === null ? {} : (JSON.parse(row.labels) as Record<string, string>),
        allowedLabels:
          row.allowed_labels === null ? null : (JSON.parse(row.allowed_labels) as string[]),
      };
  }
}
