// The one line that tells the effect of the last action ("Set to false positive: …"). The shell
// shows it in a live region, so that screen readers hear it too. It stays until the next action or
// until the operator goes to another page.

import { useSyncExternalStore } from 'react';

let notice = '';
const listeners = new Set<() => void>();

export function announce(text: string): void {
  notice = text;
  for (const listener of listeners) listener();
}

export function useNotice(): string {
  return useSyncExternalStore(subscribe, () => notice);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
