import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import * as api from "@shared/api/routes.gen";
import type { AuditRecord } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { now } from "@shared/lib/clock";
import { useParameter } from "@shared/lib/address";
import { count, exact } from "@shared/lib/format";
import { useSettled, useTitle } from "@shared/lib/hooks";
import { csv, saveAs } from "@shared/lib/save";
import { Button } from "@shared/ui/Button";
import { Diff } from "@shared/ui/Diff";
import { Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SearchField, SelectField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import { changesOf, deedOf, fits, isWhole, narrowed, newest, older, RECORDS_MAX, type Span, valuesOf } from "./audit";

/** The filter that the master applies. */
interface Wanted {
  username: string;
  kind: string;
  since: string;
  until: string;
}

const SHOWN_AT_FIRST = 100;
const EXPORT_MAX = 100_000;
const WITHIN: [string, string][] = [["", "Any time"], ["1", "Last day"], ["7", "Last 7 days"], ["30", "Last 30 days"]];
const DAY_MS = 86_400_000;

const call = ({ username, kind, since, until }: Wanted, afterSeq: number, limit = RECORDS_MAX) =>
  api.getAuditRecords({ afterSeq: String(afterSeq), limit, ...(username ? { username } : {}), ...(kind ? { kind } : {}), ...(since ? { since } : {}), ...(until ? { until } : {}) });

/** Records, the newest first: as many as fill the page, and more on demand. */
function useRecords(wanted: Wanted) {
  const [records, setRecords] = useState<AuditRecord[]>([]);
  const [next, setNext] = useState<Span | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(true);
  const base = useRef(0);
  const stop = useRef(new AbortController());
  const read = async (from: Span | null, known: AuditRecord[], least: number) => {
    const { signal } = stop.current;
    let all = known;
    let span = from;
    setBusy(true);
    try {
      while (span && all.length < least) {
        const reply = await send(call(wanted, span.after), signal);
        if (!isWhole(span, reply.records)) { span = narrowed(span); continue; }
        const { upTo } = span;
        const fresh = reply.records.filter((r) => Number(r.seq) <= upTo).reverse();
        all = [...all, ...fresh];
        span = older(span, base.current, fresh.length);
      }
      setRecords(all);
      setNext(span);
      setError(null);
    } catch (failure) {
      if (!signal.aborted) setError(failure as Error);
    } finally {
      if (!signal.aborted) setBusy(false);
    }
  };
  useEffect(() => {
    stop.current.abort();
    stop.current = new AbortController();
    setRecords([]);
    setBusy(true);
    send(call(wanted, 0, 1), stop.current.signal).then((head) => {
      base.current = Number(head.baseSeq);
      return read(newest(Number(head.headSeq), base.current), [], SHOWN_AT_FIRST);
    }, (failure: Error) => { if (failure.name !== "AbortError") { setError(failure); setBusy(false); } });
    return () => stop.current.abort();
  }, [wanted]);
  return { records, error, busy, more: next ? () => void read(next, records, records.length + SHOWN_AT_FIRST) : null };
}

/** All records that fit, the oldest first. */
async function everything(wanted: Wanted): Promise<AuditRecord[]> {
  const all: AuditRecord[] = [];
  for (let after = 0; all.length < EXPORT_MAX; after = Number(all.at(-1)!.seq)) {
    const { records } = await send(call(wanted, after));
    all.push(...records);
    if (records.length < RECORDS_MAX) return all;
  }
  say(`The file has the oldest ${count(all.length, "record")}; narrow the time for the others.`, { bad: true });
  return all;
}

/** What the requester was known by: a session, a token, a task. A sign-in has none of these yet. */
const viaOf = ({ via }: AuditRecord) => (via === "none" ? "–" : plain(via));

const HEAD: (keyof AuditRecord)[] = ["seq", "time", "userId", "username", "via", "sessionId", "address", "route", "action", "kind", "objectId", "before", "after", "hash"];

function useExport(wanted: Wanted) {
  const [busy, setBusy] = useState(false);
  const save = (form: "csv" | "json") => {
    setBusy(true);
    everything(wanted).then((all) => saveAs(`audit.${form}`, form === "json" ? JSON.stringify(all, null, 1) : csv([HEAD, ...all.map((r) => HEAD.map((name) => r[name]))])), sayError).finally(() => setBusy(false));
  };
  return { busy, save };
}

const COLUMNS = (open: (r: AuditRecord) => void): Column<AuditRecord>[] => [
  { key: "time", title: "When", width: "108px", cell: (r) => <Ago time={r.time} /> },
  { key: "who", title: "Who", width: "minmax(90px, 1fr)", cell: (r) => <span class="cut">{plain(r.username) || "the master"}</span> },
  { key: "what", title: "What", width: "minmax(150px, 2fr)", cell: (r) => <button type="button" class="link cut" onClick={() => open(r)}>{deedOf(r)}</button> },
  { key: "changes", title: "Changed", width: "minmax(120px, 2fr)", wide: true, cell: (r) => <span class="cut muted" title={changesOf(r)}>{changesOf(r)}</span> },
  { key: "via", title: "By", width: "110px", wide: true, cell: (r) => <span class="cut">{viaOf(r)}</span> },
  { key: "address", title: "From", width: "130px", wide: true, cell: (r) => <span class="cut mono">{plain(r.address)}</span> },
  { key: "seq", title: "No.", width: "80px", end: true, wide: true, cell: (r) => r.seq },
];

export function AuditPage() {
  useTitle("Audit log");
  const [text, setText] = useParameter("q");
  const [username, setUsername] = useParameter("user");
  const [kind, setKind] = useParameter("kind");
  const [days, setDays] = useParameter("days");
  const [open, setOpen] = useState<AuditRecord | null>(null);
  const settled = useSettled(`${username}\n${kind}`);
  const wanted = useMemo((): Wanted => {
    const [user = "", what = ""] = settled.split("\n");
    return { username: user, kind: what, since: days ? new Date(now() - Number(days) * DAY_MS).toISOString() : "", until: "" };
  }, [settled, days]);
  const { records, error, busy, more } = useRecords(wanted);
  const { busy: saving, save } = useExport(wanted);
  const shown = text ? records.filter((r) => fits(r, text)) : records;
  const columns = COLUMNS(setOpen);
  return (
    <div class="page fills">
      <header class="page-head">
        <h1>Audit log</h1><span class="muted number" role="status">{busy ? "reading" : `${count(shown.length, "record")}${more ? ", and older ones" : ""}`}</span>
        <span class="grow" />
        <Menu label="Export all records that fit" actions={[{ label: "As CSV", perform: () => save("csv") }, { label: "As JSON", perform: () => save("json") }]}>{saving ? "Reading" : "Export"}</Menu>
      </header>
      <div class="toolbar unprinted">
        <SearchField label="Search these records" value={text} onInput={(value) => setText(value || null)} />
        <SearchField label="User name" value={username} onInput={(value) => setUsername(value || null)} />
        <SearchField label="Kind of object" value={kind} onInput={(value) => setKind(value || null)} />
        <SelectField label="When" quiet value={days} options={WITHIN} onChange={(value) => setDays(value || null)} />
      </div>
      <section class="panel fills">
        {error && records.length === 0 ? <Failure error={error} /> : (
          <Table label="Audit log" fill columns={columns} count={shown.length} at={(i) => shown[i]} rowKey={(r) => r.seq}
            instead={busy ? <Waiting lines={8} /> : <Empty title="No record fits">{more ? "No record fits among those that were read. There are older ones." : "Each change that somebody makes leaves a record here."}</Empty>} />
        )}
        {error && records.length > 0 && <p class="mistake" role="alert">{error.message}</p>}
        {more && <div class="more"><Button busy={busy} onClick={more}>Read older records</Button></div>}
      </section>
      {open && <Record record={open} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** One record: who did it, how, and the values before and after as a difference. */
function Record({ record: r, onClose }: { record: AuditRecord; onClose: () => void }) {
  return (
    <Dialog title={`Record ${r.seq}`} wide onClose={onClose}>
      <dl class="facts">
        <dt>What</dt><dd>{deedOf(r)}</dd>
        <dt>Who</dt><dd>{plain(r.username) || "the master"} {r.via && <span class="muted">by {viaOf(r)}</span>}</dd>
        <dt>When</dt><dd class="number">{r.time ? exact(r.time) : ""}</dd>
        <dt>From</dt><dd class="mono">{plain(r.address) || "–"}</dd>
        <dt>Request</dt><dd class="mono">{plain(r.route) || "–"}</dd>
        <dt>Hash</dt><dd class="mono">{r.hash}</dd>
      </dl>
      <Diff before={valuesOf(r.before)} after={valuesOf(r.after)} label="Values before and after" />
      <div class="form"><div class="ends"><Button onClick={onClose}>Close</Button></div></div>
    </Dialog>
  );
}
