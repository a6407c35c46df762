// Rows of a table that are dragged to another place, by the browser's own dragging. Whoever uses it gives the same change in a menu, for
// keyboards and for fingers.
import { useState } from "preact/hooks";

export interface Move<Row> {
  row: Row;
  /** the row that it was dropped on */
  onto: Row;
  side: "before" | "behind";
}

/** The rows themselves are kept, since a list that is read again while somebody drags may have moved them. */
interface Drag<Row> {
  from: number;
  row: Row;
  over: { index: number; row: Row } | null;
  side: "before" | "behind";
}

/** Where a drop changes nothing: on the row itself, and at the edges that it has already. */
export const changesNothing = (from: number, over: number, side: "before" | "behind") => over === from || (side === "before" ? over === from + 1 : over === from - 1);

export function useDragging<Row>(at: (index: number) => Row | undefined, onMove: ((move: Move<Row>) => void) | undefined) {
  const [drag, setDrag] = useState<Drag<Row> | null>(null);
  const sideOf = (event: DragEvent & { currentTarget: HTMLElement }): "before" | "behind" => {
    const { top, height } = event.currentTarget.getBoundingClientRect();
    return event.clientY < top + height / 2 ? "before" : "behind";
  };
  const drop = () => {
    setDrag(null);
    if (!drag?.over || changesNothing(drag.from, drag.over.index, drag.side)) return;
    onMove?.({ row: drag.row, onto: drag.over.row, side: drag.side });
  };
  return {
    classOf: (index: number) => (!drag ? "" : index === drag.from ? "dragged" : index === drag.over?.index && !changesNothing(drag.from, index, drag.side) ? drag.side : ""),
    of: (index: number) => (!onMove ? {} : {
      draggable: true,
      onDragStart: (event: DragEvent) => {
        event.dataTransfer!.effectAllowed = "move";
        event.dataTransfer!.setData("text/plain", String(index)); // Firefox drags nothing without data
        const row = at(index);
        if (row !== undefined) setDrag({ from: index, row, over: null, side: "before" });
      },
      onDragOver: (event: DragEvent & { currentTarget: HTMLElement }) => {
        if (!drag) return;
        event.preventDefault();
        const side = sideOf(event);
        const row = at(index);
        if (row !== undefined && (drag.over?.index !== index || drag.side !== side)) setDrag({ ...drag, over: { index, row }, side });
      },
      onDrop: (event: DragEvent) => { event.preventDefault(); drop(); },
      onDragEnd: () => setDrag(null),
    }),
  };
}
