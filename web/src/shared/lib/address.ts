// Addresses: where the interface lies, and what the address bar says. State that a link should keep is in the query.
import { useLayoutEffect, useMemo, useState } from "preact/hooks";

/** …/det/, read once: the master has written it into the page, relative to the page's own address. */
export const base = new URL(".", document.baseURI);
/** …/, the master's root, below whatever prefix a reverse proxy has */
export const root = new URL("..", base);

/** The address of a page of the interface, for href. */
export const to = (path: string) => base.pathname + path;

const CHANGED = "det:address";

export function go(path: string, { replace = false } = {}): void {
  const url = new URL(path, base);
  if (url.href === location.href) return;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  dispatchEvent(new Event(CHANGED));
  if (!replace) scrollTo(0, 0);
}

/** The path below /det/ without a slash at either end, and the query. */
export function here(): { path: string; query: URLSearchParams } {
  const { pathname, search } = location;
  const path = pathname.startsWith(base.pathname) ? pathname.slice(base.pathname.length) : "";
  return { path: path.replace(/\/+$/, ""), query: new URLSearchParams(search) };
}

export function useAddress() {
  const [href, setHref] = useState(location.href);
  // Before the page is painted: who types or goes on at once, when no effect has run yet, changes the address, too.
  useLayoutEffect(() => {
    const read = () => setHref(location.href);
    addEventListener("popstate", read);
    addEventListener(CHANGED, read);
    read();
    return () => {
      removeEventListener("popstate", read);
      removeEventListener(CHANGED, read);
    };
  }, []);
  return useMemo(here, [href]);
}

/** One parameter of the query as state; null takes it out. */
export function useParameter(name: string, initial = ""): [string, (value: string | null) => void] {
  const { query } = useAddress();
  const set = (value: string | null) => {
    const { path, query: now } = here();
    if (value === null || value === initial) now.delete(name);
    else now.set(name, value);
    const text = now.toString();
    go(text ? `${path}?${text}` : path, { replace: true });
  };
  return [query.get(name) ?? initial, set];
}

/** Links within the interface change the page without loading it again. */
export function followLinks(): void {
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    if (link.target || link.hasAttribute("download") || link.origin !== location.origin || !link.pathname.startsWith(base.pathname)) return;
    event.preventDefault();
    go(link.href);
  });
}

/** Where to go after a sign-in: only to the same origin; "//host" and its like lead elsewhere. A path of the master is below its root. */
export function safeTarget(wanted: string | null): string {
  if (!wanted) return base.href;
  try {
    const path = wanted.startsWith("/") && !wanted.startsWith(root.pathname) ? root.pathname.replace(/\/$/, "") + wanted : wanted;
    const url = new URL(path, base);
    return url.origin === base.origin ? url.href : base.href;
  } catch {
    return base.href;
  }
}

/** An address of this master as the master itself knows it, without the prefix that a reverse proxy puts before it. */
export function belowRoot(href: string): string {
  const url = new URL(href, base);
  return url.pathname.slice(root.pathname.length - 1) + url.search + url.hash;
}
