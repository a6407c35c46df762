import { useState } from "preact/hooks";
import { useUsers, useWorkspaces } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Quota, User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SelectField, TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { Load } from "@shared/ui/Progress";
import { type Column, Table } from "@shared/ui/Table";
import { say, sayError } from "@shared/ui/Toast";
import { useRefused } from "./permissions";

const EVERY_MS = 5000;
const keyOf = ({ workspaceId, userId }: Quota) => `${workspaceId} ${userId}`;

const COLUMNS: Column<Quota>[] = [
  { key: "name", title: "Of", width: "minmax(150px, 2fr)", cell: (q) => <b class="cut" title={plain(q.name)}>{plain(q.name)}</b> },
  { key: "use", title: "In use", width: "minmax(110px, 2fr)", wide: true, cell: (q) => <Load used={Math.min(q.used, q.limit)} total={q.limit} label={`Slots in use of those that ${plain(q.name)} may use`} /> },
  { key: "used", title: "Slots", width: "70px", end: true, cell: (q) => q.used },
  { key: "borrowed", title: "Borrowed", width: "86px", end: true, wide: true, cell: (q) => (q.borrowed > 0 ? <b>{q.borrowed}</b> : 0) },
  { key: "slots", title: "Quota", width: "76px", end: true, cell: (q) => q.slots },
  { key: "limit", title: "Limit", width: "76px", end: true, wide: true, cell: (q) => q.limit },
];

export function QuotasPage({ user: me }: { user: User }) {
  useTitle("Quotas");
  const { data, error } = useApi(api.getQuotas({}), { every: EVERY_MS });
  const [editing, edit] = useState<Quota | "new" | null>(null);
  const [removing, remove] = useState<Quota | null>(null);
  const drop = useChange(({ workspaceId, userId }: Quota) => api.setQuota({ workspaceId, userId, remove: true }));
  const quotas = [...(data?.quotas ?? [])].sort((a, b) => a.name.localeCompare(b.name));
  const borrowed = quotas.reduce((sum, q) => sum + q.borrowed, 0);
  const refused = useRefused(me)("PERMISSION_TYPE_SET_RESOURCE_QUOTAS", "Only an admin may change quotas");
  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Quotas</h1><span class="muted number">{data ? `${count(quotas.length, "quota")}${borrowed ? `, ${count(borrowed, "slot")} borrowed` : ""}` : ""}</span>
        <span class="grow" /><Button kind="primary" disabled={Boolean(refused)} title={refused} onClick={() => edit("new")}>New quota</Button>
      </header>
      <p class="muted">A quota is what somebody can count on. Up to the limit they may borrow slots that others leave unused; these are given back when their owner needs them.</p>
      <section class="panel fills">
        {error && !data ? <Failure error={error} /> : (
          <Table label="Quotas" fill columns={COLUMNS} count={quotas.length} at={(i) => quotas[i]} rowKey={keyOf}
            menu={(q) => <Menu label={`Actions of the quota of ${plain(q.name)}`} actions={[{ label: "Change", refused, perform: () => edit(q) }, { label: "Remove", danger: true, refused, perform: () => remove(q) }]} />}
            instead={data ? <Empty title="No quotas">Everybody may use what is free. A quota sets slots aside for a workspace, a user, or a user within a workspace.</Empty> : <Waiting lines={4} />} />
        )}
      </section>
      {editing && <QuotaDialog quota={editing === "new" ? null : editing} onClose={() => edit(null)} />}
      {removing && <Confirm title={`Remove the quota of ${plain(removing.name)}?`} action="Remove" danger busy={drop.isPending} onClose={() => remove(null)}
        onConfirm={() => drop.mutate(removing, { onSuccess: () => { remove(null); say("The quota is removed."); }, onError: (failure) => { remove(null); sayError(failure); } })}>
        From then on they use what is free, without a limit. What runs goes on.
      </Confirm>}
    </div>
  );
}

const isWhole = (text: string) => /^\d{1,7}$/.test(text.trim());

function QuotaDialog({ quota, onClose }: { quota: Quota | null; onClose: () => void }) {
  const spaces = useWorkspaces();
  const users = useUsers({ active: true });
  const [workspace, setWorkspace] = useState(String(quota?.workspaceId ?? 0));
  const [user, setUser] = useState(String(quota?.userId ?? 0));
  const [slots, setSlots] = useState(String(quota?.slots ?? ""));
  const [limit, setLimit] = useState(quota && quota.limit !== quota.slots ? String(quota.limit) : "");
  const make = useChange(() => api.setQuota({ workspaceId: Number(workspace), userId: Number(user), slots: Number(slots), ...(limit.trim() ? { limit: Number(limit) } : {}) }));
  const bad = slots && !isWhole(slots) ? "A whole number, 0 or more" : undefined;
  const badLimit = limit && !isWhole(limit) ? "A whole number, 0 or more" : limit && Number(limit) < Number(slots) ? "At least the quota" : undefined;
  const nobody = workspace === "0" && user === "0";
  const submit = (event: Event) => { event.preventDefault(); if (!bad && !badLimit && !nobody) make.mutate(undefined, { onSuccess: () => { say("The quota is set."); onClose(); }, onError: () => {} }); };
  return (
    <Dialog title={quota ? `Quota of ${plain(quota.name)}` : "New quota"} onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        {!quota && <>
          <SelectField label="Workspace" value={workspace} onChange={setWorkspace} lost={spaces.error} options={[["0", "All"], ...(spaces.rows ?? []).map((w) => [String(w.id), plain(w.name)] as [string, string])]} />
          <SelectField label="User" value={user} onChange={setUser} lost={users.error} options={[["0", "All together"], ...(users.rows ?? []).map((u) => [String(u.id), plain(u.username)] as [string, string])]} hint={nobody ? "Choose a workspace, a user, or both." : undefined} />
        </>}
        <TextField label="Slots of their own" inputMode="numeric" value={slots} onInput={setSlots} mistake={bad} />
        <TextField label="Limit with what is borrowed" inputMode="numeric" value={limit} onInput={setLimit} mistake={badLimit} placeholder={slots} hint="Empty: the same, nothing is borrowed." />
        {make.error && <p class="mistake" role="alert">{make.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={make.isPending} disabled={!isWhole(slots) || nobody || Boolean(badLimit)}>Save</Button></div>
      </form>
    </Dialog>
  );
}
