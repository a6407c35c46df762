// Which metrics a trial has reported, by its summary, and how they are put into charts.
import type { DownsampledMetrics } from "@shared/api/routes.gen";
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

export function chartsOf(shown: string[], names: MetricName[], metrics: DownsampledMetrics[]): NamedChart[] {
  const byGroup = new Map(metrics.map((m) => [m.group, m.data]));
  return shown.map((name) => ({
    name,
    series: names.filter((n) => n.name === name).map(({ group }) => ({
      key: group,
      label: plain(group),
      points: (byGroup.get(group) ?? []).flatMap((p): Point[] => (p.values && name in p.values ? [[p.batches, p.values[name]]] : [])),
    })),
  }));
}
