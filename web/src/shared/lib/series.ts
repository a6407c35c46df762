// Points of charts: joined over one axis, smoothed, and without what cannot be drawn.
import { toNumber } from "./format";

export type Point = [x: number, y: unknown];

/** One x for all: [xs, ys of the first series, …]. null is a gap, undefined says that this series has no point there. */
export type Aligned = [number[], ...(number | null | undefined)[][]];

export function align(all: Point[][], log = false): Aligned {
  const xs = [...new Set(all.flatMap((points) => points.map(([x]) => x)))].sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  const columns = all.map((points) => {
    const ys = new Array<number | null | undefined>(xs.length).fill(undefined);
    for (const [x, value] of points) {
      const y = toNumber(value);
      ys[place.get(x)!] = Number.isFinite(y) && (!log || y > 0) ? y : null;
    }
    return ys;
  });
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
