// What a trial ran in: what its configuration asks for, the machine as its agent saw it, Python and its packages as the task reported them; beside
// another trial's if one is named.
import { useMemo, useState } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { AllocationEnvironment, Trial } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to, useParameter } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useSettled } from "@shared/lib/hooks";
import { csv, fileName, saveAs } from "@shared/lib/save";
import { pace } from "@shared/lib/states";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { AgainstField, SearchField, SelectField } from "@shared/ui/Form";
import { Sheet } from "@shared/ui/Sheet";
import { type Column, Table } from "@shared/ui/Table";
import { chosenOf, type Config, configurationFacts, differences, type Fact, factsOf, machineFacts, packagesOf, pythonFacts } from "./environment";

const nameOf = (one: AllocationEnvironment) => `Run ${one.trialRunId}, rank ${one.rank}, on ${plain(one.agentId)}`;

export function Environment({ trial }: { trial: Trial }) {
  const { data, error } = useApi(api.getTrialEnvironments({ trialId: trial.id }), { every: pace(trial.state) });
  const parent = useApi(api.getExperiment({ experimentId: trial.experimentId }));
  const [wanted, setWanted] = useParameter("container");
  const [other, setOther] = useParameter("against");
  const lost = (data ? null : error) ?? (parent.data ? null : parent.error);
  if (lost) return <Failure error={lost} />;
  if (!data || !parent.data) return <section class="panel"><Waiting lines={6} /></section>;
  const { config } = parent.data;
  const all = data.environments;
  const now = all.find((one) => one.containerId === wanted) ?? chosenOf(all);
  return (
    <div class="stack">
      <div class="toolbar unprinted">
        {all.length > 1 && <SelectField label="Container" quiet value={now!.containerId} options={all.map((one) => [one.containerId, nameOf(one)] as [string, string])} onChange={setWanted} />}
        {all.length === 1 && <span class="muted number">{nameOf(all[0]!)}</span>}
        <span class="grow" />
        <AgainstField what="trial" value={other} onChange={setOther} />
      </div>
      {other ? <Against trial={trial} config={config} record={now} other={Number(other)} /> : <Parts record={now} config={config} />}
    </div>
  );
}

function Parts({ record, config }: { record: AllocationEnvironment | null; config: Config }) {
  const python = record?.python ?? null;
  const packages = useMemo(() => packagesOf(python), [python]);
  return (
    <>
      <div class="tiles">
        <div class="stack">
          <Facts title="Machine" list={machineFacts(record?.host ?? null)} instead={record ? "Its agent has not described the machine." : "No agent has started the trial yet, or it ran elsewhere."} />
          <Facts title="Python" list={pythonFacts(python)} note={python?.seenByAgent ? "seen by the agent" : ""} instead="The trial's program has reported no Python." />
        </div>
        <Facts title="Configuration" list={configurationFacts(config)} instead="The configuration says nothing about the environment." />
      </div>
      {packages.length > 0 && <Packages list={packages} />}
    </>
  );
}

function Facts({ title, list, note, instead }: { title: string; list: Fact[]; note?: string; instead: string }) {
  return (
    <section class="panel">
      <header><h2>{title}</h2>{note && <span class="muted">{note}</span>}</header>
      <div class="body">
        {list.length === 0 ? <p class="muted">{instead}</p> : (
          <dl class="facts">{list.map(([name, value]) => [<dt key={`${name}:`}>{plain(name.replace(/^environment\./, ""))}</dt>, <dd key={name} class="mono">{plain(value)}</dd>])}</dl>
        )}
      </div>
    </section>
  );
}

const COLUMNS: Column<Fact>[] = [
  { key: "name", title: "Package", width: "minmax(140px, 1fr)", cell: ([name]) => <span class="mono cut" title={plain(name)}>{plain(name)}</span> },
  { key: "version", title: "Version", width: "minmax(100px, 1fr)", cell: ([, version]) => <span class="mono cut" title={plain(version)}>{plain(version)}</span> },
];

function Packages({ list }: { list: Fact[] }) {
  const [text, setText] = useState("");
  const fitting = list.filter(([name]) => name.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <section class="panel">
      <div class="toolbar"><SearchField label="Find a package" value={text} onInput={setText} /><span class="muted number" aria-live="polite">{count(fitting.length, "package")}</span></div>
      <Table label="Packages" columns={COLUMNS} count={fitting.length} at={(i) => fitting[i]} rowKey={([name]) => name} instead={<Empty title="No package fits">None of the {list.length} packages has “{text.trim()}” in its name.</Empty>} />
    </section>
  );
}

/** What differs between this trial and another: in what their configurations ask for, their machines and their packages. */
function Against({ trial, config, record, other }: { trial: Trial; config: Config; record: AllocationEnvironment | null; other: number }) {
  const id = useSettled(other);
  const theirs = useApi(api.getTrial({ trialId: id }), { enabled: id > 0 });
  const experimentId = theirs.data?.trial?.experimentId ?? 0;
  const parent = useApi(api.getExperiment({ experimentId }), { enabled: experimentId > 0 });
  const environments = useApi(api.getTrialEnvironments({ trialId: id }), { enabled: id > 0 });
  // What has been read stays on the screen when it could not be read again.
  const lost = [theirs, parent, environments].find((one) => one.error && !one.data)?.error;
  if (lost) return <section class="panel"><Failure error={lost} /></section>;
  if (!environments.data || !parent.data) return <section class="panel"><Waiting lines={6} /></section>;
  const rows = differences(factsOf(record, config), factsOf(chosenOf(environments.data.environments), parent.data.config));
  const missing = environments.data.environments.length === 0 ? `trial ${id}` : record ? "" : `trial ${trial.id}`;
  const save = () => saveAs(fileName(`environments of trials ${trial.id} and ${id}`, "csv"), csv([["difference", `trial ${trial.id}`, `trial ${id}`], ...rows.map((row) => [row.name, row.first, row.second])]));
  return (
    <section class="panel">
      <header><h2>{count(rows.length, "difference")}</h2>{rows.length > 0 && <Button kind="bare" onClick={save}>Save as CSV</Button>}</header>
      {missing && <p class="body muted">What {missing} ran in is not recorded: no agent has started it yet, or it ran elsewhere.</p>}
      {rows.length === 0 ? <Empty title="No difference">Both ran in the same environment.</Empty> : (
        <Sheet label={`Environments of trial ${trial.id} and of trial ${id}`} name="Difference" heads={[`Trial ${trial.id}`, <a href={to(`experiments/${experimentId}/trials/${id}/environment`)}>Trial {id}</a>]}
          rows={rows.map((row) => ({ name: row.name, cells: [row.first, row.second].map((value) => (value === "" ? "–" : <span title={plain(value)}>{plain(value)}</span>)) }))} />
      )}
    </section>
  );
}
