import { useState } from "preact/hooks";
import { useWorkspaces } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Webhook, WebhookMode, WebhookType } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { words } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SelectField, TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { say, sayError } from "@shared/ui/Toast";

const STATES = ["COMPLETED", "ERROR", "CANCELED"] as const;
const triggersOf = (w: Webhook) => w.triggers.map((t) => (t.triggerType === "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE" ? String((t.condition ?? {}).state ?? "state") : words(t.triggerType.replace("TRIGGER_", ""))).toLowerCase()).join(", ");

export function WebhooksPage() {
  useTitle("Webhooks");
  const { data, error } = useApi(api.getWebhooks(), { every: 15_000 });
  const spaces = useWorkspaces();
  const [making, setMaking] = useState(false);
  const [deleting, remove] = useState<Webhook | null>(null);
  const test = useChange((id: number) => api.testWebhook({ id }));
  const drop = useChange((id: number) => api.deleteWebhook({ id }));
  const all = data?.webhooks ?? [];
  const columns: Column<Webhook>[] = [
    { key: "name", title: "Webhook", width: "minmax(120px, 2fr)", cell: (w) => <span class="cut">{plain(w.name) || `webhook ${w.id}`}</span> },
    { key: "url", title: "Address", width: "minmax(140px, 3fr)", wide: true, cell: (w) => <span class="cut mono" title={plain(w.url)}>{plain(w.url)}</span> },
    { key: "type", title: "Form", width: "90px", wide: true, cell: (w) => (w.webhookType === "WEBHOOK_TYPE_SLACK" ? "Slack" : "JSON") },
    { key: "where", title: "Workspace", width: "minmax(100px, 1fr)", wide: true, cell: (w) => <span class="cut">{w.workspaceId ? plain(spaces.rows?.find((s) => s.id === w.workspaceId)?.name ?? String(w.workspaceId)) : "all"}</span> },
    { key: "when", title: "When", width: "minmax(120px, 2fr)", cell: (w) => <span class="cut" title={triggersOf(w)}>{triggersOf(w)}</span> },
  ];
  return (
    <div class="page fills">
      <header class="page-head"><h1>Webhooks</h1><span class="grow" /><Button kind="primary" onClick={() => setMaking(true)}>New webhook</Button></header>
      <section class="panel fills">
        {error && !data ? <Failure error={error} /> : <Table label="Webhooks" fill columns={columns} count={all.length} at={(i) => all[i]} rowKey={(w) => w.id}
          menu={(w) => <Menu label={`Actions of webhook ${w.id}`} actions={[
            { label: "Send a test", perform: () => test.mutate(w.id, { onSuccess: ({ completed }) => say(completed ? "The test was delivered." : "The test was sent, but not accepted.", { bad: !completed }), onError: sayError }) },
            { label: "Delete", danger: true, perform: () => remove(w) },
          ]} />}
          instead={data ? <Empty title="No webhooks">A webhook tells another program, or Slack, when an experiment ends.</Empty> : <Waiting lines={4} />} />}
      </section>
      {making && <NewWebhook onClose={() => setMaking(false)} />}
      {deleting && <Confirm title="Delete this webhook?" action="Delete" danger busy={drop.isPending} onClose={() => remove(null)}
        onConfirm={() => drop.mutate(deleting.id, { onSuccess: () => { remove(null); say("The webhook is deleted."); }, onError: (failure) => { remove(null); sayError(failure); } })}>Nothing more is sent to {plain(deleting.url)}.</Confirm>}
    </div>
  );
}

function NewWebhook({ onClose }: { onClose: () => void }) {
  const spaces = useWorkspaces();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [type, setType] = useState<WebhookType>("WEBHOOK_TYPE_DEFAULT");
  const [mode, setMode] = useState<WebhookMode>("WEBHOOK_MODE_WORKSPACE");
  const [workspace, setWorkspace] = useState("");
  const [states, setStates] = useState<string[]>(["COMPLETED", "ERROR"]);
  const [alerts, setAlerts] = useState(false);
  const triggers = [...states.map((state) => ({ triggerType: "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE", condition: { state } })), ...(alerts ? [{ triggerType: "TRIGGER_TYPE_CUSTOM", condition: {} }] : [])];
  const make = useChange(() => api.postWebhook({ webhook: { name: name.trim(), url: url.trim(), webhookType: type, mode, triggers: triggers as never, ...(workspace ? { workspaceId: Number(workspace) } : {}) } }));
  const submit = (event: Event) => { event.preventDefault(); if (triggers.length) make.mutate(undefined, { onSuccess: () => { say("The webhook is made."); onClose(); }, onError: () => {} }); };
  return (
    <Dialog title="New webhook" onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField label="Name" value={name} onInput={setName} required autofocus />
        <TextField label="Address" type="url" value={url} onInput={setUrl} required placeholder="https://example.com/hook" />
        <SelectField label="Form" value={type} onChange={setType} options={[["WEBHOOK_TYPE_DEFAULT", "JSON, signed"], ["WEBHOOK_TYPE_SLACK", "Slack"]]} />
        <SelectField label="Workspace" value={workspace} onChange={setWorkspace} lost={spaces.error} options={[["", "All"], ...(spaces.rows ?? []).map((w) => [String(w.id), plain(w.name)] as [string, string])]} />
        <SelectField label="Experiments" value={mode} onChange={setMode} options={[["WEBHOOK_MODE_WORKSPACE", "All"], ["WEBHOOK_MODE_SPECIFIC", "Those whose configuration names it"]]} />
        <fieldset class="group"><legend>When</legend>
          {STATES.map((state) => <CheckField key={state} label={`An experiment is ${state === "ERROR" ? "failed" : state.toLowerCase()}`} checked={states.includes(state)} onChange={(on) => setStates(on ? [...states, state] : states.filter((one) => one !== state))} />)}
          <CheckField label="Its code sends an alert" checked={alerts} onChange={setAlerts} />
        </fieldset>
        {make.error && <p class="mistake" role="alert">{make.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={make.isPending} disabled={triggers.length === 0}>Create</Button></div>
      </form>
    </Dialog>
  );
}
