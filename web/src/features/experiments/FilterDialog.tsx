import { useState } from "preact/hooks";
import type { ProjectColumn } from "@shared/api/routes.gen";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Choice, SelectField } from "@shared/ui/Form";
import { Icon } from "@shared/ui/icons";
import { titleOf } from "./columns";
import { type Condition, kindOf, mistakeOf, needsValue, OPERATORS } from "./filters";

interface Props {
  conditions: Condition[];
  any: boolean;
  columns: ProjectColumn[];
  onApply: (conditions: Condition[], any: boolean) => void;
  onClose: () => void;
}

const INPUT = { text: "text", number: "text", date: "datetime-local", array: "text" } as const;

/** Conditions on any column: all of them must hold, or any. */
export function FilterDialog({ conditions, any, columns, onApply, onClose }: Props) {
  const first = columns.find((c) => c.column === "name")?.column ?? columns[0]?.column ?? "name";
  const [rows, setRows] = useState<Condition[]>(conditions.length ? conditions : [{ column: first, operator: "contains", value: "" }]);
  const [how, setHow] = useState<"all" | "any">(any ? "any" : "all");
  const mistakes = rows.map((row) => mistakeOf(row, columns));
  const kind = (name: string) => kindOf(columns.find((c) => c.column === name));
  const change = (i: number, part: Partial<Condition>) => setRows(rows.map((row, at) => (at === i ? { ...row, ...part } : row)));
  const choose = (i: number, column: string) => change(i, { column, operator: OPERATORS[kind(column)][0]![0], value: "" });
  const submit = (event: Event) => {
    event.preventDefault();
    if (mistakes.some(Boolean)) return;
    onApply(rows, how === "any");
    onClose();
  };
  return (
    <Dialog title="Filter experiments" wide onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        {rows.length > 1 && <Choice label="Which must hold" quiet value={how} onChange={setHow} options={[["all", "All of these"], ["any", "Any of these"]]} />}
        {rows.map((row, i) => (
          <div key={i} class="condition">
            <SelectField label={`Column ${i + 1}`} quiet value={row.column} onChange={(column) => choose(i, column)} options={columns.map((c) => [c.column, titleOf(c.column)] as [string, string])} />
            <SelectField label={`Operator ${i + 1}`} quiet value={row.operator} onChange={(operator) => change(i, { operator })} options={OPERATORS[kind(row.column)]} />
            {needsValue(row.operator) ? <input class="input" aria-label={`Value ${i + 1}`} type={INPUT[kind(row.column)]} value={row.value} aria-invalid={Boolean(row.value && mistakes[i])} title={mistakes[i]}
              onInput={(event) => change(i, { value: event.currentTarget.value })} /> : <span />}
            <Button kind="bare" icon aria-label={`Remove condition ${i + 1}`} onClick={() => setRows(rows.filter((_, at) => at !== i))}><Icon name="close" /></Button>
          </div>
        ))}
        <Button kind="bare" class="starts" onClick={() => setRows([...rows, { column: first, operator: "contains", value: "" }])}><Icon name="plus" size={14} /> Add a condition</Button>
        <div class="ends">
          {conditions.length > 0 && <Button kind="bare" onClick={() => { onApply([], false); onClose(); }}>Remove all</Button>}
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" disabled={mistakes.some(Boolean)}>Apply</Button>
        </div>
      </form>
    </Dialog>
  );
}
