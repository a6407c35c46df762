// A table's rows as text, for a file: what each cell shows, and of a time or a bar its exact value.
import { type ComponentChildren, render } from "preact";
import type { Column } from "./Table";

function textOf(cell: ComponentChildren): string {
  const holder = document.createElement("div");
  render(<>{cell}</>, holder);
  for (const time of holder.querySelectorAll("time")) time.textContent = time.dateTime;
  for (const bar of holder.querySelectorAll("[aria-valuenow]")) bar.parentElement!.textContent = bar.ariaValueNow;
  const text = [...holder.childNodes].map((node) => node.textContent?.trim()).filter(Boolean).join(" ");
  render(null, holder);
  return text === "–" ? "" : text;
}

/** The titles, then the rows. A column with a head of its own (one in which rows are chosen) holds nothing to keep. */
export function asText<Row>(columns: Column<Row>[], rows: Row[]): string[][] {
  const kept = columns.filter((column) => !column.head);
  return [kept.map((column) => column.title), ...rows.map((row) => kept.map((column) => textOf(column.text ? column.text(row) : column.cell(row))))];
}
