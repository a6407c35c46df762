import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useProjects, useTemplates } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, to, useParameter } from "@shared/lib/address";
import { bytes, count } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { readSetting, writeSetting } from "@shared/lib/settings";
import { Button } from "@shared/ui/Button";
import { Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SelectField } from "@shared/ui/Form";
import { say } from "@shared/ui/Toast";
import { check, type Mistake } from "@shared/config/check";
import { chosen, dropped, type Entry, packed, TOTAL_MAX } from "./context";
import { EXAMPLE, startOf } from "./start";
import { Mistakes, YamlEditor } from "@shared/ui/YamlEditor";
import "./create.css";

/** What the page starts from, once that is read. */
export function CreatePage() {
  const [experiment] = useParameter("experiment");
  const [trial] = useParameter("trial");
  const { data: x, error } = useApi(api.getExperiment({ experimentId: Number(experiment) || 0 }), { enabled: experiment !== "" });
  const { data: t, error: lost } = useApi(api.getTrial({ trialId: Number(trial) || 0 }), { enabled: trial !== "" });
  const failed = error ?? lost;
  useTitle("New experiment");
  if (failed) return <Failure error={failed} />;
  if ((experiment && !x) || (trial && !t)) return <Waiting lines={8} />;
  const start = x?.config ? startOf(x.config, t?.trial ? (t.trial.hparams ?? {}) : null) : EXAMPLE;
  return <Editor key={`${experiment} ${trial}`} start={start} parent={x?.experiment?.id ?? null} trial={t?.trial?.id ?? null} project={x?.experiment?.projectId ?? null} />;
}

/** What is typed stays in this browser until the experiment is created: a session that ends and a page that is closed lose nothing. */
function useDraft(name: string, start: string) {
  const [text, setText] = useState(() => readSetting(name) ?? start);
  const put = (value: string) => { setText(value); writeSetting(name, value === start ? null : value); };
  return { text, put, changed: text !== start, forget: () => writeSetting(name, null) };
}

/** The master's own check of everything else, when the schema finds nothing. */
function useMasterCheck(text: string, good: boolean, project: number): string | null {
  const settled = useSettled(text, 600);
  const [refused, setRefused] = useState<string | null>(null);
  useEffect(() => {
    setRefused(null);
    if (!good || settled !== text) return;
    const stop = new AbortController();
    send(api.createExperiment({ config: settled, validateOnly: true, projectId: project, modelDefinition: [] }), stop.signal).then(() => {}, (error: Error) => { if (!stop.signal.aborted) setRefused(error.message); });
    return () => stop.abort();
  }, [settled, good, text, project]);
  return refused;
}

