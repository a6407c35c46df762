// A small table of values beside each other: a row for each name, a column for each of what is compared.
import type { ComponentChildren } from "preact";
import { plain } from "@shared/lib/ansi";
import "./sheet.css";

interface Props {
  label: string;
  /** what the names of the rows are */
  name: string;
  heads: ComponentChildren[];
  rows: { name: string; cells: ComponentChildren[]; differs?: boolean }[];
}

export function Sheet({ label, name, heads, rows }: Props) {
  return (
    <div class="sheet" tabIndex={0} aria-label={label}>
      <table>
        <thead><tr><th scope="col">{name}</th>{heads.map((head, i) => <th key={i} scope="col">{head}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name} class={row.differs ? "differs" : ""}>
              <th scope="row" class="mono">{plain(row.name)}</th>
              {row.cells.map((cell, i) => <td key={i} class="mono">{cell}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
