import { useState } from "preact/hooks";
import type { ProjectColumn } from "@shared/api/routes.gen";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { CheckField, SearchField } from "@shared/ui/Form";
import { choicesOf, FIRST } from "./columns";

const SHOWN_MAX = 400;

/** Which columns the list has. The order of those that are added is the order in which they were. */
export function ColumnsDialog({ chosen, columns, onApply, onClose }: { chosen: string[]; columns: ProjectColumn[]; onApply: (keys: string[]) => void; onClose: () => void }) {
  const [keys, setKeys] = useState(chosen);
  const [text, setText] = useState("");
  const all = choicesOf(columns).filter(({ title, key }) => `${title} ${key}`.toLowerCase().includes(text.toLowerCase())).slice(0, SHOWN_MAX);
  const groups = [...new Set(all.map((one) => one.group))];
  const toggle = (key: string, on: boolean) => setKeys(on ? [...keys, key] : keys.filter((other) => other !== key));
  return (
    <Dialog title="Columns" wide onClose={onClose}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); onApply(keys); onClose(); }}>
        <SearchField label="Find a column" value={text} onInput={setText} />
        <div class="choices">
          {groups.map((group) => (
            <fieldset key={group}>
              <legend>{group}</legend>
              {all.filter((one) => one.group === group).map(({ key, title }) => <CheckField key={key} label={title} checked={keys.includes(key)} disabled={key === "name"} onChange={(on) => toggle(key, on)} />)}
            </fieldset>
          ))}
          {all.length === 0 && <p class="muted">No column has “{text}” in its name.</p>}
        </div>
        <div class="ends">
          <Button kind="bare" onClick={() => setKeys(FIRST)}>As at first</Button>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">Apply</Button>
        </div>
      </form>
    </Dialog>
  );
}
