// Requests as queries: what is asked twice is sent once, and what is shown live is asked again while somebody looks.
import { QueryClient, keepPreviousData, useMutation, useQuery, useQueryClient } from "@tanstack/preact-query";
import { useCallback } from "preact/hooks";
import type { Call } from "./call";
import { ApiError, forgetAnswers, send } from "./client";

const isFinal = (error: Error) => error instanceof ApiError && error.status < 500;

export const queries = new QueryClient({
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

const keyOf = (call: Call<unknown>) => [call.path, call.body ?? null];

export function useApi<Reply>(call: Call<Reply>, { every, enabled = true, keep = false }: Options<Reply> = {}) {
  return useQuery<Reply>({
    queryKey: keyOf(call),
    queryFn: ({ signal }: { signal: AbortSignal }) => send(call, signal),
    enabled,
    refetchInterval: typeof every === "function" ? (query: { state: { data: unknown } }) => every(query.state.data as Reply | undefined) : (every ?? false),
    ...(keep ? { placeholderData: keepPreviousData as never } : {}),
  });
}

/** The options of a query, for useQueries(). */
export const queryOf = <Reply>(call: Call<Reply>, every: number | false = false) => ({
  queryKey: keyOf(call),
  queryFn: ({ signal }: { signal: AbortSignal }) => send(call, signal),
  refetchInterval: every,
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
