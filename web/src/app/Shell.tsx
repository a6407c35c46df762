import type { ComponentChildren } from "preact";
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { shownName } from "@shared/api/me";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, to } from "@shared/lib/address";
import { type Keys, useKeys } from "@shared/lib/keys";
import { chooseTheme, type Theme, theme } from "@shared/lib/theme";
import { Icon } from "@shared/ui/icons";
import { type Action, Menu } from "@shared/ui/Menu";
import { sayError } from "@shared/ui/Toast";
import { type Page, pages, parametersOf } from "./pages";
import { PLACES } from "./places";

const THEMES: [Theme, string][] = [["system", "Theme of the system"], ["light", "Light theme"], ["dark", "Dark theme"]];

/** The frame of all pages: where one can go, who is signed in, and whether the master answers. */
const focusSearch = () => document.querySelector<HTMLInputElement>("#content input[type=search]")?.focus();

/** The keys of all pages, and what they open. */
function useShellKeys() {
  const [open, setOpen] = useState<"palette" | "places" | "keys" | null>(null);
  const keys: Keys = {
    "Ctrl+k": () => setOpen((now) => (now === "palette" ? null : "palette")), "/": focusSearch, "?": () => setOpen("keys"),
    ...Object.fromEntries(PLACES.map(({ key, at }) => [`g ${key}`, () => go(at())])),
  };
  useKeys(keys);
  return { open, setOpen };
}

type Opened = ComponentType<{ onClose: () => void }>;
const LOADS = { palette: () => import("./Palette").then((m) => m.Palette as Opened), places: () => import("./Palette").then((m) => m.PlacesOfPhone as Opened), keys: () => import("./KeysHelp").then((m) => m.KeysHelp as Opened) };

/** Palette and keys are loaded when somebody first asks for them. */
function OpenedDialog({ what, onClose }: { what: keyof typeof LOADS; onClose: () => void }) {
  const [Made, setMade] = useState<{ it: Opened } | null>(null);
  useEffect(() => { LOADS[what]().then((it) => setMade({ it }), sayError); }, [what]);
  return Made ? <Made.it onClose={onClose} /> : null;
}

function Places({ path, set, admin, onMore }: { path: string; set: boolean; admin: boolean; onMore?: () => void }) {
  return (
    <nav class={`nav ${set ? "set" : ""}`} aria-label={set ? "Administration" : "Pages"}>
      {pages.flatMap((page) => page.nav && Boolean(page.nav.set) === set && (admin || !page.nav.admin) ? [
        <a key={page.path} href={to(page.nav.at())} class={page.nav.phone ? "" : "not-narrow"} aria-current={isWithin(page, path) ? "page" : undefined} title={page.nav.key ? `Keys: g ${page.nav.key}` : undefined}>
          <Icon name={page.nav.icon} /><span>{page.nav.title}</span>
        </a>,
      ] : [])}
      {onMore && <button type="button" class="only-narrow" onClick={onMore}><Icon name="more" /><span>More</span></button>}
    </nav>
  );
}

export function Shell({ user, path, away, children }: { user: User; path: string; away: boolean; children: ComponentChildren }) {
  const { data: master } = useApi(api.getMaster());
  const { open, setOpen } = useShellKeys();
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>To the content</a>
      <header class="side unprinted">
        <a class="brand" href={to("")}>
          {master?.hasCustomLogo ? <Logo /> : <img src={to("favicon.svg")} width={22} height={22} alt="" />}
          <span class="cut" title={master?.clusterName ? plain(master.clusterName) : undefined}>{plain(master?.clusterName || "Determined")}</span>
        </a>
        <button type="button" class="find" aria-keyshortcuts="Control+K" onClick={() => setOpen("palette")}><Icon name="search" size={14} /><span>Find</span><kbd>Ctrl K</kbd></button>
        <Places path={path} set={false} admin={user.admin} onMore={() => setOpen("places")} />
        <Places path={path} set admin={user.admin} />
        <div class="me"><UserMenu user={user} onKeys={() => setOpen("keys")} /></div>
      </header>
      <main id="content" tabIndex={-1}>
        {master?.clusterMessage && <p class="banner" role="status">{plain(master.clusterMessage.message)}</p>}
        {away && <p class="banner" role="status">The master does not answer. What is shown may be old; the page tries again by itself.</p>}
        {children}
      </main>
      {open && <OpenedDialog what={open} onClose={() => setOpen(null)} />}
    </div>
  );
}

/** The logo of the cluster's owner (ui_customization.logo_paths), on light or on dark ground. */
function Logo() {
  const chosen = theme();
  const mode = chosen === "system" ? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light") : chosen;
  return <img src={to(`customer-assets/logo?mode=${mode}&orientation=horizontal`)} height={22} alt="" />;
}

const ABOVE: Record<string, string> = { experiments: "projects", compare: "projects", create: "projects" };
const firstOf = (path: string) => path.split("/")[0]!;

/** Experiments and trials are below the list of experiments, a task below the list of tasks. */
const isWithin = (page: Page, path: string) => parametersOf(page, path) !== null || (path !== "" && firstOf(page.path) === (ABOVE[firstOf(path)] ?? firstOf(path)));

function UserMenu({ user, onKeys }: { user: User; onKeys: () => void }) {
  const [now, setNow] = useState(theme);
  const leave = () => send(api.logout()).then(() => location.assign(to("login")), sayError);
  const actions: (Action | null)[] = [
    ...THEMES.map(([key, label]): Action => ({ label, chosen: now === key, perform: () => { chooseTheme(key); setNow(key); } })),
    null,
    { label: "Settings", perform: () => go("settings") },
    { label: "Keys", perform: onKeys },
    { label: "Sign out", perform: () => void leave() },
  ];
  return (
    <Menu label={`${shownName(user)}: theme and sign out`} actions={actions} above>
      <Icon name="user" /><span class="cut">{plain(shownName(user))}</span>
    </Menu>
  );
}
