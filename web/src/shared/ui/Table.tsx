// A table: rows of one height, of which only those in sight are in the document, whether there are ten or 100,000.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useNarrow } from "@shared/lib/hooks";
import { Copies } from "./Copies";
import { Icon } from "./icons";
import { asText } from "./table-text";
import { type Move, useDragging } from "./dragging";
import { useVirtual } from "./virtual";
import "./table.css";

export interface Column<Row> {
  key: string;
  title: string;
  /** what stands in the head instead of the title, which is read out then */
  head?: ComponentChildren;
  /** a track of the grid: "80px", "minmax(160px, 2fr)" */
  width: string;
  cell: (row: Row) => ComponentChildren;
  /** what a file of the table has, where that is not what the cell shows */
  text?: (row: Row) => string;
  end?: boolean;
  /** whether the column can be sorted by; the first press sorts downwards where large or late comes first */
  sort?: "up" | "down";
  /** whether the column is left out where the window is as narrow as a phone's */
  wide?: boolean;
}

export interface Order {
  key: string;
  down: boolean;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  count: number;
  /** undefined: the row has not been read yet */
  at: (index: number) => Row | undefined;
  rowKey: (row: Row) => string | number;
  /** where a row leads; the whole row is pressed, its first link is what the keyboard reaches */
  href?: (row: Row) => string;
  order?: Order | undefined;
  onOrder?: (order: Order) => void;
  /** told which rows are in sight, so that these can be read */
  onSight?: (first: number, last: number) => void;
  /** what stands instead of rows */
  instead?: ComponentChildren;
  /** the height of the part that scrolls: as much as the page has left, or as much as the rows need */
  fill?: boolean;
  menu?: (row: Row) => ComponentChildren;
  /** all rows, for a file of them; those that have been read if it is not given */
  all?: () => Promise<Row[]>;
  /** rows can be dragged to another place: told which row goes before or behind which other */
  onMove?: ((move: Move<Row>) => void) | undefined;
}

const rowHeight = () => Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row")) || 34;

