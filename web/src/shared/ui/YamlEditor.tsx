import { useRef } from "preact/hooks";
import { plain } from "@shared/lib/ansi";
import type { Mistake } from "@shared/config/check";
import "./yaml.css";

interface Props {
  value: string;
  onInput: (value: string) => void;
  mistakes: Mistake[];
  label?: string;
}

/** A text field with numbers of lines; lines with mistakes are marked. Tab indents; Escape and then Tab leaves. */
export function YamlEditor({ value, onInput, mistakes, label = "Configuration in YAML" }: Props) {
  const gutter = useRef<HTMLDivElement>(null);
  const leaving = useRef(false);
  const wrong = new Map(mistakes.flatMap((m) => (m.line === null ? [] : [[m.line, m.text] as const])));
  const pressed = (event: KeyboardEvent & { currentTarget: HTMLTextAreaElement }) => {
    if (event.key === "Escape") leaving.current = true;
    else if (event.key === "Tab" && !event.shiftKey && !leaving.current) {
      event.preventDefault();
      const field = event.currentTarget;
      field.setRangeText("  ", field.selectionStart, field.selectionEnd, "end");
      onInput(field.value);
    } else leaving.current = false;
  };
  return (
    <div class="yaml">
      <div class="gutter" ref={gutter} aria-hidden="true">{value.split("\n").map((_, i) => <span key={i} class={wrong.has(i + 1) ? "wrong" : ""} title={wrong.get(i + 1)}>{i + 1}</span>)}</div>
      <textarea aria-label={label} spellcheck={false} autocapitalize="off" wrap="off" value={value} aria-invalid={mistakes.length > 0} aria-describedby="mistakes"
        onInput={(event) => onInput(event.currentTarget.value)} onKeyDown={pressed} onScroll={(event) => { gutter.current!.scrollTop = event.currentTarget.scrollTop; }} />
    </div>
  );
}

const SHOWN_MAX = 20;

/** The mistakes of a text below its editor, each with its line. */
export function Mistakes({ mistakes }: { mistakes: Mistake[] }) {
  return (
    <ul id="mistakes" class="mistakes" role="status" aria-label="Mistakes">
      {mistakes.slice(0, SHOWN_MAX).map((m, i) => <li key={i}>{m.line !== null && <b class="number">line {m.line}</b>} {plain(m.text)}</li>)}
    </ul>
  );
}
