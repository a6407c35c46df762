// The log of a trial or task with its search, levels and ranks; the address keeps them.
import { useEffect, useState } from "preact/hooks";
import { stream } from "@shared/api/client";
import type { Call } from "@shared/api/call";
import { useParameter } from "@shared/lib/address";
import { count, exact } from "@shared/lib/format";
import { useSettled } from "@shared/lib/hooks";
import { saveAs } from "@shared/lib/save";
import { spansOf } from "@shared/lib/ansi";
import { Button } from "@shared/ui/Button";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SearchField, SelectField } from "@shared/ui/Form";
import { LogView } from "@shared/ui/LogView";
import { LEVELS, type LogCall, type LogFilter, useLog } from "./log-stream";

const LEVEL_OPTIONS = [["", "All levels"], ["info", "Info and above"], ["warning", "Warnings and errors"], ["error", "Errors"]] as const;

interface Props {
  id: string;
  /** "Log of trial 7" */
  label: string;
  call: LogCall;
  /** the route that names the ranks of all lines, also of those that are not read yet */
  fields: (follow: boolean) => Call<{ rankIds: number[] }>;
  ended: boolean;
}

function useRanks(id: string, fields: Props["fields"]): number[] {
  const [ranks, setRanks] = useState<number[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const read = async () => {
      for await (const lines of stream(fields(false), stop.signal)) setRanks(lines.flatMap((line) => line.rankIds).sort((a, b) => a - b));
    };
    read().catch(() => {}); // the ranks of the lines in sight are offered all the same
    return () => stop.abort();
  }, [id]);
  return ranks;
}

export function LogPanel({ id, label, call, fields, ended }: Props) {
  const [text, setText] = useParameter("q");
  const [level, setLevel] = useParameter("level");
  const [rank, setRank] = useParameter("rank");
  const filter: LogFilter = { text: useSettled(text), levels: LEVELS[level] ?? [], rank: rank === "" ? null : Number(rank) };
  const { lines, ranks: seen, live, error, isPending, older, hasOlder } = useLog(id, call, filter, ended);
  const ranks = [...new Set([...useRanks(id, fields), ...seen])].sort((a, b) => a - b);
  const isFiltered = Boolean(filter.text || filter.levels.length || filter.rank !== null);
  const save = () => saveAs(`${label.toLowerCase().replaceAll(" ", "-")}.txt`, lines.map((line) => `${line.time ? exact(line.time) : ""} ${line.rank === null ? "" : `[rank ${line.rank}] `}${spansOf(line.text).map((span) => span.text).join("")}\n`).join(""));
  return (
    <section class="panel fills">
      <header class="toolbar unprinted">
        <SearchField label="Search the log" value={text} onInput={(value) => setText(value || null)} />
        <SelectField label="Level" quiet value={level as ""} options={LEVEL_OPTIONS as never} onChange={(value) => setLevel(value || null)} />
        {(ranks.length > 1 || rank !== "") && (
          <SelectField label="Rank" quiet value={rank} options={[["", "All ranks"], ...ranks.map((r) => [String(r), `Rank ${r}`] as [string, string])]} onChange={(value) => setRank(value === "" ? null : value)} />
        )}
        <span class="grow" />
        {live && <span class="live">live</span>}
        <span class="muted number">{count(lines.length, "line")}{hasOlder ? ", older ones above" : ""}</span>
        {lines.length > 0 && <Button kind="bare" class="not-narrow" onClick={save}>Save these</Button>}
      </header>
      {error && lines.length === 0 ? <Failure error={error} /> : (
        <LogView label={label} lines={lines} live={live} ranks={ranks.length > 1} onFirst={hasOlder ? older : undefined}
          instead={isPending ? <Waiting lines={8} /> : isFiltered ? <Empty title="No line fits">Nothing in this log fits the search and the filters above.</Empty>
            : <Empty title="No lines yet">{live ? "The output is shown here as it is written." : "Nothing was written, or the log is no longer kept."}</Empty>} />
      )}
    </section>
  );
}
