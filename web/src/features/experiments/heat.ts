// A search as a map: two hyperparameters, and how good the trials were that lie together in each field.
import { type Axis, placeOn, type SearchTrial } from "./search-data";

export interface Field {
  column: number;
  row: number;
  trials: number[];
  /** the best value of the field's trials */
  best: number;
  /** 0 is the worst of all trials, 1 the best */
  rank: number;
}

const PARTS = 8;

/** Into how many columns an axis is cut: one for each category. */
export const partsOf = (axis: Axis) => (axis.categories ? axis.categories.length : PARTS);

/** Where a part of an axis of numbers begins. */
export function edgeOf(axis: Axis, part: number): number {
  const share = part / partsOf(axis);
  return axis.log ? axis.min * (axis.max / axis.min) ** share : axis.min + (axis.max - axis.min) * share;
}

const partOf = (axis: Axis, value: unknown): number | null => {
  if (axis.categories) {
    const place = placeOn(axis, value);
    return place === null ? null : axis.categories.length === 1 ? 0 : Math.round(place * (axis.categories.length - 1));
  }
  const place = placeOn(axis, value);
  return place === null ? null : Math.min(PARTS - 1, Math.floor(place * PARTS));
};

/** The fields that have trials with a value. */
export function fieldsOf(x: Axis, y: Axis, trials: SearchTrial[], best: (number | null)[], ranks: (number | null)[]): Field[] {
  const fields = new Map<string, Field>();
  trials.forEach((trial, i) => {
    const [column, row, value, rank] = [partOf(x, trial.hparams[x.name]), partOf(y, trial.hparams[y.name]), best[i], ranks[i]];
    if (column === null || row === null || value === null || value === undefined || rank === null || rank === undefined) return;
    const key = `${column} ${row}`;
    const field = fields.get(key);
    if (!field) fields.set(key, { column, row, trials: [trial.id], best: value, rank });
    else {
      field.trials.push(trial.id);
      if (rank > field.rank) [field.rank, field.best] = [rank, value];
    }
  });
  return [...fields.values()];
}
