import { useState } from "preact/hooks";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { Notes } from "@shared/notes/Notes";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { sayError } from "@shared/ui/Toast";
import { NameDialog } from "./NameDialog";

/** The pages of notes of a project. */
export function ProjectNotesPage({ id }: { id: number }) {
  const { data, error } = useApi(api.getProject({ id }));
  const project = data?.project;
  const [making, setMaking] = useState(false);
  const put = useChange((notes: { name: string; contents: string }[]) => api.putProjectNotes({ projectId: id, notes }));
  const add = useChange((name: string) => api.addProjectNote({ projectId: id, note: { name, contents: "" } }));
  useTitle(project ? `Notes of ${plain(project.name)}` : "Notes");
  if (error && !project) return <Failure error={error} />;
  if (!project) return <Waiting lines={6} />;
  const { notes } = project;
  return (
    <div class="page">
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is"><a href={to(`workspaces/${project.workspaceId}`)}>{plain(project.workspaceName)}</a> / <a href={to(`projects/${id}`)}>{plain(project.name)}</a></nav>
          <h1>Notes</h1>
        </div>
        <Button kind="primary" onClick={() => setMaking(true)}>New page</Button>
      </header>
      {notes.length === 0 && <section class="panel"><Empty title="No notes yet">Pages of notes in Markdown belong to the whole project.</Empty></section>}
      {notes.map((note, i) => (
        <section key={`${i} ${note.name}`} class="stack close">
          <div class="row spread"><h2 class="cut">{plain(note.name)}</h2><Button kind="bare" onClick={() => put.mutate(notes.filter((_, at) => at !== i), { onError: sayError })} disabled={Boolean(note.contents)} title={note.contents ? "Empty the page first" : undefined}>Remove</Button></div>
          <Notes id={`project ${id} ${i}`} text={note.contents} save={(contents) => put.mutateAsync(notes.map((one, at) => (at === i ? { ...one, contents } : one)))} />
        </section>
      ))}
      {making && <NameDialog title="New page of notes" action="Create" onClose={() => setMaking(false)} submit={(name) => add.mutateAsync(name).then(() => setMaking(false))} />}
    </div>
  );
}
