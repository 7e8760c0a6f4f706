// Hints between the processes that share a database: what changed, as ids only, many in one message. A hint that is
// lost, or that can't be read, costs latency and nothing else, so reading one never fails.

export type HintKind =
  /** A command may be claimed. */
  | 'ready'
  /** A runner was paused, or has a free slot: its waiting poll should look again. */
  | 'runner'
  /** A command has new log lines, or moved: who tails it should look again. */
  | 'told';

export interface Hint {
  readonly kind: HintKind;
  readonly tenantId: string;
  /** The command, or the runner. */
  readonly id: string;
}

const LETTERS = { ready: 'c', runner: 'r', told: 'l' } as const;
const KINDS: Readonly<Record<string, HintKind>> = { c: 'ready', r: 'runner', l: 'told' };

/** PostgreSQL takes payloads of less than 8000 bytes (manual, NOTIFY); a hint has 74, the sender's id 36. */
export const HINTS_MAX = 100;

const HINT = /^([crl])([0-9a-f-]{36})([0-9a-f-]{36})$/;

/** At most HINTS_MAX of them. `node` says whose they are, so that a node can tell its own. */
export function hintsText(node: string, hints: readonly Hint[]): string {
  return [node, ...hints.map(({ kind, tenantId, id }) => LETTERS[kind] + tenantId + id)].join(' ');
}

/** What another node said; null: our own words, or nothing that we understand. */
export function readHints(node: string, text: string): Hint[] | null {
  const [from, ...words] = text.split(' ');
  if (from === node) return null;
  const hints = words.flatMap((word): Hint[] => {
    const [, letter = '', tenantId = '', id = ''] = HINT.exec(word) ?? [];
    const kind = KINDS[letter];
    return kind === undefined ? [] : [{ kind, tenantId, id }];
  });
  return hints.length === 0 ? null : hints;
}
