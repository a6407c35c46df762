import { useMemo, useState } from "preact/hooks";
import { diffLines, hunks } from "@shared/lib/diff";
import { plain } from "@shared/lib/ansi";
import { Button } from "./Button";
import { Empty } from "./Empty";
import "./diff.css";

const MARKS = { same: " ", gone: "−", new: "+" };
const SPOKEN = { same: "", gone: "removed: ", new: "added: " };

/** Two texts, line by line: what only the first has, and what only the second has. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const [all, setAll] = useState(false);
  const lines = useMemo(() => diffLines(before.split("\n"), after.split("\n")), [before, after]);
  const changed = lines.filter((line) => line.kind !== "same").length;
  if (changed === 0) return <Empty title="No difference">Both are the same.</Empty>;
  return (
    <div class="diff-box">
      <p class="toolbar diff-head"><span class="number"><b class="gone">−{lines.filter((line) => line.kind === "gone").length}</b> <b class="new">+{lines.filter((line) => line.kind === "new").length}</b> lines</span><span class="grow" /><Button kind="bare" onClick={() => setAll(!all)}>{all ? "Changes only" : "All lines"}</Button></p>
      <pre class="source diff" tabIndex={0} aria-label={label}>
        {(all ? lines : hunks(lines)).map((line, i) => (line === null ? <span key={i} class="gap">⋯{"\n"}</span>
          : <span key={i} class={line.kind}><span aria-hidden="true">{MARKS[line.kind]} </span><span class="unseen">{SPOKEN[line.kind]}</span>{plain(line.text)}{"\n"}</span>))}
      </pre>
    </div>
  );
}
