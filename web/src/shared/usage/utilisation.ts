// How many slots were available (`there`) and in use over a time, from the start and end of each allocation and agent.
import type { ResourceAllocationRawEntry } from "@shared/api/routes.gen";
import type { Point } from "@shared/lib/series";

export interface Utilisation {
  there: Point[];
  used: Point[];
}

/** The mean number of slots in each part of a time: an allocation that filled a half of a part counts a half. */
export function utilisation(entries: Pick<ResourceAllocationRawEntry, "kind" | "startTime" | "endTime" | "slots">[], fromMs: number, toMs: number, parts: number): Utilisation {
  const length = (toMs - fromMs) / parts;
  const sums = { there: new Array<number>(parts).fill(0), used: new Array<number>(parts).fill(0) };
  for (const { kind, startTime, endTime, slots } of entries) {
    const [start, end] = [Math.max(fromMs, Date.parse(startTime ?? "")), Math.min(toMs, endTime ? Date.parse(endTime) : toMs)];
    const into = kind === "agent" ? sums.there : sums.used;
    for (let i = Math.max(0, Math.floor((start - fromMs) / length)); i < parts && fromMs + i * length < end; i++) {
      const begin = fromMs + i * length;
      into[i]! += (slots * Math.max(0, Math.min(end, begin + length) - Math.max(start, begin))) / length;
    }
  }
  const points = (values: number[]): Point[] => values.map((value, i) => [Math.round((fromMs + (i + 0.5) * length) / 1000), Math.round(value * 100) / 100]);
  return { there: points(sums.there), used: points(sums.used) };
}
