import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import { plain } from "@shared/lib/ansi";
import { Confirm } from "@shared/ui/Dialog";
import { say, sayError } from "@shared/ui/Toast";
import type { TaskRow } from "./kinds";

export function useKilling() {
  const [row, ask] = useState<TaskRow | null>(null);
  const change = useChange(({ kind, task }: TaskRow) => kind.kill(task.id));
  const confirm = () => row && change.mutate(row, {
    onSuccess: () => { say(`${row.kind.title} “${plain(row.task.description)}” is being killed.`); ask(null); },
    onError: (error) => { sayError(error); ask(null); },
  });
  return { row, ask, confirm, busy: change.isPending };
}

/** The question before a task ends: what it has not saved is lost. */
export function Killing({ row, ask, confirm, busy }: ReturnType<typeof useKilling>) {
  if (!row) return null;
  return (
    <Confirm title={`Kill this ${row.kind.title}?`} action="Kill" danger busy={busy} onConfirm={confirm} onClose={() => ask(null)}>
      “{plain(row.task.description || row.task.id)}” of {plain(row.task.username)} ends at once. What it has not saved is lost.
    </Confirm>
  );
}
