import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { SignInForm, SignInPage } from "@features/session/SignIn";
import { useMe } from "@shared/api/me";
import { askAtOnce, queryOf } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { User } from "@shared/api/routes.gen";
import { to, useAddress } from "@shared/lib/address";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { Toasts } from "@shared/ui/Toast";
import { type Page, pages, parametersOf } from "./pages";
import { Shell } from "./Shell";

export function App() {
  const { path } = useAddress();
  return (
    <>
      {path === "login" ? <SignInPage /> : <Inside path={path} />}
      <Toasts />
    </>
  );
}

/** What only signed-in users see. A session that ends while somebody works is signed in again in place: what was typed stays. */
function Inside({ path }: { path: string }) {
  const { user, out, away, isPending, refetch } = useMe();
  // What the page needs in any case is asked for while the master says who is signed in.
  askAtOnce(queryOf(api.getMaster()));
  const page = pageAt(path)?.page;
  useMemo(() => { if (page) void load(page).catch(() => {}); }, [page]);
  const [known, setKnown] = useState<User | null>(null);
  useEffect(() => { if (user) setKnown(user); }, [user]);
  useUpdates(known !== null && !out);
  if (out && !known) {
    location.replace(to(`login?redirect=${encodeURIComponent(location.pathname + location.search)}`));
    return null;
  }
  const me = user ?? known;
  if (!me) return isPending && !away ? null : <Failure error={away ?? new Error("The master does not say who you are.")} retry={() => void refetch()} />;
  return (
    <>
      <Shell user={me} path={path} away={away !== null}>
        <Body path={path} user={me} />
      </Shell>
      {out && (
        <Dialog title="Your session has ended" closable={false} onClose={() => {}}>
          <SignInForm username={me.username} onDone={() => void refetch()} />
          {me.remote && <p class="muted"><a href={to(`login?redirect=${encodeURIComponent(location.pathname + location.search)}`)}>Sign in at your provider</a></p>}
        </Dialog>
      )}
    </>
  );
}

const UPDATES_AFTER_MS = 1500;

/** Follows the master's updates while somebody is signed in. Begins after the first page was drawn, so as not to delay it. */
function useUpdates(on: boolean): void {
  useEffect(() => {
    if (!on) return;
    let end: (() => void) | undefined;
    let left = false;
    const timer = setTimeout(() => void import("@shared/api/live").then(({ followUpdates }) => { if (!left) end = followUpdates(); }, () => {}), UPDATES_AFTER_MS);
    return () => { left = true; clearTimeout(timer); end?.(); };
  }, [on]);
}

type Draw = (parameters: Record<string, string>, user: User) => JSX.Element;
const loaded = new Map<Page, Draw>();
const loading = new Map<Page, Promise<void>>();

/** Loads a page's scripts once; what has failed is loaded again when somebody goes there again. */
function load(page: Page): Promise<void> {
  const begun = loading.get(page);
  if (begun) return begun;
  const made = page.load().then((draw) => { loaded.set(page, draw); });
  made.catch(() => loading.delete(page));
  loading.set(page, made);
  return made;
}

const pageAt = (path: string) => pages.map((page) => ({ page, parameters: parametersOf(page, path) })).find(({ parameters }) => parameters);

function Body({ path, user }: { path: string; user: User }) {
  const found = pageAt(path);
  const [, redraw] = useState(0);
  const [error, setError] = useState<Error | null>(null);
  const page = found?.page;
  const draw = page && loaded.get(page);
  useEffect(() => {
    setError(null);
    if (!page || loaded.has(page)) return;
    let left = false;
    load(page).then(
      () => { if (!left) redraw((n) => n + 1); },
      // The master was upgraded since this page was loaded, and no longer has its files.
      () => { if (!left) setError(new Error("This part of the interface could not be loaded. If the master was upgraded, load the page again.")); },
    );
    return () => { left = true; };
  }, [page]);
  if (!found?.parameters) return <Empty page title="There is no such page" action={<a href={to("")}>To the first page</a>}>Nothing lies at {path}.</Empty>;
  if (draw) return draw(found.parameters, user);
  return error ? <Empty page title="Not loaded" action={<Button onClick={() => location.reload()}>Load again</Button>}>{error.message}</Empty> : <Waiting lines={6} />;
}
