// Keys that hold on every page. A key that somebody types into a field is text and nothing else.
import { useEffect, useRef } from "preact/hooks";

/** "Ctrl+k" also stands for ⌘ and K; "g h" for g and then h. */
export type Keys = Record<string, () => void>;

const NEXT_MS = 1200;

const isText = (target: EventTarget | null) =>
  target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]") !== null;

/** The name of a key as the tables of keys have it. */
export function nameOf(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  const key = event.key.length === 1 && (event.ctrlKey || event.metaKey) ? event.key.toLowerCase() : event.key;
  return `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}${key}`;
}

export function useKeys(keys: Keys): void {
  const now = useRef(keys);
  now.current = keys;
  useEffect(() => {
    let before = "";
    let at = 0;
    const pressed = (event: KeyboardEvent) => {
      const name = nameOf(event);
      if (event.defaultPrevented || (isText(event.target) && !name.startsWith("Ctrl+"))) return;
      // Within a dialog or a menu its own keys count.
      if (!name.startsWith("Ctrl+") && document.querySelector("dialog[open], .menu:popover-open")) return;
      const both = before && event.timeStamp - at < NEXT_MS ? `${before} ${name}` : name;
      const perform = now.current[both] ?? now.current[name];
      before = perform ? "" : name;
      at = event.timeStamp;
      if (!perform) return;
      event.preventDefault();
      perform();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}
