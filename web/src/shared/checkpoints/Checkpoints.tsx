// The checkpoints of a trial or an experiment: what each holds, download, registration, deletion after a question.
import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Checkpoint } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { root, to } from "@shared/lib/address";
import { bytes, count, metric } from "@shared/lib/format";
import { Button } from "@shared/ui/Button";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { Empty } from "@shared/ui/Empty";
import { Menu } from "@shared/ui/Menu";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, type Order, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import { Register } from "./Register";

export const sizeOf = (c: Checkpoint) => Object.values(c.resources ?? {}).reduce((sum, size) => sum + Number(size), 0);
export const stepsOf = (c: Checkpoint) => Number((c.metadata ?? {}).steps_completed ?? 0);
const isWhole = (c: Checkpoint) => c.state === "STATE_COMPLETED" || c.state === "STATE_PARTIALLY_DELETED";

/** Where the master gives the files as one archive. */
const archiveOf = (uuid: string) => new URL(`checkpoints/${uuid}`, root).href;

const columnsOf = (show: (c: Checkpoint) => void, trials: boolean): Column<Checkpoint>[] => [
  { key: "steps", title: "Batches", width: "86px", sort: "down", end: true, cell: (c) => stepsOf(c).toLocaleString("en") },
  { key: "uuid", title: "Checkpoint", width: "minmax(96px, 2fr)", cell: (c) => <button type="button" class="link mono cut" title={c.uuid} onClick={() => show(c)}>{c.uuid}</button> },
  ...(trials ? [{ key: "trial", title: "Trial", width: "80px", sort: "up" as const, wide: true, cell: (c: Checkpoint) => (c.training?.trialId ? <a href={to(`experiments/${c.training.experimentId}/trials/${c.training.trialId}/checkpoints`)}>{c.training.trialId}</a> : "–") }] : []),
  { key: "state", title: "State", width: "118px", cell: (c) => <StateBadge state={c.state} /> },
  { key: "metric", title: "Metric", width: "110px", sort: "up", end: true, wide: true, cell: (c) => metric(c.training?.searcherMetric) },
  { key: "size", title: "Size", width: "96px", end: true, wide: true, cell: (c) => bytes(sizeOf(c)) },
  { key: "time", title: "Stored", width: "110px", sort: "down", wide: true, cell: (c) => <Ago time={c.reportTime} /> },
];

interface Props {
  list: Checkpoint[];
  total: number;
  trials?: boolean;
  order?: Order;
  onOrder?: (order: Order) => void;
  instead?: preact.ComponentChild;
}

export function Checkpoints({ list, total, trials = false, order, onOrder, instead }: Props) {
  const [shown, show] = useState<Checkpoint | null>(null);
  const [registering, register] = useState<Checkpoint | null>(null);
  const [deleting, remove] = useState<Checkpoint | null>(null);
  const drop = useChange((c: Checkpoint) => api.deleteCheckpoints({ checkpointUuids: [c.uuid] }));
  const confirm = () => deleting && drop.mutate(deleting, {
    onSuccess: () => { remove(null); say("The checkpoint is being deleted."); },
    onError: (error) => { remove(null); sayError(error); },
  });
  const gone = (c: Checkpoint) => (isWhole(c) ? undefined : "Its files are gone");
  return (
    <>
      <Table label="Checkpoints" columns={columnsOf(show, trials)} count={list.length} at={(i) => list[i]} rowKey={(c) => c.uuid} {...(order ? { order } : {})} {...(onOrder ? { onOrder } : {})}
        menu={(c) => <Menu label={`Actions of checkpoint ${c.uuid.slice(0, 8)}`} actions={[
          { label: "Download", refused: gone(c), perform: () => { Object.assign(document.createElement("a"), { href: archiveOf(c.uuid), download: `${c.uuid}.tar` }).click(); } },
          { label: "Register as a model's version", refused: gone(c), perform: () => register(c) },
          { label: "Files and metadata", perform: () => show(c) },
          { label: "Delete", danger: true, refused: gone(c), perform: () => remove(c) },
        ]} />}
        instead={instead ?? <Empty title="No checkpoints">None was stored, or the rules of the experiment have removed them.</Empty>} />
      {total > list.length && <p class="muted more">The first {list.length} of {total.toLocaleString("en")}.</p>}
      {shown && <About c={shown} onClose={() => show(null)} />}
      {registering && <Register uuid={registering.uuid} onClose={() => register(null)} />}
      {deleting && (
        <Confirm title="Delete this checkpoint?" action="Delete" danger busy={drop.isPending} onConfirm={confirm} onClose={() => remove(null)}>
          {bytes(sizeOf(deleting))} in {count(Object.keys(deleting.resources ?? {}).length, "file")} of batch {stepsOf(deleting).toLocaleString("en")} are removed from the storage for good.
        </Confirm>
      )}
    </>
  );
}

/** Everything about one checkpoint. */
function About({ c, onClose }: { c: Checkpoint; onClose: () => void }) {
  const files = Object.entries(c.resources ?? {}).filter(([name]) => !name.endsWith("/"));
  const metadata = Object.entries(c.metadata ?? {});
  return (
    <Dialog title="Checkpoint" wide onClose={onClose}>
      <div class="stack">
        <dl class="facts">
          <dt>UUID</dt><dd class="mono">{c.uuid}</dd>
          <dt>Stored</dt><dd><Ago time={c.reportTime} /></dd>
          <dt>Size</dt><dd>{bytes(sizeOf(c))}</dd>
          {metadata.map(([name, value]) => [<dt key={`${name}:`}>{plain(name)}</dt>, <dd key={name} class="mono">{plain(typeof value === "string" ? value : JSON.stringify(value))}</dd>])}
        </dl>
        <h3>Files</h3>
        <ul class="files" tabIndex={0} aria-label="Files of the checkpoint">{files.map(([name, size]) => <li key={name} class="row spread"><span class="mono cut">{plain(name)}</span><span class="muted number">{bytes(size)}</span></li>)}</ul>
        <div class="row"><span class="grow" /><Button onClick={onClose}>Close</Button>{isWhole(c) && <a class="button primary" href={archiveOf(c.uuid)} download={`${c.uuid}.tar`}>Download</a>}</div>
      </div>
    </Dialog>
  );
}
