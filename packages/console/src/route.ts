// The operator's place, as the hash gives it: `#/findings`, `#/findings/<id>`,
// `#/findings?status=open`. All filters of a list stand there, so that the back button, bookmarks
// and shared links work.

import { useMemo, useSyncExternalStore } from 'react';

/** In the order of the navigation; the first page is the start. */
export const PAGES = ['fleet', 'findings', 'uploads', 'commands', 'assets'] as const;
export type PageName = (typeof PAGES)[number];

export interface Route {
  /** Null: there is no such page. */
  readonly page: PageName | null;
  readonly id: string | null;
  readonly filters: URLSearchParams;
}

type Filters = Readonly<Record<string, string | undefined>>;

function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [name = '', id] = path.split('/');
  const page = name === '' ? PAGES[0] : (PAGES.find((each) => each === name) ?? null);
  return {
    page,
    id: id === undefined || id === '' ? null : safeDecode(id),
    filters: new URLSearchParams(query),
  };
}

export function hrefTo(page: PageName, id: string | null = null, filters: Filters = {}): string {
  const path = id === null ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) {
    if (value !== undefined && value !== '') search.set(name, value);
  }
  const text = search.toString();
  return text === '' ? path : `${path}?${text}`;
}

export function goTo(page: PageName, id: string | null = null, filters: Filters = {}): void {
  location.hash = hrefTo(page, id, filters);
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(subscribe, () => location.hash);
  return useMemo(() => parseRoute(hash), [hash]);
}

/** The word if it is in the list; undefined for a word that somebody typed into the address. */
export function wordOf<const Word extends string>(
  words: readonly Word[],
  text: string | null,
): Word | undefined {
  return words.find((word) => word === text);
}

function safeDecode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    if (error instanceof URIError) return text;
    throw error;
  }
}

function subscribe(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}
