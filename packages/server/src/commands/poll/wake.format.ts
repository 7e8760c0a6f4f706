// Hints between the processes that share a database: what changed, as ids only, many in one
// message. A hint that is lost or unreadable costs latency and nothing else, so reading a hint
// never fails.

type HintKind =
  /** A command may be claimed. */
  | 'ready'
  /** A runner was paused, or has a free slot: its waiting poll should look again. */
  | 'runner'
  /** A command has new log lines, or moved: its tails should look again. */
  | 'told';

export interface Hint {
  readonly kind: HintKind;
  readonly tenantId: string;
  /** The id of the command or of the runner. */
  readonly id: string;
}

const LETTERS = { ready: 'c', runner: 'r', told: 'l' } as const;
const KINDS: Readonly<Record<string, HintKind>> = { c: 'ready', r: 'runner', l: 'told' };

/**
 * PostgreSQL takes payloads of less than 8000 bytes (manual, NOTIFY). A hint has 74 bytes, the
 * sender's id 36.
 */
export const HINTS_MAX = 100;

const HINT = /^([crl])([0-9a-f-]{36})([0-9a-f-]{36})$/;

/**
 * Prints at most HINTS_MAX hints. `node` names the sender, so that a node can recognise its own
 * hints.
 */
export function hintsText(node: string, hints: readonly Hint[]): string {
  return [node, ...hints.map(({ kind, tenantId, id }) => LETTERS[kind] + tenantId + id)].join(' ');
}

/** Reads another node's message; null: the message is our own, or unreadable. */
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
