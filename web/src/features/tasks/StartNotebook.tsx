import { useState } from "preact/hooks";
import { useTemplates, useWorkspaces } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go } from "@shared/lib/address";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { SelectField, TextField } from "@shared/ui/Form";
import { say } from "@shared/ui/Toast";

/** Starts a notebook: the few things that people choose; everything else is the cluster's or the template's. */
export function StartNotebook({ onClose }: { onClose: () => void }) {
  const { data: pools, error: noPools } = useApi(api.getResourcePools({}));
  const workspaces = useWorkspaces({ archived: false });
  const templates = useTemplates();
  const [description, setDescription] = useState("");
  const [slots, setSlots] = useState("0");
  const [pool, setPool] = useState("");
  const [template, setTemplate] = useState("");
  const [workspace, setWorkspace] = useState("");
  const change = useChange((config: Record<string, unknown>) => api.launchNotebook({ config, templateName: template, ...(workspace ? { workspaceId: Number(workspace) } : {}) }));
  const mistake = /^\d{1,5}$/.test(slots) ? undefined : "A whole number, 0 or more";
  const submit = (event: Event) => {
    event.preventDefault();
    if (mistake) return;
    const config = { ...(description.trim() ? { description: description.trim() } : {}), resources: { slots: Number(slots), ...(pool ? { resource_pool: pool } : {}) } };
    change.mutate(config, { onSuccess: ({ notebook, configWarnings }) => {
      for (const warning of configWarnings) say(warning, { bad: true });
      go(`tasks/${notebook!.id}`);
    }, onError: () => {} });
  };
  return (
    <Dialog title="New notebook" onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        <TextField label="Name" value={description} onInput={setDescription} maxLength={200} autofocus hint="A name is made if this is empty." />
        <TextField label="Slots" value={slots} onInput={setSlots} inputMode="numeric" mistake={mistake} hint="GPUs, or CPUs in a pool without GPUs. 0: none of its own." />
        <SelectField label="Resource pool" value={pool} onChange={setPool} lost={noPools} options={[["", "The default one"], ...(pools?.resourcePools ?? []).map((p) => [p.name, plain(p.name)] as [string, string])]} />
        {((templates.rows?.length ?? 0) > 0 || templates.error) && <SelectField label="Template" value={template} onChange={setTemplate} lost={templates.error} options={[["", "None"], ...(templates.rows ?? []).map((t) => [t.name, plain(t.name)] as [string, string])]} />}
        {((workspaces.rows?.length ?? 0) > 1 || workspaces.error) && <SelectField label="Workspace" value={workspace} onChange={setWorkspace} lost={workspaces.error} options={[["", "The default one"], ...(workspaces.rows ?? []).map((w) => [String(w.id), plain(w.name)] as [string, string])]} />}
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={change.isPending}>Start</Button></div>
      </form>
    </Dialog>
  );
}
