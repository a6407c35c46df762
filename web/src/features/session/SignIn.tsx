import { useEffect, useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { queries, useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { SSOProvider } from "@shared/api/routes.gen";
import { Button } from "@shared/ui/Button";
import { TextField } from "@shared/ui/Form";
import { useTitle } from "@shared/lib/hooks";
import { belowRoot, safeTarget, useAddress } from "@shared/lib/address";
import "./signin.css";

/** Name and password; what happens then is the caller's. */
export function SignInForm({ onDone, username: known = "" }: { onDone: () => void; username?: string }) {
  const [username, setUsername] = useState(known);
  const [password, setPassword] = useState("");
  const [mistake, setMistake] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setMistake("");
    try {
      await send(api.login({ username, password, isHashed: false }));
      onDone();
    } catch (error) {
      setMistake(said(error as Error));
      setBusy(false);
    }
  };
  return (
    <form class="form" onSubmit={submit}>
      <TextField label="User name" value={username} onInput={setUsername} autocomplete="username" autocapitalize="none" spellcheck={false} required autofocus={!known} />
      <TextField label="Password" type="password" value={password} onInput={setPassword} autocomplete="current-password" required autofocus={Boolean(known)} />
      {mistake && <p class="mistake" role="alert">{mistake}</p>}
      <Button type="submit" kind="primary" busy={busy}>Sign in</Button>
    </form>
  );
}

const said = (error: Error) => (error.message === "invalid credentials" ? "There is no user with this name and password." : error.message);

/** Where a login at a provider begins. It ends at this page of the interface. */
export const providerLogin = (url: string, target: string) => `${url}?relayState=${encodeURIComponent(belowRoot(target))}`;

/** With ?password in the address nobody is sent on, so that an admin with a password gets in when the provider is down. */
function Providers({ providers, target, stay }: { providers: SSOProvider[]; target: string; stay: boolean }) {
  const only = providers.length === 1 ? providers[0] : undefined;
  const straight = !stay && only?.alwaysRedirect ? only.ssoUrl : "";
  useEffect(() => {
    if (straight) location.replace(providerLogin(straight, target));
  }, [straight]);
  return (
    <>
      {providers.map((p) => (
        <Button key={p.name} onClick={() => location.assign(providerLogin(p.ssoUrl, target))}>Sign in with {p.name}</Button>
      ))}
    </>
  );
}

/** The page at /det/login. Whoever was sent here from elsewhere goes back there. */
export function SignInPage() {
  useTitle("Sign in");
  const { query } = useAddress();
  const { data: master } = useApi(api.getMaster());
  const done = () => {
    queries.clear();
    location.replace(safeTarget(query.get("redirect")));
  };
  return (
    <main class="sign-in">
      <div class="card">
        <img src={new URL("favicon.svg", document.baseURI).pathname} width={36} height={36} alt="" />
        <h1>Sign in to {master?.clusterName || "Determined"}</h1>
        <SignInForm onDone={done} />
        <Providers providers={master?.ssoProviders ?? []} target={safeTarget(query.get("redirect"))} stay={query.has("password")} />
        <p class="muted">No account, or a forgotten password? An admin of this cluster can help.</p>
      </div>
    </main>
  );
}
