// Which rows of a list are chosen; a choice outlives scrolling, sorting and searching.
import { useCallback, useRef, useState } from "preact/hooks";

interface Named {
  id: number;
}

/** `put`, `toggle` and `clear` stay the same functions: columns that use them need not be made anew while somebody scrolls. */
export function usePicked<Row extends Named>(at: (index: number) => Row | undefined, total: number) {
  const [chosen, setChosen] = useState<Map<number, Row>>(new Map());
  const last = useRef<number | null>(null);
  const list = useRef({ at, total });
  list.current = { at, total };
  const put = useCallback((rows: Row[], on: boolean) => setChosen((now) => {
    const next = new Map(now);
    for (const row of rows) if (on) next.set(row.id, row); else next.delete(row.id);
    return next;
  }), []);
  /** A press with Shift chooses everything from the one that was pressed before. */
  const toggle = useCallback((row: Row, on: boolean, range: boolean) => {
    const rows = Array.from({ length: list.current.total }, (_, i) => list.current.at(i));
    const [from, upTo] = [rows.findIndex((one) => one?.id === last.current), rows.findIndex((one) => one?.id === row.id)];
    last.current = row.id;
    put(range && from >= 0 ? rows.slice(Math.min(from, upTo), Math.max(from, upTo) + 1).flatMap((one) => (one ? [one] : [])) : [row], on);
  }, []);
  const clear = useCallback(() => setChosen(new Map()), []);
  return { chosen, put, toggle, clear };
}

export const Pick = ({ label, checked, onChange }: { label: string; checked: boolean; onChange: (on: boolean, shift: boolean) => void }) => (
  <label class="pick"><input type="checkbox" aria-label={label} checked={checked} onClick={(event) => onChange(event.currentTarget.checked, event.shiftKey)} /></label>
);
