// The truth of the simulated world: the database's rows after each step, beside the answers that
// each runner got and the acts of each server. The invariants read this and nothing else; no
// server's memory is looked into.

import type { Database, Db } from '../../src/db/db.ts';
import type {
  ApiKeyTable,
  CommandAttemptTable,
  CommandTable,
  RunnerTable,
} from '../../src/db/tables.ts';
import type { World } from './world.ts';

export type CommandFacts = Pick<
  CommandTable,
  | 'id'
  | 'status'
  | 'runner_id'
  | 'holder_id'
  | 'attempt'
  | 'lease_until'
  | 'result'
  | 'error_message'
  | 'reason'
>;
export type AttemptFacts = Pick<
  CommandAttemptTable,
  'command_id' | 'attempt' | 'runner_id' | 'ended_at' | 'outcome'
>;
export type KeyFacts = Pick<
  ApiKeyTable,
  | 'key_id'
  | 'runner_id'
  | 'uses_left'
  | 'state'
  | 'parent_key_id'
  | 'created_by'
  | 'expires_at'
  | 'retires_at'
  | 'first_used_at'
>;
export type RunnerFacts = Pick<
  RunnerTable,
  'id' | 'name' | 'admin' | 'presence' | 'interval_ms' | 'created_by'
>;

/** The tenant's rows at one moment. */
export interface Rows {
  readonly commands: ReadonlyMap<string, CommandFacts>;
  readonly attempts: ReadonlyMap<string, AttemptFacts>;
  readonly keys: ReadonlyMap<string, KeyFacts>;
  readonly runners: ReadonlyMap<string, RunnerFacts>;
}

/**
 * A runner's words about its work, stored as result or error message, so that every stored word has
 * a known speaker.
 */
export interface Words {
  readonly runnerId: string;
  /** The attempt that the runner was told it has; null: it never claimed the command. */
  readonly attempt: number | null;
  /** Whether the runner sent `attempt`. */
  readonly isFenced: boolean;
  readonly serial: number;
}

/** One life of a server process: signs that it gathered and had not written die with it. */
export interface Life {
  isOver: boolean;
  /** Signs of life up to then are in the database. */
  flushedAt: number;
}

export interface Release {
  readonly commandId: string;
  readonly runnerId: string;
  /** The attempt that the release named, if any. */
  readonly fence: number | undefined;
}

/** The events of the last step, beside what the rows say. */
export interface Events {
  readonly claims: {
    readonly commandId: string;
    readonly attempt: number;
    readonly runnerId: string;
  }[];
  readonly completions: { readonly commandId: string; readonly serial: number }[];
  readonly accepted: { readonly keyId: string; readonly presentedAt: number }[];
  readonly refused: { readonly keyId: string; readonly nodeMs: number }[];
  readonly enrolled: {
    readonly machine: string;
    readonly runnerId: string;
    readonly keyId: string;
  }[];
  /** Refused with an enrolment token. */
  readonly turnedAway: {
    readonly machine: string;
    readonly tokenId: string;
    readonly nodeMs: number;
  }[];
}

const noEvents = (): Events => ({
  claims: [],
  completions: [],
  accepted: [],
  refused: [],
  enrolled: [],
  turnedAway: [],
});

/**
 * A runner's knowledge: the keys it was given since, and including, the last one that was answered
 * well.
 */
export interface Keyring {
  readonly runnerId: string;
  readonly keyIds: () => readonly string[];
}

/** One moment, as the invariants see it. */
export interface Moment {
  readonly nowMs: number;
  /** The fastest clock of a server. */
  readonly latestMs: number;
  readonly before: Rows;
  readonly rows: Rows;
  readonly events: Events;
  readonly ledger: Ledger;
}

export class Ledger {
  readonly keyrings: Keyring[] = [];
  /** For each runner, its signs of life that a server took in, newest last. */
  readonly signs = new Map<string, { readonly at: number; readonly life: Life }[]>();
  /** For each key, the time since which the database has it as revoked. */
  readonly revokedSince = new Map<string, number>();
  /** For each attempt, the runner that was told to have it. */
  readonly claimedBy = new Map<string, string>();
  /** For each enrolment token, the number of runners it is for. */
  readonly tokens = new Map<string, number>();
  /** For each machine, the runner that it was told to be. */
  readonly enrolledAs = new Map<string, string>();
  /** Keys, and runners with all their keys, that an operator wanted to end. */
  readonly asked = new Set<string>();
  /** Every release that a server took in. */
  readonly releases: Release[] = [];
  /** Until then the servers' clocks disagreed by more than presence can bear. */
  disagreeUntil = 0;
  #rows: Rows = { commands: new Map(), attempts: new Map(), keys: new Map(), runners: new Map() };
  #events = noEvents();
  #isDue = false;
  readonly #dirty = new Set<string>(['command', 'api_key', 'runner']);
  readonly #database: Database;
  readonly #tenantId: string;
  readonly #queries: ReturnType<typeof queriesOf>;
  readonly #world: World;

