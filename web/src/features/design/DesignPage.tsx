// Every building block in every state, on one page, to look at: of the development build only (npm run dev, then /det/design).
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { AwayError } from "@shared/api/client";
import { to } from "@shared/lib/address";
import type { Point } from "@shared/lib/series";
import { Button } from "@shared/ui/Button";
import { Chart, type Series } from "@shared/ui/Chart";
import { Diff } from "@shared/ui/Diff";
import { Confirm, Dialog, DialogBody } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, Choice, SearchField, SelectField, TextField } from "@shared/ui/Form";
import { type Move } from "@shared/ui/dragging";
import { LogView, type LogLine } from "@shared/ui/LogView";
import { type Action, Menu, MenuList } from "@shared/ui/Menu";
import { Load, Progress } from "@shared/ui/Progress";
import { Sheet } from "@shared/ui/Sheet";
import { StateBadge } from "@shared/ui/StateBadge";
import { type Column, type Order, Table } from "@shared/ui/Table";
import { say, ToastBody } from "@shared/ui/Toast";
import { Mistakes, YamlEditor } from "@shared/ui/YamlEditor";
import { type Mistake } from "@shared/config/check";
import "./design.css";

const STATES = ["QUEUED", "PULLING", "STARTING", "RUNNING", "ACTIVE", "PAUSED", "STOPPING_COMPLETED", "STOPPING_CANCELED", "STOPPING_ERROR", "COMPLETED", "CANCELED", "ERROR", "DELETING", "DELETE_FAILED", "SCHEDULED", "ENABLED", "DRAINING", "DISABLED", "LOST"];
const COLOURS = ["page", "surface", "raised", "sunken", "hover", "selected", "line", "line-strong", "text", "muted", "link", "accent", "good", "busy", "wait", "bad", "idle"];

export function DesignPage() {
  return (
    <div class="page design">
      <header class="page-head"><h1>Building blocks</h1><span class="muted">Pages are made of these thirteen, and of nothing else.</span></header>
      <Block title="Tokens">
        <div class="swatches">{COLOURS.map((name) => <span key={name}><i style={{ background: `var(--${name})` }} />{name}</span>)}</div>
        <div class="swatches">{Array.from({ length: 8 }, (_, i) => <span key={i}><i style={{ background: `var(--series-${i + 1})` }} />series-{i + 1}</span>)}</div>
      </Block>
      <Block title="1 Table"><Tables /></Block>
      <Block title="2 Form"><Forms /></Block>
      <Block title="3 Chart"><Charts /></Block>
      <Block title="4 Log view"><Logs /></Block>
      <Block title="5 State badge"><div class="row wraps">{STATES.map((state) => <StateBadge key={state} state={`STATE_${state}`} />)}</div></Block>
      <Block title="6 Progress">
        <div class="bars">
          {[0, 0.07, 0.5, 1].map((value) => <Progress key={value} value={value} label="Progress" />)}
          <Progress value={null} label="Progress" /><Progress value={1} label="Progress" tone="good" /><Progress value={0.6} label="Progress" tone="bad" /><Progress value={0.6} label="Progress" tone="idle" />
          <Load used={5} total={12} label="Slots" /><Load used={0} total={0} label="Slots" />
        </div>
      </Block>
      <Block title="7 Dialog"><Dialogs /></Block>
      <Block title="8 Menu"><Menus /></Block>
      <Block title="9 Toast">
        <div class="stack close narrow">
          <ToastBody message={{ id: 1, text: "Experiment 41 is paused.", bad: false }} onClose={() => {}} />
          <ToastBody message={{ id: 2, text: "experiment 41 belongs to bob: only its owner and admins may pause it", bad: true }} onClose={() => {}} />
        </div>
        <div class="row"><Button onClick={() => say("It is done.")}>Say</Button><Button onClick={() => say("It failed, and this is why.", { bad: true })}>Say what failed</Button></div>
      </Block>
      <Block title="10 Empty, waiting, failed">
        <div class="tiles">
          <section class="panel"><Empty title="No experiments yet">Create the first one with <code>det experiment create CONFIG.yaml DIRECTORY</code>.</Empty></section>
          <section class="panel"><Empty title="No experiment fits" action={<Button>Clear the filters</Button>}>Nothing in this project fits the filters above.</Empty></section>
          <section class="panel"><div class="shown"><Waiting lines={5} /></div></section>
          <section class="panel"><Failure error={new Error("experiment '41' not found")} retry={() => {}} /></section>
          <section class="panel"><Failure error={new AwayError()} retry={() => {}} /></section>
        </div>
      </Block>
      <Block title="11 Editor"><Editors /></Block>
      <Block title="12 Difference"><div class="tiles">
        <section class="panel"><Diff before={"name: resnet\nlr: 0.1\ndepth: 18"} after={"name: resnet\nlr: 0.01\ndepth: 18\nwarmup: 100"} label="Two configurations" /></section>
        <section class="panel"><Diff before="lr: 0.1" after="lr: 0.1" label="The same twice" /></section>
      </div></Block>
      <Block title="13 Sheet"><section class="panel"><Sheet label="Two trials" name="Hyperparameter" heads={[<a href={to("design")}>Trial 12</a>, "Trial 40"]}
        rows={[{ name: "lr", cells: ["0.1", "0.01"], differs: true }, { name: "depth", cells: ["18", "18"] }, { name: "optimizer", cells: ["sgd", "–"], differs: true }]} /></section></Block>
    </div>
  );
}

