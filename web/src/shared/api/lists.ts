// Whole lists, for choosing from and for tables that are searched in the browser: read page by page, so that none is cut without a word.
import { useQuery } from "@tanstack/preact-query";
import type { Call } from "./call";
import { send } from "./client";
import { askAtOnce, kept, keyOf, whenAgain } from "./query";
import * as api from "./routes.gen";

const PAGE = 500;
/** A list of several pages is asked for no more often than this. */
const LONG_EVERY_MS = 20_000;
/** More rows than this are not read; the page then says so. */
export const ALL_MAX = 20_000;

interface Reply {
  pagination: { total: number } | null;
}

interface Options {
  every?: number;
  enabled?: boolean;
  /** whether the last answer stays on the screen while another one is under way */
  keep?: boolean;
}

export interface All<Row> {
  rows: Row[];
  total: number;
}

/** Reads the pages of a list one after another until there is no more. */
export async function readAll<R extends Reply, Row>(call: (offset: number, limit: number) => Call<R>, of: (reply: R) => Row[], read: (call: Call<R>) => Promise<R>): Promise<All<Row>> {
  const rows: Row[] = [];
  for (;;) {
    const reply = await read(call(rows.length, PAGE));
    const more = of(reply);
    rows.push(...more);
    const total = Math.max(reply.pagination?.total ?? 0, rows.length);
    if (more.length === 0 || rows.length >= total || rows.length >= ALL_MAX) return { rows, total };
  }
}

/** How often to ask for a list that had so many rows the last time. */
export function intervalOf(total: number, every?: number): number | false {
  if (every === undefined) return false;
  return total > PAGE ? Math.max(every, LONG_EVERY_MS) : every;
}

/** A whole list. `call` asks for a page, `of` takes the rows out of its reply. */
export function useAll<R extends Reply, Row>(call: (offset: number, limit: number) => Call<R>, of: (reply: R) => Row[], { every, enabled = true, keep = false }: Options = {}) {
  const asking = { queryKey: [...keyOf(call(0, PAGE)), "all"], queryFn: ({ signal }: { signal: AbortSignal }) => readAll(call, of, (one) => send(one, signal)) };
  if (enabled) askAtOnce(asking);
  const { data, error } = useQuery<All<Row>>({
    ...asking,
    enabled,
    refetchInterval: (query: { state: { data: All<Row> | undefined; dataUpdatedAt: number; error: Error | null } }) => whenAgain(query, intervalOf(query.state.data?.total ?? 0, every)),
    ...kept(keep),
  });
  return { rows: data?.rows, total: data?.total ?? 0, error };
}

export const useWorkspaces = (wanted: Parameters<typeof api.getWorkspaces>[0] = {}, options?: Options) => useAll((offset, limit) => api.getWorkspaces({ ...wanted, offset, limit }), (reply) => reply.workspaces, options);
export const useProjects = (wanted: { archived?: boolean } = {}, options?: Options) => useAll((offset, limit) => api.getWorkspaceProjects({ id: 0, ...wanted, offset, limit }), (reply) => reply.projects, options);
export const useUsers = (wanted: Parameters<typeof api.getUsers>[0] = {}, options?: Options) => useAll((offset, limit) => api.getUsers({ ...wanted, offset, limit }), (reply) => reply.users, options);
export const useGroups = (options?: Options) => useAll((offset, limit) => api.getGroups({ offset, limit }), (reply) => reply.groups.filter(({ group }) => group), options);
export const useTemplates = (options?: Options) => useAll((offset, limit) => api.getTemplates({ offset, limit }), (reply) => reply.templates, options);
