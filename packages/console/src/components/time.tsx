// Times in the reader's zone, with the exact instant in `title` and for machines. A relative time
// counts on by itself.

import { useSyncExternalStore } from 'react';
import { agoText, timeText } from '../format.ts';

export function Time({ iso }: { readonly iso: string }) {
  return (
    <time dateTime={iso} title={iso}>
      {timeText(iso)}
    </time>
  );
}

/** The time that has passed; it counts on while the page is open. */
export function Ago({ iso }: { readonly iso: string }) {
  const nowMs = useSyncExternalStore(everyTick, tick);
  return (
    <time dateTime={iso} title={iso}>
      {agoText(iso, nowMs)}
    </time>
  );
}

const TICK_MS = 1000;

/** Now, in whole seconds. */
export const tick = (): number => Math.floor(Date.now() / TICK_MS) * TICK_MS;

function everyTick(listener: () => void): () => void {
  const timer = setInterval(listener, TICK_MS);
  return () => clearInterval(timer);
}
