// A profile as it is drawn: samples in buckets of time, and timings as shares of a batch.
import type { Point } from "@shared/lib/series";

export interface Samples {
  name: string;
  agent: string;
  gpu: string;
  kind: "system" | "timing" | "misc";
  /** seconds since the trial began to report, and the value then */
  points: [number, number][];
  batches: number[];
}

export interface Share {
  name: string;
  /** seconds per batch */
  mean: number;
  share: number;
}

const BUCKETS = 600;

/** As many points as a chart has pixels: the mean of each stretch. */
export function thinned(points: [number, number][], max = BUCKETS): Point[] {
  if (points.length <= max) return points;
  const size = points.length / max;
  return Array.from({ length: max }, (_, i): Point => {
    const part = points.slice(Math.floor(i * size), Math.max(Math.floor(i * size) + 1, Math.floor((i + 1) * size)));
    const mean = (of: 0 | 1) => part.reduce((sum, point) => sum + point[of], 0) / part.length;
    return [mean(0), mean(1)];
  });
}

/** What a batch consists of, the longest first. Each timing's mean is over all batches of the profile, also those without it. */
export function sharesOf(all: Samples[]): Share[] {
  const timings = all.filter((one) => one.kind === "timing" && one.points.length > 0);
  const batches = Math.max(1, ...timings.map((one) => new Set(one.batches).size));
  const means = new Map<string, number>();
  for (const one of timings) means.set(one.name, (means.get(one.name) ?? 0) + one.points.reduce((sum, [, value]) => sum + value, 0) / batches);
  const whole = [...means.values()].reduce((sum, mean) => sum + mean, 0);
  return [...means].map(([name, mean]) => ({ name, mean, share: whole > 0 ? mean / whole : 0 })).sort((a, b) => b.mean - a.mean);
}

/** Charts of the system: one for each name, with a line for each agent and device. */
export function chartsOf(all: Samples[]): { name: string; series: { key: string; label: string; points: Point[] }[] }[] {
  const names = [...new Set(all.filter((one) => one.kind === "system").map((one) => one.name))].sort();
  return names.map((name) => ({
    name,
    series: all.filter((one) => one.kind === "system" && one.name === name).map((one) => ({ key: `${one.agent} ${one.gpu}`, label: [one.agent, one.gpu && `GPU ${one.gpu.slice(0, 12)}`].filter(Boolean).join(", ") || "trial", points: thinned(one.points) })),
  }));
}
