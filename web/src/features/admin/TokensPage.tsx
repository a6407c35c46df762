import { useState } from "preact/hooks";
import { useAll, useUsers } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { TokenInfo, TokenScope, User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { now } from "@shared/lib/clock";
import { useParameter } from "@shared/lib/address";
import { exact, words } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { Confirm, Dialog } from "@shared/ui/Dialog";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { CheckField, SelectField, TextField } from "@shared/ui/Form";
import { Menu } from "@shared/ui/Menu";
import { type Column, Table } from "@shared/ui/Table";
import { Ago } from "@shared/ui/Time";
import { say, sayError } from "@shared/ui/Toast";
import "@shared/ui/state.css";

const SCOPES: [TokenScope, string][] = [["TOKEN_SCOPE_READ", "Read: looks at everything that you see"], ["TOKEN_SCOPE_SUBMIT", "Submit: also starts, pauses and ends experiments and tasks"], ["TOKEN_SCOPE_ALL", "All: whatever you may do"]];
const isOver = (t: TokenInfo) => Boolean(t.expiry && Date.parse(t.expiry) < now());

/** Access tokens: for programs that sign in as their user. */
export function TokensPage({ user: me }: { user: User }) {
  useTitle("Access tokens");
  const [all, setAll] = useParameter("all");
  const [others, setOthers] = useParameter("others");
  const [making, setMaking] = useState(false);
  const [revoking, revoke] = useState<TokenInfo | null>(null);
  const { rows, error } = useAll((offset, limit) => api.getAccessTokens({ offset, limit, showInactive: Boolean(all), ...(others ? {} : { username: me.username }) }), (reply) => reply.tokenInfo, { every: 15_000, keep: true });
  const { rows: users } = useUsers({}, { enabled: Boolean(others) });
  const drop = useChange((tokenId: number) => api.patchAccessToken({ tokenId, setRevoked: true }));
  const nameOf = (id: number) => (id === me.id ? me.username : (users?.find((u) => u.id === id)?.username ?? String(id)));
  const tokens = (rows ?? []).filter((t) => t.tokenType === "TOKEN_TYPE_ACCESS_TOKEN");
  const columns: Column<TokenInfo>[] = [
    { key: "what", title: "For", width: "minmax(140px, 3fr)", cell: (t) => <span class="cut">{plain(t.description) || `token ${t.id}`}</span> },
    { key: "state", title: "State", width: "110px", cell: (t) => <span class={`state ${t.revoked || isOver(t) ? "idle" : "good"}`}>{t.revoked ? "revoked" : isOver(t) ? "expired" : "valid"}</span> },
    { key: "scope", title: "May", width: "100px", wide: true, cell: (t) => (t.scope ? words(t.scope.replace("TOKEN_", "")) : "all") },
    ...(others ? [{ key: "user", title: "User", width: "minmax(100px, 1fr)", wide: true, cell: (t: TokenInfo) => <span class="cut">{plain(nameOf(t.userId))}</span> }] : []),
    { key: "made", title: "Made", width: "110px", wide: true, cell: (t) => <Ago time={t.createdAt} /> },
    { key: "expiry", title: "Valid until", width: "190px", wide: true, cell: (t) => (t.expiry ? <span class="number cut">{exact(t.expiry)}</span> : "always") },
  ];
  return (
    <div class="page fills">
      <header class="page-head"><h1>Access tokens</h1><span class="grow" /><Button kind="primary" onClick={() => setMaking(true)}>New token</Button></header>
      <div class="toolbar unprinted"><CheckField label="Expired and revoked, too" checked={Boolean(all)} onChange={(on) => setAll(on ? "1" : null)} />{me.admin && <CheckField label="Of all users" checked={Boolean(others)} onChange={(on) => setOthers(on ? "1" : null)} />}</div>
      <section class="panel fills">
        {error && !rows ? <Failure error={error} /> : <Table label="Access tokens" fill columns={columns} count={tokens.length} at={(i) => tokens[i]} rowKey={(t) => t.id}
          menu={(t) => <Menu label={`Actions of token ${t.id}`} actions={[{ label: "Revoke", danger: true, refused: t.revoked ? "It is revoked" : undefined, perform: () => revoke(t) }]} />}
          instead={rows ? <Empty title="No tokens">A token lets a program sign in as you, with as much as you allow it, until it expires.</Empty> : <Waiting lines={4} />} />}
      </section>
      {making && <NewToken me={me} onClose={() => setMaking(false)} />}
      {revoking && <Confirm title="Revoke this token?" action="Revoke" danger busy={drop.isPending} onClose={() => revoke(null)}
        onConfirm={() => drop.mutate(revoking.id, { onSuccess: () => { revoke(null); say("The token is revoked."); }, onError: (failure) => { revoke(null); sayError(failure); } })}>
        Programs that use “{plain(revoking.description) || revoking.id}” are signed out at once. That cannot be undone.</Confirm>}
    </div>
  );
}

function NewToken({ me, onClose }: { me: User; onClose: () => void }) {
  const [description, setDescription] = useState("");
  const [days, setDays] = useState("30");
  const [scope, setScope] = useState<TokenScope>("TOKEN_SCOPE_READ");
  const make = useChange(() => api.postAccessToken({ userId: me.id, description, scope, ...(days ? { lifespan: `${Number(days) * 24}h` } : {}) }));
  const mistake = /^\d{0,5}$/.test(days) && days !== "0" ? undefined : "A whole number of days, 1 or more";
  const token = make.data?.token;
  const copy = () => void navigator.clipboard?.writeText(token ?? "").then(() => say("The token is copied."), () => say("This browser does not allow copying here.", { bad: true }));
  if (token)
    return (
      <Dialog title="The new token" closable={false} onClose={onClose}>
        <div class="form">
          <p>Keep it now: it is shown only this once.</p>
          <pre class="source secret" tabIndex={0} aria-label="Token">{token}</pre>
          <div class="ends"><Button onClick={copy}>Copy</Button><Button kind="primary" onClick={onClose}>I have kept it</Button></div>
        </div>
      </Dialog>
    );
  return (
    <Dialog title="New token" onClose={onClose}>
      <form class="form" onSubmit={(event) => { event.preventDefault(); if (!mistake) make.mutate(undefined, { onError: () => {} }); }}>
        <TextField label="What it is for" value={description} onInput={setDescription} autofocus placeholder="nightly report" />
        <SelectField label="What it may do" value={scope} onChange={setScope} options={SCOPES} />
        <TextField label="Valid for (days)" value={days} onInput={setDays} inputMode="numeric" mistake={mistake} hint="Empty: as long as the cluster's default." />
        {make.error && <p class="mistake" role="alert">{make.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={make.isPending}>Create</Button></div>
      </form>
    </Dialog>
  );
}
