// Points of charts: joined over one axis, smoothed, and without what cannot be drawn.
import { toNumber } from "./format";

export type Point = [x: number, y: unknown];

/** One x for all: [xs, ys of the first series, …]. null is a gap, undefined says that this series has no point there. */
export type Aligned = [number[], ...(number | null | undefined)[][]];

/** A chart with more cells than this (places times series) is drawn on fewer places. */
const CELLS_MAX = 50_000;
/** More than a screen has pixels beside each other: what lies within one of these places is drawn at one x. */
const PLACES = 2000;

/** With `exact` each x keeps a place of its own: for a table. Otherwise many series may share a place if they lie next to each other: series that the
 * master has down-sampled hardly have an x in common, and 100 of them with 100 points each would be a table of a million cells. Points of one series
 * never share a place, so that none is lost. */
export function align(all: Point[][], log = false, exact = false): Aligned {
  const points = all.flatMap((series, i) => series.map(([x, value]) => ({ x, i, value }))).sort((a, b) => a.x - b.x);
  const different = points.filter(({ x }, k) => x !== points[k - 1]?.x).length;
  const width = exact || different * all.length <= CELLS_MAX ? 0 : (points.at(-1)!.x - points[0]!.x) / PLACES;
  const xs: number[] = [];
  const last = new Array<number>(all.length).fill(-1);
  const places = points.map(({ x, i }) => {
    const from = xs.at(-1);
    if (from === undefined || (x !== from && (x - from > width || last[i] === xs.length - 1))) xs.push(x);
    return (last[i] = xs.length - 1);
  });
  const columns = all.map(() => new Array<number | null | undefined>(xs.length).fill(undefined));
  for (const [k, { i, value }] of points.entries()) {
    const y = toNumber(value);
    columns[i]![places[k]!] = Number.isFinite(y) && (!log || y > 0) ? y : null;
  }
  return [xs, ...columns];
}

/** An exponential moving average that starts without a bias towards zero; what is no number interrupts nothing. */
export function smooth(points: Point[], weight: number): Point[] {
  if (weight <= 0) return points;
  let sum = 0;
  let norm = 0;
  return points.map(([x, value]) => {
    const y = toNumber(value);
    if (!Number.isFinite(y)) return [x, value];
    sum = sum * weight + y * (1 - weight);
    norm = norm * weight + (1 - weight);
    return [x, sum / norm];
  });
}
