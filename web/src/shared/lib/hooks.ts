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

/** The time, read again every so many seconds while the page is visible. */
export function useNow(everyS = 15): number {
  const [now, setNow] = useState(clockNow);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || setNow(clockNow()), everyS * 1000);
    return () => clearInterval(timer);
  }, [everyS]);
  return now;
}

/** Whether somebody can see the page; what is live rests meanwhile. */
export function useVisible(): boolean {
  const [visible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const changed = () => setVisible(!document.hidden);
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
