// The answer of a route that does something with many objects: one result for each, of which some may be refusals.
interface Result {
  id: number;
  error: string;
}

export interface Outcome {
  done: number[];
  refused: Result[];
}

export const outcomeOf = (results: Result[]): Outcome => ({ done: results.filter((r) => !r.error).map((r) => r.id), refused: results.filter((r) => r.error) });
