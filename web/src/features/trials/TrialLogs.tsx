import { useParameter } from "@shared/lib/address";
import { useSettled } from "@shared/lib/hooks";
import { hasEnded } from "@shared/lib/states";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SearchField, SelectField } from "@shared/ui/Form";
import { LogView } from "@shared/ui/LogView";
import { count } from "@shared/lib/format";
import { LEVELS, type LogFilter, useTrialLog } from "./log-stream";

const LEVEL_OPTIONS = [["", "All levels"], ["info", "Info and above"], ["warning", "Warnings and errors"], ["error", "Errors"]] as const;

export function TrialLogs({ id, state }: { id: number; state: string }) {
  const [text, setText] = useParameter("q");
  const [level, setLevel] = useParameter("level");
  const [rank, setRank] = useParameter("rank");
  const filter: LogFilter = { text: useSettled(text), levels: LEVELS[level] ?? [], rank: rank === "" ? null : Number(rank) };
  const { lines, ranks, live, error, isPending, older, hasOlder } = useTrialLog(id, filter, hasEnded(state));
  const isFiltered = Boolean(filter.text || filter.levels.length || filter.rank !== null);
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
      </header>
      {error && lines.length === 0 ? <Failure error={error} /> : (
        <LogView label={`Log of trial ${id}`} lines={lines} live={live} ranks={ranks.length > 1} onFirst={hasOlder ? older : undefined}
          instead={isPending ? <Waiting lines={8} /> : isFiltered ? <Empty title="No line fits">Nothing in this log fits the search and the filters above.</Empty>
            : <Empty title="No lines yet">{live ? "The trial's output is shown here as it is written." : "The trial has written nothing, or its log is no longer kept."}</Empty>} />
      )}
    </section>
  );
}
