// Requests as queries: what is asked twice is sent once, and what is shown live is asked again while somebody looks.
import { keepPreviousData, MutationCache, QueryCache, QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/preact-query";
import { useCallback } from "preact/hooks";
import type { Call } from "./call";
import { ApiError, AwayError, forgetAnswers, send } from "./client";
import { isTold } from "./updates";

/** What is refused stays refused; a master that is away is asked again at the pace below. */
const isFinal = (error: Error) => error instanceof AwayError || (error instanceof ApiError && error.status < 500);
const AWAY_EVERY_MS = 3000;

/** Who is told that the session has ended, or nothing at all, asks at once who is signed in: the answer opens the sign-in, or says that the master is away. */
const noticeEnd = (error: Error) => {
  if (error instanceof AwayError || (error instanceof ApiError && error.status === 401)) void queries.invalidateQueries({ queryKey: [ME] });
};
export const ME = "api/v1/me";

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, query) => query.queryKey[0] !== ME && noticeEnd(error) }),
  mutationCache: new MutationCache({ onError: noticeEnd }),
  defaultOptions: {
    queries: {
      staleTime: 1000,
      retry: (failures, error) => !isFinal(error) && failures < 2,
      // TanStack Query asks again by itself when the page is shown again, and not while it is hidden.
      refetchIntervalInBackground: false,
      refetchOnWindowFocus: true,
    },
  },
});

interface Options<Reply> {
  /** how often to ask again, in ms; a function decides by the last answer */
  every?: number | ((reply: Reply | undefined) => number | false);
  enabled?: boolean;
  /** whether the last answer stays on the screen while another request (a page, a filter) is under way */
  keep?: boolean;
}

/** After so many answers that say the same the page asks more seldom, up to so many times the usual interval; after a new one as often as before. */
const STEADY_AFTER = 3;
const STEADY_TIMES = 2.5;
/** The same of what the master tells of by itself. What somebody does who came after the subscription (live.ts) is still seen at this pace. */
const TOLD_TIMES = 6;
interface Seen { data: unknown; at: number; same: number }
const seen = new WeakMap<object, Seen>();

export function paced(query: { queryKey?: readonly unknown[]; state: { data?: unknown; dataUpdatedAt: number } }, usual: number | false): number | false {
  const { data, dataUpdatedAt: at } = query.state;
  const last = seen.get(query) ?? { data: undefined, at: 0, same: 0 };
  if (at !== last.at) seen.set(query, { data, at, same: data === last.data ? last.same + 1 : 0 });
  const same = seen.get(query)?.same ?? 0;
  if (usual === false) return false;
  return isTold(String(query.queryKey?.[0])) ? usual * TOLD_TIMES : usual * Math.min(STEADY_TIMES, Math.max(1, 1 + (same - STEADY_AFTER) / 2));
}

export const keyOf = (call: Call<unknown>) => [call.path, call.body ?? null];

/** When to ask again: at the usual interval, more seldom while nothing changes, and at another one while the master is away. */
export function whenAgain(query: { queryKey?: readonly unknown[]; state: { data?: unknown; dataUpdatedAt: number; error: Error | null } }, usual: number | false): number | false {
  return query.state.error instanceof AwayError ? AWAY_EVERY_MS : paced(query, usual);
}

/** The option by which the last answer stays on the screen while another one is under way. */
export const kept = (keep: boolean) => (keep ? { placeholderData: keepPreviousData as never } : {});

/** Sends a request that nobody has sent yet. The hooks below would send it after the next frame only, and pages read several things one after another. */
export function askAtOnce(options: { queryKey: unknown[]; queryFn: (context: { signal: AbortSignal }) => Promise<unknown> }): void {
  if (!queries.getQueryState(options.queryKey)) void queries.prefetchQuery(options);
}

export function useApi<Reply>(call: Call<Reply>, { every, enabled = true, keep = false }: Options<Reply> = {}) {
  const asking = queryOf(call);
  if (enabled) askAtOnce(asking);
  return useQuery<Reply>({
    ...asking,
    enabled,
    refetchInterval: (query: { state: { data: unknown; dataUpdatedAt: number; error: Error | null } }) => {
      const usual = typeof every === "function" ? every(query.state.data as Reply | undefined) : (every ?? false);
      return whenAgain(query, usual);
    },
    ...kept(keep),
  });
}

/** The options of a query, for useQueries(). */
export const queryOf = <Reply>(call: Call<Reply>, every: number | false = false) => ({
  queryKey: keyOf(call),
  queryFn: ({ signal }: { signal: AbortSignal }) => send(call, signal),
  refetchInterval: (query: { state: { data?: unknown; dataUpdatedAt: number } }) => paced(query, every),
});

/** A request that changes something; afterwards everything on the screen is asked again. */
export function useChange<Input, Reply>(make: (input: Input) => Call<Reply>) {
  const client = useQueryClient();
  return useMutation<Reply, Error, Input>({
    mutationFn: (input: Input) => send(make(input)),
    onSuccess: () => client.invalidateQueries(),
  });
}

/** Forgets all that was read, for another user. */
export function useForgetting() {
  const client = useQueryClient();
  return useCallback(() => {
    forgetAnswers();
    client.clear();
  }, [client]);
}
