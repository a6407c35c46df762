import "./progress.css";

interface Props {
  /** 0 to 1; null: nobody knows how far it is */
  value: number | null;
  label: string;
  tone?: "busy" | "good" | "bad" | "idle";
  /** whether the percentage stands beside the bar */
  text?: boolean;
}

export function Progress({ value, label, tone = "busy", text = true }: Props) {
  const part = value === null ? null : Math.min(1, Math.max(0, value));
  const percent = part === null ? undefined : Math.round(part * 100);
  return (
    <span class="progress">
      <span class="track" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
        <span class={`bar ${tone} ${part === null ? "unknown" : ""}`} style={{ transform: part === null ? "" : `scaleX(${part})` }} />
      </span>
      {text && <span class="number muted">{percent === undefined ? "" : `${percent} %`}</span>}
    </span>
  );
}

/** How much of something is taken, in parts: slots used, free, out of use. */
export function Load({ used, total, label }: { used: number; total: number; label: string }) {
  return (
    <span class="progress">
      <span class="track tall" role="meter" aria-label={label} aria-valuemin={0} aria-valuemax={total} aria-valuenow={used}>
        <span class="bar busy" style={{ transform: `scaleX(${total ? used / total : 0})` }} />
      </span>
    </span>
  );
}
