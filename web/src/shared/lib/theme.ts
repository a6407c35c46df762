// Which theme counts: the system's, or the one that the reader has chosen in this browser.
import { useEffect, useState } from "preact/hooks";
import { readSetting, writeSetting } from "./settings";

export type Theme = "system" | "light" | "dark";
const CHANGED = "det:theme";

export const theme = (): Theme => {
  const kept = readSetting("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
};

export function applyTheme(): void {
  const now = theme();
  if (now === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = now;
}

export function chooseTheme(now: Theme): void {
  writeSetting("theme", now === "system" ? null : now);
  applyTheme();
  dispatchEvent(new Event(CHANGED));
}

/** A number that changes with the theme, for what draws with colours that it has read (charts). */
export function useThemeVersion(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const changed = () => setVersion((v) => v + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", changed);
    addEventListener(CHANGED, changed);
    return () => {
      dark.removeEventListener("change", changed);
      removeEventListener(CHANGED, changed);
    };
  }, []);
  return version;
}

let probe: HTMLElement | undefined;
/** The colour that a token has now; a canvas knows no var(). */
export function colourOf(token: string): string {
  probe ??= document.body.appendChild(Object.assign(document.createElement("i"), { hidden: true }));
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}
