// A long list, read in pages as they come into sight.
import { useQueries } from "@tanstack/preact-query";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Call } from "./call";
import { send } from "./client";
import { askAtOnce, queryOf } from "./query";
import { count } from "@shared/lib/format";
import { say } from "@shared/ui/Toast";

export const PAGE = 100;
const EVERY_MS = 5000;
/** More rows than this are not in one file. */
const SAVED_MAX = 10_000;

interface Reply {
  pagination: { total: number } | null;
}

/** `call` asks for a page, `of` takes the rows out of its reply; `list` says which list it is: its total is not that of another. */
export function useRows<R extends Reply, Row>(list: unknown, call: (offset: number) => Call<R>, of: (reply: R) => Row[], every = EVERY_MS) {
  const [[first, last], setSight] = useState<[number, number]>([0, 0]);
  const pages = useMemo(() => Array.from({ length: last - first + 1 }, (_, i) => first + i), [first, last]);
  // A list that is scrolled within its pages is not drawn again because of it.
  const onSight = (a: number, b: number) => {
    const [from, to] = [Math.floor(a / PAGE), Math.floor(b / PAGE)];
    setSight((now) => (now[0] === from && now[1] === to ? now : [from, to]));
  };
  const [before, setBefore] = useState<number | null>(null);
  if (before === null) askAtOnce(queryOf(call(0)));
  const results = useQueries({ queries: pages.map((page) => queryOf(call(page * PAGE), every)) });
  const answered = results.find((result) => result.data)?.data?.pagination?.total;
  // In this order: the answer of a list that was read before is there when the total of the other list is forgotten.
  useEffect(() => setBefore(null), [list]);
  useEffect(() => { if (answered !== undefined) setBefore(answered); }, [list, answered]);
  // While pages that have not been read yet are in sight, the total is that of the pages before.
  const total = answered ?? before;
  const at = (index: number): Row | undefined => { const reply = results[pages.indexOf(Math.floor(index / PAGE))]?.data; return reply && of(reply)[index % PAGE]; };
  /** the rows of the pages in sight */
  const inSight = results.flatMap((result) => (result.data ? of(result.data) : []));
  return { total, at, inSight, error: results.find((result) => result.error)?.error ?? null, onSight, isPending: total === null && results.some((r) => r.isPending) };
}

/** The rows of a list for a file, from the first on. Says so if the file does not have all of them. */
export async function rowsForFile<R extends Reply, Row>(call: (offset: number, limit: number) => Call<R>, of: (reply: R) => Row[]): Promise<Row[]> {
  const reply = await send(call(0, SAVED_MAX));
  const rows = of(reply);
  if ((reply.pagination?.total ?? 0) > rows.length) say(`The file has the first ${count(rows.length, "row")} of the list; filter the list for the others.`, { bad: true });
  return rows;
}
