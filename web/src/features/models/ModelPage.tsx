import { useMemo, useState } from "preact/hooks";
import { useApi, useChange } from "@shared/api/query";
import { PAGE, rowsForFile, useRows } from "@shared/api/rows";
import * as api from "@shared/api/routes.gen";
import type { Model, ModelVersion } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, root, to } from "@shared/lib/address";
import { bytes } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { toYaml } from "@shared/lib/yaml";
import { Notes } from "@shared/notes/Notes";
import { Button } from "@shared/ui/Button";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Tabs } from "@shared/ui/Tabs";
import { Ago } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import { useModelActions } from "./actions";

const EVERY_MS = 10_000;
const sizeOf = (v: ModelVersion) => Object.values(v.checkpoint?.resources ?? {}).reduce((sum, size) => sum + Number(size), 0);

const columnsOf = (model: Model): Column<ModelVersion>[] => [
  { key: "version", title: "Version", width: "minmax(120px, 1fr)", cell: (v) => <><a class="number whole" href={to(`models/${model.id}/versions/${v.version}`)}>{v.version}</a><span class="muted cut">{plain(v.name)}</span></> },
  { key: "aliases", title: "Aliases", width: "minmax(100px, 1fr)", cell: (v) => <span class="cut">{v.aliases.map(plain).join(", ")}</span> },
  { key: "trial", title: "From", width: "120px", wide: true, cell: (v) => <From version={v} /> },
  { key: "size", title: "Size", width: "96px", end: true, wide: true, cell: (v) => bytes(sizeOf(v)) },
  { key: "user", title: "Registered by", width: "minmax(100px, 1fr)", wide: true, cell: (v) => <span class="cut">{plain(v.username)}</span> },
  { key: "time", title: "Registered", width: "110px", wide: true, cell: (v) => <Ago time={v.creationTime} /> },
  { key: "comment", title: "Comment", width: "minmax(120px, 2fr)", wide: true, cell: (v) => <span class="cut muted" title={plain(v.comment)}>{plain(v.comment)}</span> },
];

function From({ version }: { version: ModelVersion }) {
  const training = version.checkpoint?.training;
  return training?.trialId && training.experimentId ? <a href={to(`experiments/${training.experimentId}/trials/${training.trialId}`)}>trial {training.trialId}</a> : <span class="muted">–</span>;
}

export function ModelPage({ id, tab }: { id: string; tab: "versions" | "notes" | "metadata" }) {
  const { data, error, refetch } = useApi(api.getModel({ modelName: id }), { every: EVERY_MS });
  const model = data?.model;
  const actions = useModelActions(() => go("models"));
  const patch = useChange((changes: { notes?: string; name?: string; description?: string }) => api.patchModel({ modelName: id, model: changes }));
  const [editing, setEditing] = useState(false);
  useTitle(plain(model?.name ?? "Model"));
  if (error && !model) return <Failure error={error} retry={() => void refetch()} />;
  if (!model) return <Waiting lines={6} />;
  return (
    <div class={`page ${tab === "versions" ? "fills" : ""}`}>
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is"><a href={to("models")}>Models</a></nav>
          <div class="row wraps"><h1 class="cut">{plain(model.name)}</h1>{model.archived && <span class="muted">archived</span>}<span class="muted">{plain(model.description)}</span></div>
        </div>
        <div class="row unprinted"><Button onClick={() => setEditing(true)}>Edit</Button><Menu label={`Actions of model ${plain(model.name)}`} actions={actions.actionsOf(model)} /></div>
      </header>
      <Tabs label="Parts of the model" now={tab} tabs={[["versions", `Versions ${model.numVersions.toLocaleString("en")}`], ["notes", "Notes"], ["metadata", "Metadata"]].map(([key, title]) => ({ key: key!, title: title!, href: to(`models/${id}/${key}`) }))} />
      {tab === "versions" && <Versions id={id} model={model} />}
      {tab === "notes" && <Notes id={`model ${model.id}`} text={model.notes} save={(notes) => patch.mutateAsync({ notes })} />}
      {tab === "metadata" && <Metadata value={model.metadata} />}
      {actions.dialogs}
      {editing && <EditModel model={model} save={(changes) => patch.mutateAsync(changes)} onClose={() => setEditing(false)} />}
    </div>
  );
}

