// The checkpoints of an experiment, and its rules of which are kept: a change shows what it would remove before it is made.
import { useQuery } from "@tanstack/preact-query";
import { useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import type { Call } from "@shared/api/call";
import { Checkpoints } from "@shared/checkpoints/Checkpoints";
import { useParameter } from "@shared/lib/address";
import { bytes, count, metric } from "@shared/lib/format";
import { useSettled } from "@shared/lib/hooks";
import { pace } from "@shared/lib/states";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { TextField } from "@shared/ui/Form";
import { say } from "@shared/ui/Toast";

const MAX = 500;
const SORTS = { steps: "SORT_BY_BATCH_NUMBER", metric: "SORT_BY_SEARCHER_METRIC", time: "SORT_BY_END_TIME", trial: "SORT_BY_TRIAL_ID" } as const;

export function ExperimentCheckpoints({ x, config }: { x: Experiment; config: Record<string, unknown> | null }) {
  const [sort, setSort] = useParameter("sort", "-time");
  const [changing, setChanging] = useState(false);
  const [key, down] = [sort.replace("-", ""), sort.startsWith("-")];
  const { data, error } = useApi(api.getExperimentCheckpoints({ id: x.id, limit: MAX, sortByAttr: SORTS[key as "time"] ?? "SORT_BY_END_TIME", orderBy: down ? "ORDER_BY_DESC" : "ORDER_BY_ASC" }), { every: pace(x.state), keep: true });
  if (error && !data) return <Failure error={error} />;
  return (
    <section class="panel">
      <header><h2>{count(x.checkpointCount, "checkpoint")} <span class="muted number">{bytes(x.checkpointSize)}</span></h2><Button onClick={() => setChanging(true)}>Rules for keeping them</Button></header>
      {data ? <Checkpoints list={data.checkpoints} total={data.pagination?.total ?? 0} trials order={{ key, down }} onOrder={(order) => setSort(`${order.down ? "-" : ""}${order.key}`)} /> : <Waiting lines={5} />}
      {changing && <Rules x={x} config={config} onClose={() => setChanging(false)} />}
    </section>
  );
}

interface Preview {
  checkpoints: { UUID: string; TrialID: number; StepsCompleted: number; Size: number; ValidationMetrics: Record<string, unknown> | null }[];
  metric_name: string;
}
const FIELDS = [["save_experiment_best", "Best of the experiment"], ["save_trial_best", "Best of each trial"], ["save_trial_latest", "Latest of each trial"]] as const;

/** This route is older than the tables of routes. */
const previewOf = (id: number, values: string[]): Call<Preview> => ({ method: "GET", path: `experiments/${id}/preview_gc?${FIELDS.map(([name], i) => `${name}=${values[i]}`).join("&")}`, body: undefined });

function Rules({ x, config, onClose }: { x: Experiment; config: Record<string, unknown> | null; onClose: () => void }) {
  const storage = (config?.checkpoint_storage ?? {}) as Record<string, unknown>;
  const [values, setValues] = useState(FIELDS.map(([name], i) => String(storage[name] ?? [0, 1, 1][i])));
  const good = values.every((value) => /^\d{1,6}$/.test(value));
  const settled = useSettled(values.join(" "), 300).split(" ");
  const { data, error } = useQuery({ queryKey: ["preview_gc", x.id, ...settled], queryFn: () => send(previewOf(x.id, settled)), enabled: good });
  const [best, trialBest, trialLatest] = values.map(Number);
  const change = useChange(() => api.patchExperiment({ experimentId: x.id, experiment: { checkpointStorage: { saveExperimentBest: best!, saveTrialBest: trialBest!, saveTrialLatest: trialLatest! } } }));
  const gone = data?.checkpoints ?? [];
  const size = gone.reduce((sum, c) => sum + c.Size, 0);
  const submit = (event: Event) => {
    event.preventDefault();
    if (good) change.mutate(undefined, { onSuccess: () => { say("The rules are changed."); onClose(); }, onError: () => {} });
  };
  return (
    <Dialog title="Which checkpoints are kept" wide onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        <div class="thirds">{FIELDS.map(([name, label], i) => <TextField key={name} label={label} value={values[i]!} inputMode="numeric" onInput={(value) => setValues(values.map((old, at) => (at === i ? value : old)))} mistake={/^\d{1,6}$/.test(values[i]!) ? undefined : "A whole number, 0 or more"} />)}</div>
        {error ? <p class="mistake" role="alert">{error.message}</p> : good && data ? (
          <>
            <p class={gone.length ? "notice" : "muted"} role="status">{gone.length === 0 ? "Nothing would be removed now." : `${count(gone.length, "checkpoint")} with ${bytes(size)} would be removed${x.endTime ? " at once" : " when the experiment ends"}. That cannot be undone.`}</p>
            {gone.length > 0 && <ul class="files" tabIndex={0} aria-label="Would be removed">{gone.slice(0, 200).map((c) => <li key={c.UUID} class="row spread"><span class="mono cut">{c.UUID}</span><span class="muted number">trial {c.TrialID}, batch {c.StepsCompleted.toLocaleString("en")}, {metric(c.ValidationMetrics?.[data.metric_name])}, {bytes(c.Size)}</span></li>)}</ul>}
          </>
        ) : <p class="muted">…</p>}
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind={gone.length ? "danger" : "primary"} busy={change.isPending} disabled={!good}>{gone.length ? `Change the rules, remove ${gone.length}` : "Change the rules"}</Button></div>
      </form>
    </Dialog>
  );
}