function Editor({ start, parent, trial, project: of }: { start: string; parent: number | null; trial: number | null; project: number | null }) {
  const [wanted, setProject] = useParameter("project", of === null ? "" : String(of));
  const project = Number(wanted) || 1;
  const { text, put, changed, forget } = useDraft(`draft.create.${parent ?? ""}.${trial ?? ""}`, start);
  const { mistakes } = useMemo(() => check(text), [text]);
  const refused = useMasterCheck(text, mistakes.length === 0, project);
  const [files, setFiles] = useState<Entry[] | null>(null);
  const [paused, setPaused] = useState(false);
  const [template, setTemplate] = useState("");
  const projects = useProjects({ archived: false });
  const templates = useTemplates();
  const create = useChange((modelDefinition: Awaited<ReturnType<typeof packed>>) => api.createExperiment({ config: text, activate: !paused, projectId: project, modelDefinition,
    ...(parent !== null ? { parentId: parent } : {}), ...(template ? { template } : {}) }));
  const size = (files ?? []).reduce((sum, { file }) => sum + file.size, 0);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (mistakes.length || size > TOTAL_MAX) return;
    try {
      const { experiment, configWarnings } = await create.mutateAsync(await packed(files ?? []));
      forget();
      for (const warning of configWarnings) say(warning, { bad: true });
      go(`experiments/${experiment!.id}`);
    } catch {
      // the message stands below
    }
  };
  const all: Mistake[] = mistakes.length ? mistakes : refused ? [{ line: Number(/line (\d+)/.exec(refused)?.[1]) || null, text: refused }] : [];
  return (
    <form class="page fills" onSubmit={(event) => void submit(event)}>
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is">{parent === null ? <a href={to(`projects/${project}`)}>Experiments</a> : <a href={to(`experiments/${parent}`)}>Experiment {parent}</a>}</nav>
          <h1>New experiment{trial !== null ? ` from trial ${trial}` : parent !== null ? ` from ${parent}` : ""}</h1>
        </div>
        {changed && <Button kind="bare" onClick={() => put(start)}>Start again</Button>}
        <Button type="submit" kind="primary" busy={create.isPending} disabled={mistakes.length > 0 || size > TOTAL_MAX}>{paused ? "Create paused" : "Create and start"}</Button>
      </header>
      {create.error && <p class="mistake" role="alert">{create.error.message}</p>}
      <div class="create">
        <section class="panel fills">
          <header><h2>Configuration</h2><span class={all.length ? "bad-count" : "muted"}>{all.length ? count(all.length, "mistake") : "no mistakes"}</span></header>
          <YamlEditor value={text} onInput={put} mistakes={all} />
          <Mistakes mistakes={all} />
        </section>
        <div class="stack">
          <Files files={files} setFiles={setFiles} size={size} parent={parent} />
          <section class="panel"><header><h2>Where and how</h2></header>
            <div class="body form">
              <SelectField label="Project" value={String(project)} onChange={setProject} lost={projects.error} options={(projects.rows ?? []).map((p) => [String(p.id), `${plain(p.workspaceName)} / ${plain(p.name)}`] as [string, string])} />
              {((templates.rows?.length ?? 0) > 0 || templates.error) && <SelectField label="Template" value={template} onChange={setTemplate} lost={templates.error} options={[["", "None"], ...(templates.rows ?? []).map((one) => [one.name, plain(one.name)] as [string, string])]} hint="It supplies the keys that the configuration does not set." />}
              <CheckField label="Create it paused" checked={paused} onChange={setPaused} />
            </div>
          </section>
        </div>
      </div>
    </form>
  );
}

function Files({ files, setFiles, size, parent }: { files: Entry[] | null; setFiles: (files: Entry[] | null) => void; size: number; parent: number | null }) {
  const folder = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  // The attribute that lets people choose a folder has no type in JSX.
  useEffect(() => folder.current?.setAttribute("webkitdirectory", ""), []);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (event.dataTransfer) void dropped(event.dataTransfer.items).then(setFiles, (error: Error) => say(error.message, { bad: true }));
  };
  return (
    <section class="panel">
      <header><h2>Code</h2>{files && <Button kind="bare" onClick={() => setFiles(null)}>{parent === null ? "Remove" : "Take that of the experiment"}</Button>}</header>
      <div class={`body stack close drop ${over ? "over" : ""}`} onDragOver={(event) => { event.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)} onDrop={drop}>
        {files ? (
          <>
            <p class="number">{count(files.length, "file")}, {bytes(size)}</p>
            {size > TOTAL_MAX && <p class="mistake" role="alert">That is more than {bytes(TOTAL_MAX)}. Leave out data and checkpoints.</p>}
            <ul class="files" tabIndex={0} aria-label="Files of the code">{files.slice(0, 300).map(({ path, file }) => <li key={path} class="row spread"><span class="mono cut">{plain(path)}</span><span class="muted number">{bytes(file.size)}</span></li>)}</ul>
          </>
        ) : (
          <p class="muted">{parent === null ? "Drop a folder or files here, or choose a folder. Repositories, caches and environments are left out." : `The files of experiment ${parent} are used. Drop a folder here to use another.`}</p>
        )}
        <input ref={folder} type="file" multiple class="unseen" aria-label="Folder of the code" tabIndex={-1} onChange={(event) => event.currentTarget.files?.length && setFiles(chosen(event.currentTarget.files))} />
        <Button onClick={() => folder.current!.click()}>Choose a folder</Button>
      </div>
    </section>
  );
}