function Block({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="stack block"><h2>{title}</h2>{children}</section>;
}

interface Row { id: number; name: string; state: string; loss: number }
const rowOf = (i: number): Row => ({ id: i + 1, name: i === 2 ? "a name that is so long that no column could ever hold all of it, which happens every day" : `resnet-${i}`, state: `STATE_${STATES[i % 12]}`, loss: 1 / (i + 1) });
const COLUMNS: Column<Row>[] = [
  { key: "id", title: "ID", width: "76px", sort: "down", wide: true, cell: (row) => row.id },
  { key: "name", title: "Name", width: "minmax(120px, 3fr)", sort: "up", cell: (row) => <a href={to("design")}>{row.name}</a> },
  { key: "state", title: "State", width: "150px", cell: (row) => <StateBadge state={row.state} /> },
  { key: "loss", title: "Best metric", width: "112px", sort: "up", end: true, wide: true, cell: (row) => row.loss.toPrecision(4) },
];

function Tables() {
  const [order, setOrder] = useState<Order>({ key: "id", down: true });
  const [rows, setRows] = useState(() => [0, 1, 3, 4].map(rowOf));
  const move = ({ row, onto, side }: Move<Row>) => setRows((now) => {
    const rest = now.filter((one) => one !== row);
    const at = rest.indexOf(onto) + (side === "behind" ? 1 : 0);
    return [...rest.slice(0, at), row, ...rest.slice(at)];
  });
  const table = (count: number, at: (i: number) => Row | undefined, instead?: ComponentChildren) => (
    <section class="panel short"><Table label="Example" columns={COLUMNS} count={count} at={at} rowKey={(row) => row.id} href={() => to("design")} order={order} onOrder={setOrder} instead={instead} menu={() => <Menu label="Actions" actions={ACTIONS} />} /></section>
  );
  return (
    <>
      <h3>10,000 rows, of which a few are not read yet</h3>
      {table(10_000, (i) => (i === 4 || i === 5 ? undefined : rowOf(i)))}
      <h3>Rows that can be dragged</h3>
      <section class="panel"><Table label="Queue" columns={COLUMNS} count={rows.length} at={(i) => rows[i]} rowKey={(row) => row.id} onMove={move} menu={() => <Menu label="Actions" actions={ACTIONS} />} /></section>
      <div class="tiles">
        {table(0, () => undefined, <Empty title="No experiments yet" />)}
        {table(0, () => undefined, <div class="shown"><Waiting lines={4} /></div>)}
        {table(0, () => undefined, <Failure error={new Error("the lookup took too long; narrow it")} retry={() => {}} />)}
      </div>
    </>
  );
}

function Forms() {
  const [text, setText] = useState("resnet");
  const [on, setOn] = useState(true);
  const [choice, setChoice] = useState<"all" | "active">("all");
  return (
    <>
      <div class="row wraps">
        <Button kind="primary">Primary</Button><Button>Plain</Button><Button kind="danger">Danger</Button><Button kind="bare">Bare</Button>
        <Button kind="primary" disabled>Disabled</Button><Button disabled>Disabled</Button><Button kind="primary" busy>Busy</Button><Button busy>Busy</Button>
      </div>
      <div class="tiles">
        <TextField label="Name" value={text} onInput={setText} />
        <TextField label="Priority" value="120" onInput={() => {}} mistake="A priority is a whole number from 1 to 99" />
        <TextField label="Weight" value="" placeholder="1.0" onInput={() => {}} hint="Experiments share the slots in proportion to their weights." />
        <TextField label="Owner" value="determined" onInput={() => {}} disabled />
        <SelectField label="Resource pool" value="default" options={[["default", "default"], ["a100", "a100"]]} onChange={() => {}} />
        <SelectField label="Resource pool" value="default" options={[["default", "default"]]} onChange={() => {}} disabled hint="There is one pool only." />
      </div>
      <div class="row wraps">
        <SearchField label="Search" value="" onInput={() => {}} />
        <Choice label="Which" value={choice} options={[["all", "All"], ["active", "Active"]]} onChange={setChoice} />
        <CheckField label="Archived, too" checked={on} onChange={setOn} /><CheckField label="Cannot be chosen" checked={false} disabled onChange={() => {}} />
      </div>
    </>
  );
}

const curve = (k: number, of: (x: number) => unknown = (x) => Math.exp(-x / (200 + 60 * k)) + 0.05 * Math.sin(x / 17 + k)): Point[] => Array.from({ length: 200 }, (_, i) => [i * 5, of(i * 5)]);
const series = (n: number): Series[] => Array.from({ length: n }, (_, k) => ({ key: String(k), label: `trial ${k + 1}`, points: curve(k) }));

function Charts() {
  const [many] = useState(() => series(8));
  const [day] = useState<Series[]>(() => [{ key: "a", label: "in use", points: Array.from({ length: 96 }, (_, i) => [1.8e9 + i * 900, Math.round(6 + 5 * Math.sin(i / 9))]) }]);
  const [few] = useState<Series[]>(() => [{ key: "a", label: "validation", points: [[1, 0.5], [2, "NaN"], [3, 0.4], [4, 0.31], [5, "Infinity"], [6, 0.3]] }]);
  return (
    <div class="tiles">
      {([["Eight series", <Chart label="loss" series={many} />], ["Smoothed, log scale", <Chart label="loss" series={many.slice(0, 3)} smoothing={0.9} log />],
        ["Gaps: NaN and Infinity", <Chart label="loss" series={few} />], ["Nothing yet", <Chart label="loss" series={[]} />],
        ["Over time", <Chart label="slots" time xText={(x) => new Date(x * 1000).toISOString().slice(11, 16)} xLabel="" series={day} />]] as const).map(([title, chart]) => (
        <section key={title} class="panel"><header><h2>{title}</h2></header><div class="body">{chart}</div></section>
      ))}
    </div>
  );
}

const WRONG: Mistake[] = [{ line: 2, text: "resources.slots_per_trial: allowed is integer, not string" }, { line: null, text: "searcher is missing" }];

function Editors() {
  const [text, setText] = useState("name: resnet\nresources: {slots_per_trial: 2}\n");
  const editor = (label: string, value: string, mistakes: Mistake[], put: (value: string) => void = () => {}) => (
    <section class="panel fills"><YamlEditor label={label} value={value} mistakes={mistakes} onInput={put} />{mistakes.length > 0 && <Mistakes mistakes={mistakes} />}</section>
  );
  return <div class="tiles">{editor("Good", text, [], setText)}{editor("With mistakes", "name: resnet\nresources: {slots_per_trial: many}\n", WRONG)}{editor("Empty", "", [])}</div>;
}

const line = (i: number, text: string, level: LogLine["level"] = "info", rank: number | null = i % 2): LogLine => ({ id: String(i), time: new Date(1.8e12 + i * 1000).toISOString(), text, level, rank, source: "task" });
const LINES = [
  line(1, "Trial 41 was assigned to an agent", "info", null), line(2, "epoch 1 \u001b[32mloss=0.4312\u001b[0m \u001b[1mbold\u001b[0m \u001b[31mred\u001b[0m \u001b[34mblue\u001b[0m \u001b[33myellow\u001b[0m \u001b[35mmagenta\u001b[0m \u001b[36mcyan\u001b[0m"),
  line(3, "gradient norm 31.2 was clipped", "warning"), line(4, `a long line ${"that goes on and on ".repeat(12)}`), line(5, "RuntimeError: out of memory", "error"), line(6, "shapes: (64, 3, 224, 224)", "debug"), line(7, "<script>alert(1)</script>"),
];

function Logs() {
  return (
    <div class="tiles">
      <section class="panel log-box"><LogView label="Log" lines={LINES} live ranks /></section>
      <section class="panel log-box"><LogView label="Empty log" lines={[]} live instead={<Empty title="No lines yet">The trial's output is shown here as it is written.</Empty>} /></section>
    </div>
  );
}

function Dialogs() {
  const [open, setOpen] = useState<"" | "plain" | "danger">("");
  return (
    <>
      <div class="tiles">
        <DialogBody title="Manage job" onClose={() => {}}><div class="form"><TextField label="Priority" value="42" onInput={() => {}} /><div class="ends"><Button>Cancel</Button><Button kind="primary">OK</Button></div></div></DialogBody>
        <DialogBody title="Kill experiment 41?"><div class="form"><p>“resnet” ends at once.</p><p class="mistake">experiment 41 belongs to bob</p><div class="ends"><Button>Cancel</Button><Button kind="danger">Kill</Button></div></div></DialogBody>
      </div>
      <div class="row"><Button onClick={() => setOpen("plain")}>Open</Button><Button onClick={() => setOpen("danger")}>Open a question</Button></div>
      {open === "plain" && <Dialog title="A dialog" onClose={() => setOpen("")}><p>Escape closes it.</p></Dialog>}
      {open === "danger" && <Confirm title="Kill experiment 41?" action="Kill" danger onConfirm={() => setOpen("")} onClose={() => setOpen("")}>It ends at once.</Confirm>}
    </>
  );
}

const ACTIONS: (Action | null)[] = [
  { label: "Pause", perform: () => {} }, { label: "Archive", refused: "Only an experiment that has ended can be archived", perform: () => {} }, { label: "Chosen", chosen: true, perform: () => {} }, null,
  { label: "Kill", danger: true, perform: () => {} },
];

function Menus() {
  return (
    <div class="row wraps top">
      <Menu label="Actions" actions={ACTIONS} /><Menu label="Project" actions={ACTIONS}><span>vision / classifiers</span></Menu>
      <div class="menu still"><MenuList actions={ACTIONS} choose={() => {}} /></div>
    </div>
  );
}
