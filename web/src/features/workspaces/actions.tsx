// What can be done with a workspace or a project.
import { useState } from "preact/hooks";
import type { Call } from "@shared/api/call";
import { useWorkspaces } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Project, Workspace } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count } from "@shared/lib/format";
import { Button } from "@shared/ui/Button";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { SelectField } from "@shared/ui/Form";
import type { Action } from "@shared/ui/Menu";
import { say, sayError } from "@shared/ui/Toast";
import { NameDialog } from "./NameDialog";

interface Change {
  call: Call<unknown>;
  done: string;
  undo?: Change;
}

function useSending() {
  const change = useChange((wanted: Change) => wanted.call);
  const run = (wanted: Change, then?: () => void) => change.mutate(wanted, {
    onSuccess: () => { then?.(); const { undo } = wanted; say(wanted.done, { undo: undo ? () => run(undo) : undefined }); },
    onError: (error) => { then?.(); sayError(error); },
  });
  return { run, send: change.mutateAsync, busy: change.isPending };
}

export function useWorkspaceActions() {
  const { run, send, busy } = useSending();
  const [renaming, rename] = useState<Workspace | null>(null);
  const [deleting, remove] = useState<Workspace | null>(null);
  const actionsOf = (w: Workspace): (Action | null)[] => {
    const fixed = w.immutable ? "This workspace belongs to the cluster" : undefined;
    const archive: Change = { call: api.archiveWorkspace({ id: w.id }), done: `The workspace “${plain(w.name)}” is archived.` };
    const back: Change = { call: api.unarchiveWorkspace({ id: w.id }), done: `The workspace “${plain(w.name)}” is no longer archived.` };
    return [
      { label: w.pinned ? "Unpin" : "Pin", perform: () => run({ call: w.pinned ? api.unpinWorkspace({ id: w.id }) : api.pinWorkspace({ id: w.id }), done: `The workspace “${plain(w.name)}” is ${w.pinned ? "no longer pinned" : "pinned"}.` }) },
      { label: "Rename", refused: fixed, perform: () => rename(w) },
      w.archived ? { label: "Unarchive", perform: () => run({ ...back, undo: archive }) } : { label: "Archive", refused: fixed, perform: () => run({ ...archive, undo: back }) },
      { label: "Delete", danger: true, refused: fixed, perform: () => remove(w) },
    ];
  };
  const dialogs = (
    <>
      {renaming && <NameDialog title="Rename the workspace" action="Rename" name={renaming.name} onClose={() => rename(null)}
        submit={(name) => send({ call: api.patchWorkspace({ id: renaming.id, workspace: { name } }), done: "" }).then(() => rename(null))} />}
      {deleting && <Confirm title={`Delete the workspace “${plain(deleting.name)}”?`} action="Delete" danger busy={busy} onClose={() => remove(null)}
        onConfirm={() => run({ call: api.deleteWorkspace({ id: deleting.id }), done: `The workspace “${plain(deleting.name)}” is being deleted.` }, () => remove(null))}>
        Its {count(deleting.numProjects, "project")} with {count(deleting.numExperiments, "experiment")}, their metrics, logs and checkpoints are removed for good.</Confirm>}
    </>
  );
  return { actionsOf, dialogs };
}

export function useProjectActions() {
  const { run, send, busy } = useSending();
  const [renaming, rename] = useState<Project | null>(null);
  const [deleting, remove] = useState<Project | null>(null);
  const [moving, move] = useState<Project | null>(null);
  const actionsOf = (p: Project): (Action | null)[] => {
    const fixed = p.immutable ? "This project belongs to the cluster" : undefined;
    const archive: Change = { call: api.archiveProject({ id: p.id }), done: `The project “${plain(p.name)}” is archived.` };
    const back: Change = { call: api.unarchiveProject({ id: p.id }), done: `The project “${plain(p.name)}” is no longer archived.` };
    return [
      { label: "Rename", refused: fixed, perform: () => rename(p) },
      { label: "Move to another workspace", refused: fixed, perform: () => move(p) },
      p.archived ? { label: "Unarchive", perform: () => run({ ...back, undo: archive }) } : { label: "Archive", refused: fixed, perform: () => run({ ...archive, undo: back }) },
      { label: "Delete", danger: true, refused: fixed, perform: () => remove(p) },
    ];
  };
  const dialogs = (
    <>
      {renaming && <NameDialog title="Rename the project" action="Save" name={renaming.name} description={renaming.description} onClose={() => rename(null)}
        submit={(name, description) => send({ call: api.patchProject({ id: renaming.id, project: { name, description } }), done: "" }).then(() => rename(null))} />}
      {moving && <MoveProject project={moving} onClose={() => move(null)} submit={(destinationWorkspaceId, name) => run({ call: api.moveProject({ projectId: moving.id, destinationWorkspaceId }), done: `The project “${plain(moving.name)}” is in “${name}” now.` }, () => move(null))} />}
      {deleting && <Confirm title={`Delete the project “${plain(deleting.name)}”?`} action="Delete" danger busy={busy} onClose={() => remove(null)}
        onConfirm={() => run({ call: api.deleteProject({ id: deleting.id }), done: `The project “${plain(deleting.name)}” is being deleted.` }, () => remove(null))}>
        Its {count(deleting.numExperiments, "experiment")}, their metrics, logs and checkpoints are removed for good.</Confirm>}
    </>
  );
  return { actionsOf, dialogs };
}

function MoveProject({ project, submit, onClose }: { project: Project; submit: (id: number, name: string) => void; onClose: () => void }) {
  const { rows, error } = useWorkspaces({ archived: false });
  const others = (rows ?? []).filter((w) => w.id !== project.workspaceId);
  const [wanted, setWanted] = useState("");
  const chosen = others.find((w) => String(w.id) === wanted) ?? others[0];
  return (
    <Dialog title={`Move “${plain(project.name)}”`} onClose={onClose}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); if (chosen) submit(chosen.id, plain(chosen.name)); }}>
        <SelectField label="Into the workspace" value={String(chosen?.id ?? "")} onChange={setWanted} disabled={others.length === 0} options={others.map((w) => [String(w.id), plain(w.name)] as [string, string])}
          lost={error} hint={rows && others.length === 0 ? "There is no other workspace yet." : undefined} />
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" disabled={!chosen}>Move</Button></div>
      </form>
    </Dialog>
  );
}
