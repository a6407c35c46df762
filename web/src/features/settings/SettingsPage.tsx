import { useState } from "preact/hooks";
import { useAll } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { TokenInfo, User } from "@shared/api/routes.gen";
import { useUser } from "@shared/api/me";
import { plain } from "@shared/lib/ansi";
import { now } from "@shared/lib/clock";
import { to } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { chooseTheme, type Theme, theme } from "@shared/lib/theme";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { Choice, TextField } from "@shared/ui/Form";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import "./settings.css";

const THEMES: [Theme, string][] = [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]];

export function SettingsPage({ user: first }: { user: User }) {
  useTitle("Settings");
  const user = useUser() ?? first;
  return (
    <div class="page settings">
      <header class="page-head"><h1>Settings</h1><span class="muted">of {plain(user.username)}</span></header>
      <Profile user={user} />
      {user.remote ? <section class="panel"><header><h2>Password</h2></header><Empty title="You sign in at a provider">Your password is changed there.</Empty></section> : <Password user={user} />}
      <Appearance />
      <Tokens user={user} />
      <Kept />
    </div>
  );
}

/** Must not have a key that changes with the user: a new component would not report the end of the change that the old one has sent. */
function Profile({ user }: { user: User }) {
  const [name, setName] = useState(user.displayName);
  const change = useChange(() => api.patchUser({ userId: user.id, user: { displayName: name.trim(), ...(user.modifiedAt ? { ifModifiedAt: user.modifiedAt } : {}) } }));
  const submit = (event: Event) => { event.preventDefault(); change.mutate(undefined, { onSuccess: () => say("Your name is changed."), onError: () => {} }); };
  return (
    <section class="panel">
      <header><h2>Profile</h2></header>
      <form class="body form" onSubmit={submit}>
        <dl class="facts"><dt>User name</dt><dd>{plain(user.username)}</dd><dt>Role</dt><dd>{user.admin ? "Admin" : "User"}</dd><dt>Last sign-in</dt><dd><Ago time={user.lastAuthAt} /></dd></dl>
        <TextField label="Name that is shown" value={name} onInput={setName} autocomplete="name" hint="Others see it beside your experiments. Empty: your user name." />
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button type="submit" kind="primary" busy={change.isPending} disabled={name.trim() === user.displayName}>Save</Button></div>
      </form>
    </section>
  );
}

function Password({ user }: { user: User }) {
  const { data: master } = useApi(api.getMaster());
  const least = master?.passwordMinLength ?? 8;
  const [password, setPassword] = useState("");
  const [again, setAgain] = useState("");
  const change = useChange(() => api.patchUser({ userId: user.id, user: { password, isHashed: false } }));
  const short = password !== "" && password.length < least ? `At least ${least} characters` : undefined;
  const differs = again !== "" && again !== password ? "This is not the same" : undefined;
  const submit = (event: Event) => {
    event.preventDefault();
    if (short || again !== password) return;
    change.mutate(undefined, { onSuccess: () => { setPassword(""); setAgain(""); say("Your password is changed."); }, onError: () => {} });
  };
  return (
    <section class="panel">
      <header><h2>Password</h2></header>
      <form class="body form" onSubmit={submit} noValidate>
        <input type="text" class="unseen" tabIndex={-1} aria-hidden="true" autocomplete="username" value={user.username} readOnly />
        <TextField label="New password" type="password" value={password} onInput={setPassword} mistake={short} autocomplete="new-password" hint={`At least ${least} characters.`} />
        <TextField label="The same again" type="password" value={again} onInput={setAgain} mistake={differs} autocomplete="new-password" />
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button type="submit" kind="primary" busy={change.isPending} disabled={!password || Boolean(short) || again !== password}>Change the password</Button></div>
      </form>
    </section>
  );
}

function Appearance() {
  const [now, setNow] = useState(theme);
  return (
    <section class="panel">
      <header><h2>Appearance</h2></header>
      <div class="body"><Choice label="Theme" value={now} options={THEMES} onChange={(next) => { chooseTheme(next); setNow(next); }} /><p class="muted">Applies to this browser only.</p></div>
    </section>
  );
}

const isOver = (t: TokenInfo) => Boolean(t.expiry && Date.parse(t.expiry) < now());
const COLUMNS: Column<TokenInfo>[] = [
  { key: "what", title: "For", width: "minmax(130px, 3fr)", cell: (t) => <span class="cut">{plain(t.description) || `token ${t.id}`}</span> },
  { key: "made", title: "Made", width: "104px", wide: true, cell: (t) => <Ago time={t.createdAt} /> },
  { key: "ends", title: "Ends", width: "104px", cell: (t) => (t.expiry ? <time dateTime={t.expiry}>{t.expiry.slice(0, 10)}</time> : "never") },
];

function Tokens({ user }: { user: User }) {
  const { rows, error } = useAll((offset, limit) => api.getAccessTokens({ offset, limit, username: user.username }), (reply) => reply.tokenInfo, { every: 30_000 });
  const tokens = (rows ?? []).filter((t) => t.tokenType === "TOKEN_TYPE_ACCESS_TOKEN" && !t.revoked && !isOver(t));
  return (
    <section class="panel">
      <header><h2>Access tokens <span class="muted number">{rows ? tokens.length : ""}</span></h2><a href={to("tokens")}>Make and revoke tokens</a></header>
      {error && !rows ? <Failure error={error} /> : <Table label="Access tokens" columns={COLUMNS} count={tokens.length} at={(i) => tokens[i]} rowKey={(t) => t.id}
        instead={rows ? <Empty title="No tokens">A token lets a program sign in as you.</Empty> : <Waiting />} />}
    </section>
  );
}

/** Settings that the master keeps for all browsers of this user, such as saved views. */
function Kept() {
  const { data } = useApi(api.getUserSetting());
  const [asking, ask] = useState(false);
  const reset = useChange(() => api.resetUserSetting());
  const n = data?.settings.length ?? 0;
  return (
    <section class="panel">
      <header><h2>What is kept for you</h2><Button disabled={n === 0} onClick={() => ask(true)}>Forget all of it</Button></header>
      <div class="body"><p class="muted">{n === 0 ? "Nothing. Views that you save in lists are kept by the master, for all of your browsers." : `${count(n, "setting")}, such as views that you saved in lists, for all of your browsers.`}</p></div>
      {asking && <Confirm title="Forget saved views and settings?" action="Forget" danger busy={reset.isPending} onClose={() => ask(false)}
        onConfirm={() => reset.mutate(undefined, { onSuccess: () => { ask(false); say("Your settings are forgotten."); }, onError: (failure) => { ask(false); sayError(failure); } })}>
        {count(n, "setting")} {n === 1 ? "is" : "are"} removed from the master for good.
      </Confirm>}
    </section>
  );
}
