import { useNow } from "@shared/lib/hooks";
import { ago, duration, exact, secondsBetween } from "@shared/lib/format";

/** How long ago something was; the exact time in UTC is its tooltip. */
export function Ago({ time }: { time: string | null | undefined }) {
  const now = useNow();
  if (!time) return <span class="muted">–</span>;
  return <time dateTime={time} title={exact(time)} class="number cut">{ago(time, now)}</time>;
}

/** How long something took, or takes until now. */
export function Took({ start, end }: { start: string | null | undefined; end: string | null | undefined }) {
  const now = useNow();
  const seconds = secondsBetween(start, end, now);
  return <span class="number cut">{seconds === null ? "–" : duration(seconds)}</span>;
}
