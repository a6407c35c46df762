// The log of a trial or task: the last lines at once, older ones when somebody scrolls up to them, new ones as they are stored. Nothing is read while
// the page is hidden.
import { useCallback, useLayoutEffect, useRef, useState } from "preact/hooks";
import { stream } from "@shared/api/client";
import { keepReading } from "@shared/api/reading";
import type { Call } from "@shared/api/call";
import type { LogLevel, TaskLogsResponse, TrialLogsResponse } from "@shared/api/routes.gen";
import { useVisible } from "@shared/lib/hooks";
import type { LogLine } from "@shared/ui/LogView";

export interface LogFilter {
  text: string;
  levels: LogLevel[];
  rank: number | null;
}

const ABOVE: LogLevel[] = ["LOG_LEVEL_CRITICAL", "LOG_LEVEL_ERROR", "LOG_LEVEL_WARNING", "LOG_LEVEL_INFO"];
export const LEVELS: Record<string, LogLevel[]> = { error: ABOVE.slice(0, 2), warning: ABOVE.slice(0, 3), info: ABOVE };

const PAGE = 500;
/** More lines than this are not kept while following: a page that is open all day must not grow. */
const KEPT_MAX = 50_000;
const AGAIN_MS = 3000;

type Reply = TrialLogsResponse | TaskLogsResponse;

const lineOf = (line: Reply): LogLine => ({
  id: line.id,
  time: line.timestamp,
  text: (line.log ?? line.message).replace(/\n$/, ""),
  level: (line.level.replace("LOG_LEVEL_", "").toLowerCase().replace("unspecified", "") || "") as LogLine["level"],
  rank: line.rankId ?? null,
  source: line.source ?? "",
});

/** Appends lines that are not there yet: those of one moment come twice, once with what was read and once with what follows. */
export function joined(before: LogLine[], after: LogLine[], max = KEPT_MAX): LogLine[] {
  const known = new Set(before.slice(-2 * PAGE).map((line) => line.id));
  const all = [...before, ...after.filter((line) => !known.has(line.id))];
  return all.length > max ? all.slice(all.length - max) : all;
}

/** What a request for lines says, but for whose they are. */
export interface LogWanted {
  searchText?: string;
  levels?: LogLevel[];
  rankIds?: number[];
  limit?: number;
  orderBy?: "ORDER_BY_DESC";
  follow?: boolean;
  timestampBefore?: string;
  timestampAfter?: string;
}
export type LogCall = (wanted: LogWanted) => Call<Reply>;

const filtered = ({ text, levels, rank }: LogFilter): LogWanted => ({ ...(text ? { searchText: text } : {}), ...(levels.length ? { levels } : {}), ...(rank !== null ? { rankIds: [rank] } : {}) });

/** The last lines before a moment, or before the end. `some` is told of those that have been found so far: a search through gigabytes takes its time. */
async function page(call: LogCall, filter: LogFilter, before: string | null, signal: AbortSignal, some?: (lines: LogLine[]) => void): Promise<LogLine[]> {
  const found: LogLine[] = [];
  const wanted = call({ ...filtered(filter), limit: PAGE, orderBy: "ORDER_BY_DESC", ...(before ? { timestampBefore: before } : {}) });
  for await (const lines of stream(wanted, signal)) {
    found.push(...lines.map(lineOf));
    some?.(found.toReversed());
  }
  return found.reverse();
}

/** `id` says whose log it is; `call` makes its requests. */
export function useLog(id: string, call: LogCall, filter: LogFilter, ended: boolean) {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [isPending, setPending] = useState(true);
  const [hasOlder, setHasOlder] = useState(false);
  const [ranks, setRanks] = useState<number[]>([]);
  const now = useRef<LogLine[]>([]);
  // Whether the last lines have been read to their end; what a search has found so far is shown before that.
  const whole = useRef(false);
  const visible = useVisible();
  const key = `${id} ${JSON.stringify(filter)}`;

  const show = (next: LogLine[]) => {
    now.current = next;
    setLines(next);
    setRanks((known) => {
      const all = new Set([...known, ...next.flatMap((line) => (line.rank === null ? [] : [line.rank]))]);
      return all.size === known.length ? known : [...all].sort((a, b) => a - b);
    });
  };
  // Requests need not wait for the frame that says that they are under way.
  useLayoutEffect(() => {
    now.current = [];
    whole.current = false;
    setLines([]);
    setPending(true);
    setHasOlder(false);
  }, [key]);
  useLayoutEffect(() => setRanks([]), [id]);

  useLayoutEffect(() => {
    if (!visible) return;
    const read = async (signal: AbortSignal) => {
      if (!whole.current || now.current.length === 0) {
        const last = await page(call, filter, null, signal, filter.text ? show : undefined);
        signal.throwIfAborted();
        show(last);
        whole.current = true;
        setHasOlder(last.length === PAGE);
      }
      setPending(false);
      setError(null);
      const from = now.current.at(-1)?.time;
      const after = from ? { timestampAfter: earlier(from) } : {};
      for await (const more of stream(call({ ...filtered(filter), follow: !ended, ...after }), signal)) show(joined(now.current, more.map(lineOf)));
      return ended;
    };
    const failed = (failure: Error) => {
      setPending(false);
      setError(failure);
    };
    return keepReading(read, failed, AGAIN_MS);
  }, [key, ended, visible]);

  const reading = useRef(false);
  const older = useCallback(() => {
    const first = now.current[0];
    if (reading.current || !first?.time) return;
    reading.current = true;
    page(call, filter, later(first.time), new AbortController().signal)
      .then((before) => {
        const known = new Set(now.current.slice(0, 2 * PAGE).map((line) => line.id));
        const fresh = before.filter((line) => !known.has(line.id));
        setHasOlder(before.length === PAGE && fresh.length > 0);
        if (fresh.length) show([...fresh, ...now.current]);
      }, setError)
      .finally(() => { reading.current = false; });
  }, [key]);

  return { lines, ranks, live: !ended && visible && !error, error, isPending, older, hasOlder };
}

/** A moment before and after: whether the API's bounds hold their own moment does not matter then. */
const shifted = (time: string, ms: number) => new Date(Date.parse(time) + ms).toISOString();
const earlier = (time: string) => shifted(time, -1);
const later = (time: string) => shifted(time, 1);
