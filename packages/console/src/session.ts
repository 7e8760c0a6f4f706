// The signed-in operator: the token, in this tab's sessionStorage and nowhere else, and why the
// last session ended. A small store that React subscribes to; api.ts ends the session when the
// server refuses the token.

import { useSyncExternalStore } from 'react';

interface Session {
  readonly token: string | null;
  /** Why there is no token any more, for the sign-in page; null when nobody has been signed out. */
  readonly ended: string | null;
}

const STORAGE_NAME = 'muster.operator-token';

let session: Session = { token: sessionStorage.getItem(STORAGE_NAME), ended: null };
const listeners = new Set<() => void>();

export const currentSession = (): Session => session;

export function beginSession(token: string): void {
  sessionStorage.setItem(STORAGE_NAME, token);
  change({ token, ended: null });
}

/**
 * Forgets the token. Does nothing if `token` is no longer the one in use: its late answer must not
 * end a new session.
 */
export function endSession(token: string | null, reason: string): void {
  if (session.token === null || session.token !== token) return;
  sessionStorage.removeItem(STORAGE_NAME);
  change({ token: null, ended: reason });
}

export function useSession(): Session {
  return useSyncExternalStore(subscribe, currentSession);
}

function change(next: Session): void {
  session = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