/** The versions, the newest first, read in pages as they come into sight. */
function Versions({ id, model }: { id: string; model: Model }) {
  const call = (offset: number, limit = PAGE) => api.getModelVersions({ modelName: id, offset, limit, orderBy: "ORDER_BY_DESC", sortBy: "SORT_BY_VERSION" });
  const { total, at, error, onSight, isPending } = useRows(id, call, (reply) => reply.modelVersions, EVERY_MS);
  const columns = useMemo(() => columnsOf(model), [model.id]);
  return (
    <section class="panel fills">
      {error && total === null ? <Failure error={error} /> : (
        <Table label="Versions" fill columns={columns} count={total ?? 0} at={at} rowKey={(v) => v.id} href={(v) => to(`models/${id}/versions/${v.version}`)} onSight={onSight}
          all={() => rowsForFile(call, (reply) => reply.modelVersions)}
          instead={isPending ? <Waiting lines={6} /> : <Empty title="No versions yet">Register a checkpoint of a trial as the first version, on the trial's page.</Empty>} />
      )}
    </section>
  );
}

const Metadata = ({ value }: { value: Record<string, unknown> | null }) => (
  <section class="panel">{Object.keys(value ?? {}).length ? <pre class="source" tabIndex={0} aria-label="Metadata">{toYaml(value).split("\n").map(plain).join("\n")}</pre> : <Empty title="No metadata">Programs keep values here: <code>model.add_metadata()</code>.</Empty>}</section>
);

function EditModel({ model, save, onClose }: { model: Model; save: (changes: { name: string; description: string }) => Promise<unknown>; onClose: () => void }) {
  const [name, setName] = useState(model.name);
  const [description, setDescription] = useState(model.description);
  const [mistake, setMistake] = useState<string>();
  const submit = (event: Event) => { event.preventDefault(); save({ name: name.trim(), description }).then(onClose, (error: Error) => setMistake(error.message)); };
  return (
    <Dialog title="Edit the model" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField label="Name" value={name} onInput={setName} required mistake={mistake} />
        <TextField label="Description" value={description} onInput={setDescription} />
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary">Save</Button></div>
      </form>
    </Dialog>
  );
}

/** One version: what it is made of, its aliases, notes. */
export function ModelVersionPage({ id, version }: { id: string; version: string }) {
  const names = { modelName: id, modelVersionNum: version };
  const { data, error } = useApi(api.getModelVersion(names), { every: EVERY_MS });
  const v = data?.modelVersion;
  const patch = useChange((changes: { notes?: string; comment?: string; name?: string }) => api.patchModelVersion({ ...names, modelVersion: changes }));
  const alias = useChange((name: string) => api.putModelAlias({ modelName: id, alias: name, version: Number(version) }));
  const drop = useChange((name: string) => api.deleteModelAlias({ modelName: id, alias: name }));
  const remove = useChange(() => api.deleteModelVersion(names));
  const [wanted, setWanted] = useState("");
  const [asking, setAsking] = useState(false);
  useTitle(v ? `${plain(v.model?.name ?? "")} ${v.version}` : "Version");
  if (error && !v) return <Failure error={error} />;
  if (!v) return <Waiting lines={6} />;
  const files = Object.entries(v.checkpoint?.resources ?? {}).filter(([name]) => !name.endsWith("/"));
  const put = (event: Event) => { event.preventDefault(); alias.mutate(wanted.trim(), { onSuccess: () => { setWanted(""); say(`“${plain(wanted.trim())}” names version ${version} now.`); }, onError: sayError }); };
  return (
    <div class="page">
      <header class="page-head">
        <div class="grow">
          <nav class="crumbs" aria-label="Where this is"><a href={to("models")}>Models</a> / <a href={to(`models/${id}`)}>{plain(v.model?.name ?? "")}</a></nav>
          <div class="row wraps"><h1>Version {v.version}</h1><span class="muted">{plain(v.name)}</span>{v.aliases.map((name) => <span key={name} class="chip">{plain(name)}<button type="button" aria-label={`Remove the alias ${plain(name)}`} onClick={() => drop.mutate(name, { onError: sayError })}>×</button></span>)}</div>
        </div>
        <div class="row unprinted">
          {v.checkpoint && <a class="button plain" href={new URL(`checkpoints/${v.checkpoint.uuid}`, root).href} download={`${v.checkpoint.uuid}.tar`}>Download</a>}
          <Button onClick={() => setAsking(true)}>Delete</Button>
        </div>
      </header>
      <div class="columns">
        <div class="stack">
          <Notes id={`version ${v.id}`} text={v.notes} save={(notes) => patch.mutateAsync({ notes })} />
          <section class="panel"><header><h2>Files <span class="muted number">{files.length}</span></h2><span class="muted number">{bytes(sizeOf(v))}</span></header>
            <ul class="body files">{files.map(([name, size]) => <li key={name} class="row spread"><span class="mono cut">{plain(name)}</span><span class="muted number">{bytes(size)}</span></li>)}</ul></section>
        </div>
        <section class="panel"><header><h2>Facts</h2></header>
          <div class="body stack">
            <dl class="facts">
              <dt>Checkpoint</dt><dd class="mono">{v.checkpoint?.uuid}</dd>
              <dt>From</dt><dd><From version={v} /></dd>
              <dt>Registered</dt><dd><Ago time={v.creationTime} /> by {plain(v.username)}</dd>
              {v.comment && <><dt>Comment</dt><dd>{plain(v.comment)}</dd></>}
              {v.labels.length > 0 && <><dt>Labels</dt><dd>{v.labels.map(plain).join(", ")}</dd></>}
            </dl>
            <form class="form" onSubmit={put}><TextField label="New alias" value={wanted} onInput={setWanted} placeholder="production" hint="A name that moves from version to version. Programs ask for it in place of a number." /><Button type="submit" disabled={!wanted.trim()} busy={alias.isPending}>Set alias</Button></form>
          </div>
        </section>
      </div>
      {asking && <Confirm title={`Delete version ${v.version}?`} action="Delete" danger busy={remove.isPending} onClose={() => setAsking(false)}
        onConfirm={() => remove.mutate(undefined, { onSuccess: () => { say(`Version ${v.version} is deleted.`); go(`models/${id}`); }, onError: (failure) => { setAsking(false); sayError(failure); } })}>
        It is no longer registered. The checkpoint itself stays, until its experiment's rules remove it.</Confirm>}
    </div>
  );
}
