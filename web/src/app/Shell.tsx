import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { shownName } from "@shared/api/me";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { to } from "@shared/lib/address";
import { chooseTheme, type Theme, theme } from "@shared/lib/theme";
import { Icon } from "@shared/ui/icons";
import { type Action, Menu } from "@shared/ui/Menu";
import { sayError } from "@shared/ui/Toast";
import { type Page, pages, parametersOf } from "./pages";

const THEMES: [Theme, string][] = [["system", "Theme of the system"], ["light", "Light theme"], ["dark", "Dark theme"]];

/** The frame of all pages: where one can go, who is signed in, and whether the master answers. */
export function Shell({ user, path, away, children }: { user: User; path: string; away: boolean; children: ComponentChildren }) {
  const { data: master } = useApi(api.getMaster());
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); document.getElementById("content")?.focus(); }}>To the content</a>
      <header class="side unprinted">
        <a class="brand" href={to("")}>
          {master?.hasCustomLogo ? <Logo /> : <img src={to("favicon.svg")} width={22} height={22} alt="" />}
          <span class="cut" title={master?.clusterName ? plain(master.clusterName) : undefined}>{plain(master?.clusterName || "Determined")}</span>
        </a>
        <nav class="nav" aria-label="Pages">
          {pages.flatMap((page) => page.nav ? [
            <a key={page.path} href={to(page.nav.at())} aria-current={isWithin(page, path) ? "page" : undefined}><Icon name={page.nav.icon} /><span>{page.nav.title}</span></a>,
          ] : [])}
        </nav>
        <div class="me"><UserMenu user={user} /></div>
      </header>
      <main id="content" tabIndex={-1}>
        {master?.clusterMessage && <p class="banner" role="status">{plain(master.clusterMessage.message)}</p>}
        {away && <p class="banner" role="status">The master does not answer. What is shown may be old; the page tries again by itself.</p>}
        {children}
      </main>
    </div>
  );
}

/** The logo of the cluster's owner (ui_customization.logo_paths), on light or on dark ground. */
function Logo() {
  const chosen = theme();
  const mode = chosen === "system" ? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light") : chosen;
  return <img src={to(`customer-assets/logo?mode=${mode}&orientation=horizontal`)} height={22} alt="" />;
}

/** Experiments and trials are below the list of experiments. */
const isWithin = (page: Page, path: string) => parametersOf(page, path) !== null || (page.path.startsWith("projects") && path.startsWith("experiments/"));

function UserMenu({ user }: { user: User }) {
  const [now, setNow] = useState(theme);
  const leave = () => send(api.logout()).then(() => location.assign(to("login")), sayError);
  const actions: (Action | null)[] = [
    ...THEMES.map(([key, label]): Action => ({ label, chosen: now === key, perform: () => { chooseTheme(key); setNow(key); } })),
    null,
    { label: "Sign out", perform: () => void leave() },
  ];
  return (
    <Menu label={`${shownName(user)}: theme and sign out`} actions={actions} above>
      <Icon name="user" /><span class="cut">{plain(shownName(user))}</span>
    </Menu>
  );
}
