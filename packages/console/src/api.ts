// The way to the server: the contract's typed client with this session's token, and the hooks with
// which pages read lists, read single things and change them. A 401 ends the session, wherever it
// happens. Only faults that may pass by themselves are retried.

import {
  ApiError,
  type CallInput,
  call,
  type Endpoint,
  endpoints,
  type ReplyOf,
} from '@muster/contract';
import {
  keepPreviousData,
  QueryClient,
  type UseQueryResult,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query';
import { useMemo } from 'react';
import { currentSession, endSession } from './session.ts';

/** The folder that this page was served from: the server may stand behind a path prefix. */
const BASE_URL = new URL('.', location.href).href.replace(/\/$/, '');

/**
 * The time after which a list that changes by itself is read again. Runners beat every 5 to 60 s: a
 * shorter time would show nothing new.
 */
export const REFRESH_MS = 5_000;

/**
 * Lists of which more than one page is loaded are read again less often: every page costs a
 * request.
 */
const REFRESH_LONG_MS = 20_000;

const RETRIES_MAX = 2;
const RETRY_DELAY_MS_MAX = 10_000;

/** Faults that may pass by themselves: no connection, and answers that the registry calls busy. */
export function isTransient(error: Error): boolean {
  return !(error instanceof ApiError) || error.status === 503 || error.status === 429;
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // The server may be on this machine: the browser's idea of being online says nothing about
      // it.
      networkMode: 'always',
      retry: (failures, error) => isTransient(error) && failures < RETRIES_MAX,
      retryDelay: (failures, error) => {
        const asked = error instanceof ApiError ? error.retryAfterSeconds : null;
        const delayMs = asked === null ? 1000 * 2 ** failures : asked * 1000;
        return Math.min(delayMs, RETRY_DELAY_MS_MAX);
      },
    },
    mutations: { networkMode: 'always' },
  },
});

/**
 * Calls an endpoint as the operator who is signed in. Rejects with ApiError, or as `fetch` does.
 */
export async function request<E extends Endpoint>(
  endpoint: E,
  input: CallInput<E> = {},
): Promise<ReplyOf<E>> {
  const { token } = currentSession();
  const options = token === null ? { baseUrl: BASE_URL } : { baseUrl: BASE_URL, key: token };
  try {
    return (await call(endpoint, input, options)).body;
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) {
      endSession(
        token,
        'The server no longer accepts your token: it has expired or was revoked. Sign in again.',
      );
      queryClient.clear();
    }
    throw error;
  }
}

type Me = ReplyOf<typeof endpoints.whoAmI>;

/** Asks who a token is before it becomes the session's. */
export async function whoIs(token: string): Promise<Me> {
  return (await call(endpoints.whoAmI, {}, { baseUrl: BASE_URL, key: token })).body;
}

export const ME_KEY = ['me'] as const;

/** The operator who is signed in. */
export function useMe(): UseQueryResult<Me> {
  return useQuery({
    queryKey: ME_KEY,
    queryFn: ({ signal }) => request(endpoints.whoAmI, { signal }),
    staleTime: 60_000,
  });
}

/**
 * Viewers read; analysts and admins change findings and commands (contract, `auth` of the
 * endpoints).
 */
export function useMayChange(): boolean {
  const role = useMe().data?.role;
  return role === 'analyst' || role === 'admin';
}

/** Admins also act on runners and keys. */
export function useIsAdmin(): boolean {
  return useMe().data?.role === 'admin';
}

interface PageReply<Item> {
  readonly items: Item[];
  readonly next: string | null;
}

export interface List<Item> {
  /** Undefined until the first page has come. */
  readonly items: Item[] | undefined;
  readonly error: Error | null;
  readonly hasMore: boolean;
  readonly isLoadingMore: boolean;
  /** The items match the previous filters; new ones are on their way. */
  readonly isStale: boolean;
  readonly loadMore: () => void;
  readonly retry: () => void;
}

/**
 * A list, page by page. `key` names it and everything that `load` depends on; with `refreshMs` all
 * its pages are read again that often.
 */
export function useList<Item>(
  key: readonly unknown[],
  load: (page: { readonly after?: string }, signal: AbortSignal) => Promise<PageReply<Item>>,
  refreshMs: number | false = false,
): List<Item> {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam, signal }) =>
      load(pageParam === null ? {} : { after: pageParam }, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => {
      if (refreshMs === false) return false;
      return (state.data?.pages.length ?? 0) > 1 ? REFRESH_LONG_MS : refreshMs;
    },
  });
  const { data } = query;
  const items = useMemo(() => data?.pages.flatMap((page) => page.items), [data]);
  return {
    items,
    error: query.error,
    hasMore: query.hasNextPage,
    isLoadingMore: query.isFetchingNextPage,
    isStale: query.isPlaceholderData,
    loadMore: () => void query.fetchNextPage(),
    retry: () => void query.refetch(),
  };
}

/**
 * One thing; with `refreshMs` it is read again that often, as long as `refreshMs` gives a number
 * for the last reply.
 */
export function useOne<Item>(
  key: readonly unknown[],
  load: (signal: AbortSignal) => Promise<Item>,
  refreshMs: (item: Item | undefined) => number | false = () => false,
): UseQueryResult<Item> {
  return useQuery({
    queryKey: key,
    queryFn: ({ signal }) => load(signal),
    refetchInterval: ({ state }) => refreshMs(state.data),
  });
}

/** A change; when it succeeded, everything whose key begins with one of `stale` is read again. */
export function useChange<Input, Output>(
  change: (input: Input) => Promise<Output>,
  stale: readonly string[],
  onDone: (output: Output) => void,
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: (output) => {
      for (const name of stale) void client.invalidateQueries({ queryKey: [name] });
      onDone(output);
    },
  });
}

/** Names of runners by id, for lists that carry ids. */
export function useRunnerNames(): ReadonlyMap<string, string> {
  const { data } = useQuery({
    queryKey: ['runner-names'],
    queryFn: ({ signal }) => request(endpoints.listRunners, { query: { limit: '250' }, signal }),
    staleTime: 30_000,
  });
  return useMemo(() => new Map(data?.items.map((runner) => [runner.id, runner.name])), [data]);
}
