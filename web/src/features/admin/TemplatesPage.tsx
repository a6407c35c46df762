import { load } from "js-yaml";
import { useMemo, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useTemplates, useWorkspaces } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Template } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { counted } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { toYaml } from "@shared/lib/yaml";
import { Button } from "@shared/ui/Button";
import { Diff } from "@shared/ui/Diff";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { Field, SelectField, TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { say, sayError } from "@shared/ui/Toast";

/** A map in YAML, or what is wrong with it. */
export function readYaml(text: string): { value: Record<string, unknown> | null; mistake: string | undefined } {
  try {
    const value: unknown = load(text) ?? {};
    return typeof value === "object" && !Array.isArray(value) ? { value: value as Record<string, unknown>, mistake: undefined } : { value: null, mistake: "A configuration is a map: key: value" };
  } catch (error) {
    const { reason, mark } = error as { reason?: string; mark?: { line: number } };
    return { value: null, mistake: `${mark ? `line ${mark.line + 1}: ` : ""}${reason ?? (error as Error).message}` };
  }
}

export function TemplatesPage() {
  useTitle("Templates");
  const { rows, total, error } = useTemplates({ every: 15_000 });
  const spaces = useWorkspaces();
  const [editing, edit] = useState<Template | "new" | null>(null);
  const [trying, tryOut] = useState<Template | null>(null);
  const [deleting, remove] = useState<Template | null>(null);
  const drop = useChange((templateName: string) => api.deleteTemplate({ templateName }));
  const all = rows ?? [];
  const columns: Column<Template>[] = [
    { key: "name", title: "Template", width: "minmax(140px, 2fr)", cell: (t) => <button type="button" class="link cut" onClick={() => edit(t)}>{plain(t.name)}</button> },
    { key: "where", title: "Workspace", width: "minmax(110px, 1fr)", wide: true, cell: (t) => <span class="cut">{plain(spaces.rows?.find((w) => w.id === t.workspaceId)?.name ?? "")}</span> },
    { key: "keys", title: "Sets", width: "minmax(140px, 3fr)", cell: (t) => <span class="cut muted">{Object.keys(t.config ?? {}).map(plain).join(", ")}</span> },
  ];
  return (
    <div class="page fills">
      <header class="page-head"><h1>Templates</h1><span class="muted number">{rows ? counted(all.length, total, "template") : ""}</span><span class="grow" /><Button kind="primary" onClick={() => edit("new")}>New template</Button></header>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : <Table label="Templates" fill columns={columns} count={all.length} at={(i) => all[i]} rowKey={(t) => t.name}
          menu={(t) => <Menu label={`Actions of template ${plain(t.name)}`} actions={[{ label: "Edit", perform: () => edit(t) }, { label: "Try it on a configuration", perform: () => tryOut(t) }, { label: "Delete", danger: true, perform: () => remove(t) }]} />}
          instead={rows ? <Empty title="No templates">A template supplies the keys that a configuration does not set: an image, mounts, a pool.</Empty> : <Waiting lines={4} />} />}
      </section>
      {editing && <Editor template={editing === "new" ? null : editing} spaces={spaces.rows ?? []} onClose={() => edit(null)} />}
      {trying && <DryRun template={trying} onClose={() => tryOut(null)} />}
      {deleting && <Confirm title={`Delete the template “${plain(deleting.name)}”?`} action="Delete" danger busy={drop.isPending} onClose={() => remove(null)}
        onConfirm={() => drop.mutate(deleting.name, { onSuccess: () => { remove(null); say("The template is deleted."); }, onError: (failure) => { remove(null); sayError(failure); } })}>Configurations that name it are refused from then on. Experiments that were created with it stay as they are.</Confirm>}
    </div>
  );
}

function Editor({ template, spaces, onClose }: { template: Template | null; spaces: { id: number; name: string }[]; onClose: () => void }) {
  const [name, setName] = useState("");
  const [workspace, setWorkspace] = useState(String(spaces[0]?.id ?? 1));
  const [text, setText] = useState(() => (template ? `${toYaml(template.config ?? {})}\n` : "environment:\n  environment_variables:\n    - EXAMPLE=1\n"));
  const { value, mistake } = useMemo(() => readYaml(text), [text]);
  const make = useChange(() => (template ? api.patchTemplateConfig({ templateName: template.name, config: value! }) : api.postTemplate({ templateName: name.trim(), template: { name: name.trim(), config: value!, workspaceId: Number(workspace) } })));
  const submit = (event: Event) => { event.preventDefault(); if (value) make.mutate(undefined, { onSuccess: () => { say("The template is saved."); onClose(); }, onError: () => {} }); };
  return (
    <Dialog title={template ? `Template ${plain(template.name)}` : "New template"} wide onClose={onClose}>
      <form class="form" onSubmit={submit}>
        {!template && <><TextField label="Name" value={name} onInput={setName} required autofocus /><SelectField label="Workspace" value={workspace} onChange={setWorkspace} options={spaces.map((w) => [String(w.id), plain(w.name)] as [string, string])} /></>}
        <Field label="Configuration" mistake={mistake}>{({ id, describedBy, invalid }) => <textarea id={id} class="input area" rows={14} spellcheck={false} aria-describedby={describedBy} aria-invalid={invalid} value={text} onInput={(event) => setText(event.currentTarget.value)} />}</Field>
        {make.error && <p class="mistake" role="alert">{make.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={make.isPending} disabled={!value || (!template && !name.trim())}>Save</Button></div>
      </form>
    </Dialog>
  );
}

const EXAMPLE = "name: try\nentrypoint: python3 train.py\nsearcher: {name: single, metric: loss}\n";

/** What the master makes of a configuration with the template, beside what it makes of it without. Nothing is created. */
function DryRun({ template, onClose }: { template: Template; onClose: () => void }) {
  const [text, setText] = useState(EXAMPLE);
  const [made, setMade] = useState<{ before: string; after: string } | null>(null);
  const [mistake, setMistake] = useState("");
  const [busy, setBusy] = useState(false);
  const merged = (more: { template?: string }) => send(api.createExperiment({ config: text, validateOnly: true, modelDefinition: [], ...more })).then(({ config }) => toYaml(config ?? {}));
  const submit = (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setMistake("");
    Promise.all([merged({}), merged({ template: template.name })]).then(([before, after]) => setMade({ before, after }), (error: Error) => { setMade(null); setMistake(error.message); }).finally(() => setBusy(false));
  };
  return (
    <Dialog title={`Try ${plain(template.name)}`} wide onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field label="Configuration" hint="Nothing is created: this shows what the template changes.">{({ id, describedBy }) => <textarea id={id} class="input area" rows={6} spellcheck={false} aria-describedby={describedBy} value={text} onInput={(event) => setText(event.currentTarget.value)} />}</Field>
        {mistake && <p class="mistake" role="alert">{mistake}</p>}
        {made && <Diff before={made.before} after={made.after} label="The configuration without and with the template" />}
        <div class="ends"><Button onClick={onClose}>Close</Button><Button type="submit" kind="primary" busy={busy}>Try</Button></div>
      </form>
    </Dialog>
  );
}
