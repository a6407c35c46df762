// What the master says of itself: its log, its configuration, its version.
import { useEffect, useRef, useState } from "preact/hooks";
import { stream } from "@shared/api/client";
import { useApi } from "@shared/api/query";
import { keepReading } from "@shared/api/reading";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { root, useParameter } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useTitle, useVisible } from "@shared/lib/hooks";
import { toYaml } from "@shared/lib/yaml";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { SearchField } from "@shared/ui/Form";
import { LogView, type LogLine } from "@shared/ui/LogView";

const LINES_MAX = 5000;
const AGAIN_MS = 3000;

function useMasterLog() {
  const [lines, setLines] = useState<LogLine[]>([]);
  const [error, setError] = useState<Error | null>(null);
  const [isPending, setPending] = useState(true);
  const last = useRef(-1);
  const visible = useVisible();
  useEffect(() => {
    if (!visible) return;
    const read = async (signal: AbortSignal) => {
      for await (const found of stream(api.masterLogs(last.current < 0 ? { offset: -LINES_MAX, follow: true } : { offset: last.current + 1, follow: true }), signal)) {
        const fresh = found.flatMap(({ logEntry: e }): LogLine[] => (e && e.id > last.current ? [{ id: String(e.id), time: e.timestamp, text: e.message.replace(/\n$/, ""), level: e.level.replace("LOG_LEVEL_", "").toLowerCase().replace("unspecified", "") as LogLine["level"], rank: null, source: "" }] : []));
        if (fresh.length) last.current = Number(fresh.at(-1)!.id);
        setPending(false);
        setError(null);
        setLines((before) => [...before, ...fresh].slice(-LINES_MAX));
      }
      return false;
    };
    const failed = (failure: Error) => { setError(failure); setPending(false); };
    return keepReading(read, failed, AGAIN_MS);
  }, [visible]);
  return { lines, error, isPending, live: visible && !error };
}

export function MasterLogPage() {
  useTitle("Master's log");
  const [text, setText] = useParameter("q");
  const { lines, error, isPending, live } = useMasterLog();
  const shown = text ? lines.filter((line) => line.text.toLowerCase().includes(text.toLowerCase())) : lines;
  return (
    <div class="page fills">
      <header class="page-head"><h1>Master's log</h1></header>
      <section class="panel fills">
        <header class="toolbar"><SearchField label="Search the log" value={text} onInput={(value) => setText(value || null)} /><span class="grow" />{live && <span class="live">live</span>}<span class="muted number">{count(shown.length, "line")}</span></header>
        {error && lines.length === 0 ? <Failure error={error} /> : <LogView label="Master's log" lines={shown} live={live} instead={isPending ? <Waiting lines={8} /> : <Empty title={text ? "No line fits" : "No lines yet"} />} />}
      </section>
    </div>
  );
}

export function AboutPage() {
  useTitle("About");
  const { data, error } = useApi(api.getMaster());
  const { data: config, error: refused } = useApi(api.getMasterConfig());
  if (error && !data) return <Failure error={error} />;
  return (
    <div class="page">
      <header class="page-head"><h1>About</h1></header>
      <section class="panel"><header><h2>This cluster</h2></header><div class="body">
        {data ? <dl class="facts">
          <dt>Cluster</dt><dd>{plain(data.clusterName) || "–"}</dd>
          <dt>Version of the master</dt><dd>{data.programVersion ?? data.version}</dd>
          <dt>Interface of release</dt><dd>{data.version}</dd>
          <dt>Cluster ID</dt><dd class="mono">{data.clusterId}</dd>
          <dt>Master ID</dt><dd class="mono">{data.masterId}</dd>
          <dt>Address</dt><dd class="mono">{root.href}</dd>
          <dt>Description of the API</dt><dd><a href={new URL(["api", "v1", "openapi.json"].join("/"), root).href}>OpenAPI</a></dd>
        </dl> : <Waiting lines={4} />}
      </div></section>
      <section class="panel"><header><h2>Configuration of the master</h2></header>
        {config ? <pre class="source" tabIndex={0} aria-label="Configuration of the master">{toYaml(config.config).split("\n").map(plain).join("\n")}</pre> : refused ? <Empty title="Not shown">{refused.message}</Empty> : <Waiting lines={6} />}
      </section>
    </div>
  );
}