  constructor(database: Database, tenantId: string, world: World) {
    this.#database = database;
    this.#tenantId = tenantId;
    this.#queries = queriesOf(database.tenant(tenantId), tenantId);
    this.#world = world;
  }

  get rows(): Rows {
    return this.#rows;
  }

  get events(): Events {
    return this.#events;
  }

  wrote(table: string): void {
    this.#dirty.add(table === 'command_attempt' ? 'command' : table);
  }

  sign(runnerId: string, life: Life): void {
    const signs = this.signs.get(runnerId) ?? [];
    signs.push({ at: this.#world.nowMs, life });
    // Nobody asks about more than the last minutes.
    while ((signs[0]?.at ?? Infinity) < this.#world.nowMs - 300_000) signs.shift();
    this.signs.set(runnerId, signs);
  }

  /** A server judged its knowledge by its clock: checks that depend on time alone are due, too. */
  judged(): void {
    this.#isDue = true;
  }

  /** Reads the rows that changed. Null: none did, and no answer was given. */
  async look(latestMs: number): Promise<Moment | null> {
    const events = this.#events;
    const said = Object.values(events).some((list: readonly unknown[]) => list.length > 0);
    if (!said && !this.#isDue && this.#dirty.size === 0) return null;
    this.#isDue = false;
    const before = this.#rows;
    const read = await this.#read();
    this.#rows = { ...before, ...read };
    this.#dirty.clear();
    this.#events = noEvents();
    const { nowMs } = this.#world;
    return { nowMs, latestMs, before, rows: this.#rows, events, ledger: this };
  }

  async #read(): Promise<Partial<Rows>> {
    const db = this.#database.tenant(this.#tenantId);
    const read: { -readonly [Name in keyof Rows]?: Rows[Name] } = {};
    if (this.#dirty.has('command')) {
      const { rows: commands } = await db.executeQuery(this.#queries.commands);
      const { rows: attempts } = await db.executeQuery(this.#queries.attempts);
      read.commands = new Map(commands.map((row) => [row.id, row]));
      read.attempts = new Map(attempts.map((row) => [`${row.command_id} ${row.attempt}`, row]));
    }
    if (this.#dirty.has('api_key')) {
      const { rows: keys } = await db.executeQuery(this.#queries.keys);
      read.keys = new Map(keys.map((row) => [row.key_id, row]));
      for (const { key_id: id, state } of keys) {
        if (state === 'revoked' && !this.revokedSince.has(id)) {
          this.revokedSince.set(id, this.#world.nowMs);
        }
      }
    }
    if (this.#dirty.has('runner')) {
      const { rows: runners } = await db.executeQuery(this.#queries.runners);
      read.runners = new Map(runners.map((row) => [row.id, row]));
    }
    return read;
  }
}

/** Made once for all steps: building the queries each time cost more than running them. */
const queriesOf = (db: Db, tenantId: string) => ({
  commands: db
    .selectFrom('command')
    .select(['id', 'status', 'runner_id', 'holder_id', 'attempt', 'lease_until'])
    .select(['result', 'error_message', 'reason'])
    .where('tenant_id', '=', tenantId)
    .orderBy('id')
    .compile(),
  attempts: db
    .selectFrom('command_attempt')
    .select(['command_id', 'attempt', 'runner_id', 'ended_at', 'outcome'])
    .where('tenant_id', '=', tenantId)
    .compile(),
  keys: db
    .selectFrom('api_key')
    .select(['key_id', 'runner_id', 'state', 'parent_key_id', 'created_by'])
    .select(['expires_at', 'retires_at', 'first_used_at', 'uses_left'])
    .where('tenant_id', '=', tenantId)
    // By creation: their ids don't follow from the seed, so actors that choose by the order of ids
    // would choose differently.
    .orderBy('created_at')
    .compile(),
  runners: db
    .selectFrom('runner')
    .select(['id', 'name', 'admin', 'presence', 'interval_ms', 'created_by'])
    .where('tenant_id', '=', tenantId)
    .orderBy('id')
    .compile(),
});

/**
 * The words of a stored result or error message; null: there are none, or no runner of this world
 * said them.
 */
export function wordsOf(text: string | null): Words | null {
  if (text === null || !text.startsWith('{')) return null;
  return JSON.parse(text) as Words;
}
