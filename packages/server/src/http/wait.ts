// Finds out how long a caller is willing to wait for an answer, and when the caller has gone in the
// meantime. For long polls: the stories get a number and a signal, and know nothing of HTTP.

import type { FastifyRequest } from 'fastify';

interface WaitWish {
  readonly ms: number;
  /** `Preference-Applied`, when the wish came by `Prefer`. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * `?wait=n`, otherwise `Prefer: wait=n` (RFC 7240 §4.3), in seconds. More than `secondsMax` becomes
 * `secondsMax`; an unreadable value becomes 0.
 */
export function waitOf(
  query: string | undefined,
  request: FastifyRequest,
  secondsMax: number,
): WaitWish {
  const preferred = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})/i.exec(
    [request.headers['prefer'] ?? []].flat().join(','),
  )?.[1];
  const seconds = Math.min(Number(query ?? preferred ?? 0), secondsMax);
  const applied = query === undefined && preferred !== undefined;
  return {
    ms: seconds > 0 ? seconds * 1000 : 0,
    headers: applied ? { 'preference-applied': `wait=${seconds}` } : {},
  };
}

/**
 * Runs `answer` with a signal that aborts when the connection ends. No listener is left on the
 * connection afterwards, because it serves other requests.
 */
export async function whileConnected<T>(
  request: FastifyRequest,
  answer: (gone: AbortSignal) => Promise<T>,
): Promise<T> {
  const { socket } = request.raw;
  const hungUp = new AbortController();
  const hangUp = (): void => hungUp.abort();
  socket.once('close', hangUp);
  try {
    if (socket.destroyed) hangUp();
    return await answer(hungUp.signal);
  } finally {
    socket.off('close', hangUp);
  }
}
