// Trials of a search as they are drawn: hyperparameters on axes, and what came of them.
import type { Point } from "@shared/lib/series";
import { toNumber } from "@shared/lib/format";

export interface SearchTrial {
  id: number;
  hparams: Record<string, unknown>;
  points: Point[];
}

export interface Axis {
  name: string;
  /** names of categories; nothing: a range of numbers */
  categories: string[] | null;
  min: number;
  max: number;
  log: boolean;
}

const textOf = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value) ?? "–");

/** Those hyperparameters that differ between trials, with what an axis of them looks like. Positive values that span three decades get a logarithmic axis. */
export function axesOf(trials: SearchTrial[]): Axis[] {
  const names = [...new Set(trials.flatMap((t) => Object.keys(t.hparams)))].sort();
  return names.flatMap((name): Axis[] => {
    const values = trials.map((t) => t.hparams[name]).filter((value) => value !== undefined);
    if (new Set(values.map(textOf)).size < 2) return [];
    if (!values.every((value) => typeof value === "number" && Number.isFinite(value))) return [{ name, categories: [...new Set(values.map(textOf))].sort(), min: 0, max: 1, log: false }];
    const numbers = values as number[];
    const [min, max] = [numbers.reduce((a, b) => Math.min(a, b)), numbers.reduce((a, b) => Math.max(a, b))];
    return [{ name, categories: null, min, max, log: min > 0 && max / min >= 1000 }];
  });
}

/** Where a value lies on an axis, 0 to 1; nothing if it is none of the axis. */
export function placeOn(axis: Axis, value: unknown): number | null {
  if (axis.categories) {
    const at = axis.categories.indexOf(textOf(value));
    return at < 0 ? null : axis.categories.length === 1 ? 0.5 : at / (axis.categories.length - 1);
  }
  const number = toNumber(value);
  if (!Number.isFinite(number)) return null;
  if (axis.max === axis.min) return 0.5;
  return axis.log ? Math.log(number / axis.min) / Math.log(axis.max / axis.min) : (number - axis.min) / (axis.max - axis.min);
}

/** The best value that a trial has reported. */
export function bestOf(trial: SearchTrial, smaller: boolean): number | null {
  const values = trial.points.map(([, value]) => toNumber(value)).filter(Number.isFinite);
  return values.length === 0 ? null : values.reduce((a, b) => (smaller ? Math.min(a, b) : Math.max(a, b)));
}

/** How good a value is among all: 0 is the worst, 1 the best; by rank, so that one diverged trial does not hide the others. */
export function ranksOf(values: (number | null)[], smaller: boolean): (number | null)[] {
  const sorted = values.filter((value) => value !== null).sort((a, b) => (smaller ? b - a : a - b));
  const at = new Map(sorted.map((value, i) => [value, i]));
  return values.map((value) => (value === null ? null : sorted.length < 2 ? 1 : at.get(value)! / (sorted.length - 1)));
}

/** How strongly the metric depends on each axis: Spearman's correlation of ranks, with its sign; of categories the spread of their means. */
export function importanceOf(axis: Axis, trials: SearchTrial[], goodness: (number | null)[]): number {
  const pairs = trials.flatMap((t, i) => { const [x, y] = [placeOn(axis, t.hparams[axis.name]), goodness[i]]; return x === null || y === null || y === undefined ? [] : [[x, y] as const]; });
  if (pairs.length < 3) return 0;
  if (axis.categories) {
    const groups = new Map<number, (readonly [number, number])[]>();
    for (const pair of pairs) groups.set(pair[0], [...(groups.get(pair[0]) ?? []), pair]);
    const mean = (list: readonly (readonly [number, number])[]) => list.reduce((sum, [, y]) => sum + y, 0) / list.length;
    const all = mean(pairs);
    const total = pairs.reduce((sum, [, y]) => sum + (y - all) ** 2, 0);
    return total === 0 ? 0 : Math.sqrt([...groups.values()].reduce((sum, list) => sum + list.length * (mean(list) - all) ** 2, 0) / total);
  }
  const ranks = (of: 0 | 1) => { const sorted = pairs.map((p) => p[of]).sort((a, b) => a - b); return pairs.map((p) => (sorted.indexOf(p[of]) + sorted.lastIndexOf(p[of])) / 2); };
  const [x, y] = [ranks(0), ranks(1)];
  const middle = (pairs.length - 1) / 2;
  const sum = (of: (i: number) => number) => pairs.reduce((total, _, i) => total + of(i), 0);
  const spread = Math.sqrt(sum((i) => (x[i]! - middle) ** 2) * sum((i) => (y[i]! - middle) ** 2));
  return spread === 0 ? 0 : sum((i) => (x[i]! - middle) * (y[i]! - middle)) / spread;
}
