// The use of slots, from the master's tables of usage (docs/spec/usage.md). The tables are CSV, not messages of the API.
import { useQuery } from "@tanstack/preact-query";
import { text } from "@shared/api/client";
import { root } from "@shared/lib/address";
import { readCsv } from "@shared/lib/csv";

export type By = "username" | "workspace" | "experiment" | "resource_pool" | "experiment_label" | "task_type" | "agent";
export type Period = "DAILY" | "MONTHLY";

/** A span of days, such as "2026-11-23", in UTC; the first and the last day belong to it. */
export interface Days {
  first: string;
  last: string;
  period: Period;
}

export interface Summary {
  date: string;
  pool: string;
  used: number;
  available: number;
  failed: number;
  /** nothing: the pool has no price */
  cost: number | null;
}

export interface Share {
  date: string;
  key: string;
  used: number;
  failed: number;
  cost: number | null;
}

const pathOf = ({ first, last, period }: Days, by?: By) => {
  const cut = (day: string) => (period === "MONTHLY" ? day.slice(0, 7) : day);
  const query = new URLSearchParams({ start_date: cut(first), end_date: cut(last), period: `RESOURCE_ALLOCATION_AGGREGATION_PERIOD_${period}`, ...(by ? { by } : {}) });
  return `resources/allocation/summary?${query}`;
};

/** Where the table can be downloaded as it is. */
export const linkOf = (days: Days, by?: By) => new URL(pathOf(days, by), root).href;

const cost = (value: string | undefined) => (value ? Number(value) : null);
const ofSummary = (r: Record<string, string>): Summary => ({ date: r.date!, pool: r.resource_pool!, used: Number(r.used_slot_hours), available: Number(r.available_slot_hours) || 0, failed: Number(r.failed_slot_hours), cost: cost(r.cost) });
const ofShare = (r: Record<string, string>): Share => ({ date: r.date!, key: r.key!, used: Number(r.used_slot_hours), failed: Number(r.failed_slot_hours), cost: cost(r.cost) });

const EVERY_MS = 60_000;

function useTable<Row>(path: string, of: (row: Record<string, string>) => Row) {
  return useQuery<Row[]>({ queryKey: [path], queryFn: ({ signal }: { signal: AbortSignal }) => text(path, signal).then((csv) => readCsv(csv).map(of)), refetchInterval: EVERY_MS });
}

/** The slot-hours that were available and used, for each day and pool. */
export const useSummary = (days: Days) => useTable(pathOf(days), ofSummary);
/** The slot-hours that were used, for each day and user (or whatever `by` names). */
export const useShares = (days: Days, by: By) => useTable(pathOf(days, by), ofShare);

// ---- sums ----

const DAY_MS = 86_400_000;
export const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** The last n days, today included; more than a quarter of a year is divided into months. */
export function lastDays(n: number, nowMs: number): Days {
  return { first: dayOf(nowMs - (n - 1) * DAY_MS), last: dayOf(nowMs), period: n > 92 ? "MONTHLY" : "DAILY" };
}

/** All days (or months) of a span, also those without a line. */
export function datesOf({ first, last, period }: Days): string[] {
  const dates: string[] = [];
  for (let ms = Date.parse(first); ms <= Date.parse(last); ms += DAY_MS) {
    const date = period === "MONTHLY" ? dayOf(ms).slice(0, 7) : dayOf(ms);
    if (dates.at(-1) !== date) dates.push(date);
  }
  return dates;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** "2026-11-23" as "23 Nov", "2026-11" as "Nov 2026". */
export function dayName(date: string | undefined): string {
  const [year, month, day] = (date ?? "").split("-");
  if (!month) return "";
  return day ? `${Number(day)} ${MONTHS[Number(month) - 1]}` : `${MONTHS[Number(month) - 1]} ${year}`;
}

const add = (a: number | null, b: number | null) => (a === null && b === null ? null : (a ?? 0) + (b ?? 0));

export interface Total {
  key: string;
  used: number;
  failed: number;
  cost: number | null;
  byDate: Map<string, number>;
}

/** Sums of each key over all dates, the largest first. */
export function totalsOf(shares: Share[]): Total[] {
  const totals = new Map<string, Total>();
  for (const s of shares) {
    const t = totals.get(s.key) ?? { key: s.key, used: 0, failed: 0, cost: null, byDate: new Map<string, number>() };
    t.used += s.used;
    t.failed += s.failed;
    t.cost = add(t.cost, s.cost);
    t.byDate.set(s.date, (t.byDate.get(s.date) ?? 0) + s.used);
    totals.set(s.key, t);
  }
  return [...totals.values()].sort((a, b) => b.used - a.used || a.key.localeCompare(b.key));
}

export function wholeOf(rows: Summary[]) {
  const sum = (of: (row: Summary) => number) => rows.reduce((all, row) => all + of(row), 0);
  const [used, available] = [sum((r) => r.used), sum((r) => r.available)];
  return { used, available, failed: sum((r) => r.failed), cost: rows.reduce((all, r) => add(all, r.cost), null as number | null), idle: available > 0 ? Math.max(0, 1 - used / available) : null };
}
