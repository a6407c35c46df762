// Lines of a log: thousands of them, of which those in sight are drawn; at its end it follows what arrives.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { spansOf } from "@shared/lib/ansi";
import { exact } from "@shared/lib/format";
import { Button } from "./Button";
import { useVirtual } from "./virtual";
import "./log.css";

export interface LogLine {
  id: string;
  time: string | null;
  text: string;
  level: "trace" | "debug" | "info" | "warning" | "error" | "critical" | "";
  rank: number | null;
  source: string;
}

interface Props {
  label: string;
  lines: LogLine[];
  live: boolean;
  /** called when somebody has scrolled to the first line */
  onFirst?: (() => void) | undefined;
  ranks?: boolean;
  instead?: ComponentChildren;
  tall?: boolean;
}

const LINE = 20;
const NEAR_END = 40;

export function LogView({ label, lines, live, onFirst, ranks = false, instead, tall = true }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [following, setFollowing] = useState(true);
  const virtual = useVirtual({ count: lines.length, estimateSize: () => LINE, getScrollElement: () => scroller.current, overscan: 20, getItemKey: (i) => lines[i]?.id ?? i });
  const firstId = useRef<string | undefined>(undefined);

  // Lines that come before the first one must not move those that are being read.
  useLayoutEffect(() => {
    const added = firstId.current === undefined ? -1 : lines.findIndex((line) => line.id === firstId.current);
    firstId.current = lines[0]?.id;
    if (added > 0 && !following) scroller.current!.scrollTop += added * LINE;
  }, [lines[0]?.id]);
  useLayoutEffect(() => {
    if (following && lines.length) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [lines.length, following, lines.at(-1)?.id]);
  useEffect(() => setFollowing(true), [label]);
  // The heights of lines that are gone: a page that follows a log all day must not keep them.
  useEffect(() => {
    if (virtual.itemSizeCache.size <= lines.length) return;
    const kept = new Set<string | number | bigint>(lines.map((line) => line.id));
    for (const key of virtual.itemSizeCache.keys()) if (!kept.has(key)) virtual.itemSizeCache.delete(key);
  }, [lines]);

  const scrolled = () => {
    const { scrollTop, scrollHeight, clientHeight } = scroller.current!;
    setFollowing(scrollHeight - scrollTop - clientHeight < NEAR_END);
    if (scrollTop < 200) onFirst?.();
  };
  const stopFollowing = (event: WheelEvent) => event.deltaY < 0 && setFollowing(false);
  return (
    <div class={`log ${tall ? "tall" : ""}`}>
      <div class="scroller" ref={scroller} tabIndex={0} role="log" aria-label={label} aria-live="off" onScroll={scrolled} onWheel={stopFollowing}>
        {lines.length === 0 && instead}
        <div class="lines" style={{ height: `${virtual.getTotalSize()}px` }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => (
            <div key={key} class="at" data-index={index} ref={virtual.measureElement} style={{ transform: `translateY(${start}px)` }}>
              <Line line={lines[index]!} ranks={ranks} />
            </div>
          ))}
        </div>
      </div>
      {!following && lines.length > 0 && (
        <Button class="to-end" onClick={() => setFollowing(true)}>{live ? "Follow" : "To the end"}</Button>
      )}
    </div>
  );
}

function Line({ line, ranks }: { line: LogLine; ranks: boolean }) {
  return (
    <div class={`entry ${line.level}`}>
      <span class="when" title={line.time ? exact(line.time) : ""}>{line.time ? clock(line.time) : ""}</span>
      {ranks && <span class="rank">{line.rank === null ? "" : `rank ${line.rank}`}</span>}
      <span class="what">{spansOf(line.text).map((span, i) => (span.className ? <span key={i} class={span.className}>{span.text}</span> : span.text))}</span>
    </div>
  );
}

const clock = (time: string) => new Date(time).toLocaleTimeString("en-GB", { hour12: false });
