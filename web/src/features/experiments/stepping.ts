// Plots by keyboard: the arrows go from one thing that is drawn to the next, Enter opens it.
import { useState } from "preact/hooks";

export interface Place {
  column: number;
  row: number;
}

/** The nearest place in a direction; nothing if there is none. Rows count upwards. */
export function nearest(places: Place[], from: number, key: string): number | null {
  const direction = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[key];
  const start = places[from];
  if (!direction || !start) return null;
  const [right, up] = direction as [number, number];
  const found = places.flatMap(({ column, row }, i) => {
    const along = (column - start.column) * right + (row - start.row) * up;
    const aside = Math.abs((column - start.column) * up) + Math.abs((row - start.row) * right);
    return along > 0 ? [{ i, far: along + 3 * aside }] : [];
  }).sort((a, b) => a.far - b.far)[0];
  return found?.i ?? null;
}

/** In a row of n: the one after, before, the first and the last. */
export function stepped(n: number, from: number | null, key: string): number | null {
  if (n === 0) return null;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[key];
  if (key === "Home" || (step && from === null)) return 0;
  if (key === "End") return n - 1;
  return step && from !== null ? Math.min(n - 1, Math.max(0, from + step)) : null;
}

/** Which thing is pointed at, by mouse or by keys. `next` says which comes after a key. */
export function useStepping(next: (from: number | null, key: string) => number | null, open: (at: number) => void) {
  const [over, setOver] = useState<number | null>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" && over !== null) return open(over);
    const at = next(over, event.key);
    if (at === null) return;
    event.preventDefault();
    setOver(at);
  };
  return { over, setOver, keys: { tabIndex: 0, onKeyDown, onBlur: () => setOver(null) } };
}
