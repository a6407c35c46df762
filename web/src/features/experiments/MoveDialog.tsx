import { useState } from "preact/hooks";
import { outcomeOf } from "@shared/api/bulk";
import { useProjects } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count } from "@shared/lib/format";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { SelectField } from "@shared/ui/Form";
import { say } from "@shared/ui/Toast";

/** Moves experiments into another project. */
export function MoveDialog({ ids, projectId, onClose }: { ids: number[]; projectId: number; onClose: () => void }) {
  const { rows, error } = useProjects({ archived: false });
  const projects = (rows ?? []).filter((p) => p.id !== projectId).sort((a, b) => a.workspaceName.localeCompare(b.workspaceName) || a.name.localeCompare(b.name));
  const [wanted, setWanted] = useState("");
  const to = wanted || String(projects[0]?.id ?? "");
  const change = useChange(() => api.moveExperiments({ projectId, experimentIds: ids, destinationProjectId: Number(to) }));
  const [mistake, setMistake] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    change.mutate(undefined, {
      onSuccess: ({ results }) => {
        const { done, refused } = outcomeOf(results);
        if (refused.length) return setMistake(`${count(refused.length, "experiment")} refused: ${refused[0]!.error}`);
        say(`${count(done.length, "experiment")} moved to ${plain(projects.find((p) => String(p.id) === to)?.name ?? "")}.`);
        onClose();
      },
      onError: (error) => setMistake(error.message),
    });
  };
  return (
    <Dialog title={`Move ${count(ids.length, "experiment")}`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <SelectField label="Into the project" value={to} onChange={setWanted} disabled={projects.length === 0} options={projects.map((p) => [String(p.id), `${plain(p.workspaceName)} / ${plain(p.name)}`] as [string, string])}
          lost={error} hint={rows && projects.length === 0 ? "There is no other project yet." : undefined} />
        {mistake && <p class="mistake" role="alert">{mistake}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={change.isPending} disabled={!to}>Move</Button></div>
      </form>
    </Dialog>
  );
}
