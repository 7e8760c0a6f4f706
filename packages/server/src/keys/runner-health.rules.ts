// The health that a runner says of itself (contract §3, `health`), from the members of its
// heartbeats as they are stored. Health stands beside presence: a runner that is online may be
// unwell, and one that is offline may have said why. Pure.

import type { Runner } from '@muster/contract/plain';

type Health = Pick<Runner, 'health' | 'health_message'>;

/** The words of heartbeats (RP §4.1) that mean trouble; every other one means that all is well. */
const UNWELL: ReadonlyMap<string, 'degraded' | 'error'> = new Map([
  ['degraded', 'degraded'],
  ['error', 'error'],
]);

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

/** The members of its heartbeats; null: it has not sent one yet. */
export const reportedOf = (row: {
  readonly reported: string | null;
}): Readonly<Record<string, unknown>> | null =>
  row.reported === null ? null : (JSON.parse(row.reported) as Record<string, unknown>);

/** What these members say. */
export function healthOf(reported: Readonly<Record<string, unknown>> | null): Health {
  const [status, message] = [textOf(reported?.['status']), textOf(reported?.['message'])];
  if (status === '') return { health: null, health_message: null };
  return {
    health: UNWELL.get(status.toLowerCase()) ?? 'ok',
    health_message: message === '' ? null : message,
  };
}
