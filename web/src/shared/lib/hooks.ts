import { useEffect, useState } from "preact/hooks";
import { now as clockNow } from "./clock";

function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = () => setMatches(media.matches);
    changed();
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}

/** Whether the window is as narrow as a phone's. */
export const useNarrow = () => useMedia("(max-width: 640px)");

const NOW_EVERY_S = 15;
const told = new Set<(now: number) => void>();
let ticking: ReturnType<typeof setInterval> | undefined;

/** One timer for all that shows ages: a list has hundreds. */
function tellTime(tell: (now: number) => void): () => void {
  told.add(tell);
  ticking ??= setInterval(() => { if (!document.hidden) for (const one of told) one(clockNow()); }, NOW_EVERY_S * 1000);
  return () => {
    told.delete(tell);
    if (told.size > 0) return;
    clearInterval(ticking);
    ticking = undefined;
  };
}

/** The time, read again every fifteen seconds while the page is visible. */
export function useNow(): number {
  const [now, setNow] = useState(clockNow);
  useEffect(() => tellTime(setNow), []);
  return now;
}

/** Whether somebody can see the page; what is live rests meanwhile. */
export function useVisible(): boolean {
  const [visible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setVisible(!document.hidden);
    changed();
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
  return visible;
}

/** The value as it was once it has not changed for a moment: what is typed asks the master once, not at every key. */
export function useSettled<Value>(value: Value, ms = 250): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}

export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Determined` : "Determined";
  }, [title]);
}
