// Which metrics a trial has reported, by its summary, and how they are put into charts.
import type { DataPoint, DownsampledMetrics } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import type { Point } from "@shared/lib/series";

export interface MetricName {
  group: string;
  name: string;
}

/** The summary's names of groups, where they differ from those of reports. */
const GROUPS: Record<string, string> = { avg_metrics: "training", validation_metrics: "validation" };
const ORDER = ["validation", "training"];

const rank = (group: string) => (ORDER.includes(group) ? ORDER.indexOf(group) : ORDER.length);

/** Metrics that have numbers, validation first, by name. */
export function namesOf(summary: Record<string, unknown> | null): MetricName[] {
  return Object.entries(summary ?? {})
    .flatMap(([key, metrics]) => {
      if (metrics === null || typeof metrics !== "object") return [];
      return Object.entries(metrics as Record<string, { type?: string } | null>)
        .filter(([, value]) => value?.type === undefined || value.type === "number")
        .map(([name]) => ({ group: GROUPS[key] ?? key, name }));
    })
    .sort((a, b) => rank(a.group) - rank(b.group) || a.name.localeCompare(b.name) || a.group.localeCompare(b.group));
}

export interface NamedChart {
  name: string;
  series: { key: string; label: string; points: Point[] }[];
}

export type Axis = "batches" | "epoch" | "seconds" | "hours";
/** Where a point lies on the axis that was chosen; nothing if it does not say. */
function placeOf(p: DataPoint, axis: Axis, start: number): number | null {
  if (axis === "batches") return p.batches;
  if (axis === "epoch") return p.epoch === undefined ? null : Number(p.epoch);
  const seconds = p.time ? Date.parse(p.time) / 1000 - start : Number.NaN;
  return Number.isFinite(seconds) ? seconds / (axis === "hours" ? 3600 : 1) : null;
}

/** The axes on which these metrics have places. */
export function axesOf(metrics: DownsampledMetrics[]): Axis[] {
  const points = metrics.flatMap((m) => m.data.slice(0, 1));
  return ["batches", ...(points.some((p) => p.epoch !== undefined) ? ["epoch" as const] : []), ...(points.some((p) => p.time) ? ["seconds" as const, "hours" as const] : [])];
}

export function chartsOf(shown: string[], names: MetricName[], metrics: DownsampledMetrics[], axis: Axis = "batches", started: string | null = null): NamedChart[] {
  const start = started ? Date.parse(started) / 1000 : 0;
  const byGroup = new Map(metrics.map((m) => [m.group, m.data]));
  return shown.map((name) => ({
    name,
    series: names.filter((n) => n.name === name).map(({ group }) => ({
      key: group,
      label: plain(group),
      points: (byGroup.get(group) ?? []).flatMap((p): Point[] => { const x = placeOf(p, axis, start); return x !== null && p.values && name in p.values ? [[x, p.values[name]]] : []; }),
    })),
  }));
}
