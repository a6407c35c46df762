import type { FlatRun } from "@shared/api/routes.gen";
import { flatten } from "@shared/lib/flatten";

/** Names of hyperparameters that differ between some runs, those that most runs have first. */
export function differing(runs: Pick<FlatRun, "hyperparameters">[]): string[] {
  const values = new Map<string, { texts: Set<string>; n: number }>();
  for (const run of runs)
    for (const [name, value] of Object.entries(flatten(run.hyperparameters ?? {}))) {
      const known = values.get(name) ?? { texts: new Set(), n: 0 };
      known.texts.add(JSON.stringify(value));
      values.set(name, { texts: known.texts, n: known.n + 1 });
    }
  return [...values].filter(([, { texts, n }]) => texts.size > 1 || n < runs.length).sort(([a, x], [b, y]) => y.n - x.n || a.localeCompare(b)).map(([name]) => name);
}