export function Table<Row>({ label, columns, count, at, rowKey, href, order, onOrder, onSight, instead, fill = false, menu, all, onMove }: Props<Row>) {
  const narrow = useNarrow();
  const scroller = useRef<HTMLDivElement>(null);
  // Reading it makes the browser work out its styles, so not at each turn of a wheel.
  const height = useMemo(rowHeight, [narrow]);
  const virtual = useVirtual({ count, estimateSize: () => height, getScrollElement: () => scroller.current, overscan: 12 });
  useEffect(() => virtual.measure(), [height]);
  const rows = virtual.getVirtualItems();
  const first = rows[0]?.index ?? 0;
  const last = rows.at(-1)?.index ?? 0;
  useEffect(() => onSight?.(first, last), [first, last, count]);

  const shown = columns.filter((column) => !narrow || !column.wide);
  // While somebody scrolls, only this component is drawn again: cells of rows that stay in sight are then the same as before, and nobody looks into them.
  const drawn = useMemo(() => new WeakMap<object, ComponentChildren>(), [columns, menu, narrow]);
  const cellsOf = (row: Row): ComponentChildren => {
    const before = drawn.get(row as object);
    if (before) return before;
    const cells = [
      ...shown.map((column) => <span key={column.key} role="cell" class={column.end ? "cell end" : "cell"}>{column.cell(row)}</span>),
      ...(hasEnd ? [<span key="menu" role="cell" class="cell end">{menu?.(row)}</span>] : []),
    ];
    drawn.set(row as object, cells);
    return cells;
  };
  const dragging = useDragging(at, onMove);
  const read = () => Array.from({ length: count }, (_, i) => at(i)).filter((row) => row !== undefined);
  const rowsAsText = async () => asText(columns, all ? await all() : read());
  // The last column has the menus of the rows, and in its head the copies; a phone leaves it out where rows have none.
  const hasEnd = menu !== undefined || !narrow;
  const tracks = [...shown.map((column) => column.width), ...(hasEnd ? ["44px"] : [])].join(" ");
  // Below this the columns would cut each other, so the table scrolls sideways.
  const minWidth = `${[...shown.map((column) => Number(/\d+(?=px)/.exec(column.width)?.[0] ?? 0)), hasEnd ? 44 : 0].reduce((sum, px) => sum + px, 8)}px`;
  const press = (column: Column<Row>) => {
    const again = order?.key === column.key;
    onOrder?.({ key: column.key, down: again ? !order.down : column.sort === "down" });
  };
  return (
    <div class={`table ${fill ? "fill" : ""}`} role="table" aria-label={label} aria-rowcount={count + 1}>
      <div class="scroller" ref={scroller} onKeyDown={(event) => moveFocus(event, scroller.current!)}>
        <div class="head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: tracks, minWidth }}>
          {shown.map((column) => (
            <Head key={column.key} column={column} order={order} press={onOrder && column.sort ? () => press(column) : undefined} />
          ))}
          {hasEnd && <span role="columnheader" class="end unprinted"><span class="unseen">Actions</span>{count > 0 && <Copies name={label} rows={rowsAsText} />}</span>}
        </div>
        {count === 0 && instead && <div role="row"><div role="cell">{instead}</div></div>}
        <div class="rows" role="rowgroup" style={{ height: `${virtual.getTotalSize()}px`, minWidth }}>
          {rows.map(({ index, start }) => {
            const row = at(index);
            return (
              <div key={row === undefined ? `empty-${index}` : rowKey(row)} class={`line ${href && row ? "leads" : ""} ${dragging.classOf(index)}`} {...dragging.of(index)} role="row" aria-rowindex={index + 2}
                style={{ gridTemplateColumns: tracks, transform: `translateY(${start}px)` }}
                onClick={(event) => row !== undefined && href && openRow(event)}>
                {row === undefined ? shown.map((column) => <span key={column.key} role="cell"><i class="blank" /></span>) : cellsOf(row)}
              </div>
            );
          })}
        </div>
      </div>
    </div>
  );
}

function Head<Row>({ column, order, press }: { column: Column<Row>; order: Order | undefined; press: (() => void) | undefined }) {
  const by = order?.key === column.key;
  return (
    <span role="columnheader" class={column.end ? "end" : ""} aria-sort={by ? (order.down ? "descending" : "ascending") : undefined}>
      {column.head ?? (press ? (
        <button type="button" class={by ? "by" : ""} onClick={press}>
          <span class="cut">{column.title}</span>
          <Icon name={by && !order.down ? "up" : "down"} size={12} />
        </button>
      ) : (
        <span class="cut">{column.title}</span>
      ))}
    </span>
  );
}

/** A press anywhere in a row follows the row's first link, but for presses of what is within it and for chosen text. */
function openRow(event: MouseEvent & { currentTarget: HTMLElement }): void {
  const pressed = event.target as Element;
  if (pressed.closest("a, button, input, .menu") || String(getSelection()) !== "") return;
  event.currentTarget.querySelector("a")?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: event.ctrlKey, metaKey: event.metaKey }));
}

/** Arrows, or j and k, go from row to row. */
function moveFocus(event: KeyboardEvent, scroller: HTMLElement): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key];
  if (event.key === "x") (document.activeElement as Element).closest(".line")?.querySelector<HTMLElement>("input[type=checkbox]")?.click();
  if (!step || event.ctrlKey || event.metaKey || event.altKey || (event.target as Element).closest(".menu")) return;
  const links = [...scroller.querySelectorAll<HTMLElement>(".line")].sort((a, b) => Number(a.ariaRowIndex) - Number(b.ariaRowIndex)).map((line) => line.querySelector("a"));
  const at = links.indexOf((document.activeElement as Element).closest(".line")?.querySelector("a") ?? null);
  const next = links[at + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
