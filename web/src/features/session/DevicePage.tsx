import { useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { User } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { useParameter } from "@shared/lib/address";
import { useTitle } from "@shared/lib/hooks";
import { Button } from "@shared/ui/Button";
import { TextField } from "@shared/ui/Form";
import "./signin.css";

/** The page at /det/device, whose address `det auth login --device` prints. Whoever confirms the code here logs that machine in under their own name. */
export function DevicePage({ user }: { user: User }) {
  useTitle("Log in on another device");
  const [code, setCode] = useParameter("code");
  const [typed, setTyped] = useState(code);
  return (
    <div class="sign-in">
      <div class="card">
        <h1>Log in on another device</h1>
        {code ? <Confirm key={code} code={code} user={user} again={() => setCode(null)} /> : (
          <form class="form" onSubmit={(event) => { event.preventDefault(); setCode(typed.trim()); }}>
            <TextField label="The code that det shows" value={typed} onInput={setTyped} autocomplete="off" spellcheck={false} required autofocus />
            <Button type="submit" kind="primary">Go on</Button>
          </form>
        )}
      </div>
    </div>
  );
}

function Confirm({ code, user, again }: { code: string; user: User; again: () => void }) {
  const { data: asked, error } = useApi(api.getDeviceLogin({ userCode: code }));
  const [done, setDone] = useState("");
  const [mistake, setMistake] = useState("");
  const answer = async (allow: boolean) => {
    try {
      await send(api.answerDeviceLogin({ userCode: code, allow }));
      setDone(allow ? "Done: det goes on by itself." : "Refused: nobody has been logged in.");
    } catch (e) {
      setMistake((e as Error).message);
    }
  };
  if (done) return <p role="status">{done}</p>;
  if (error || mistake)
    return (
      <>
        <p class="mistake" role="alert">{mistake || error?.message}</p>
        <Button onClick={again}>Type another code</Button>
      </>
    );
  if (!asked) return null;
  return (
    <>
      <p>
        <b>{plain(asked.device) || "A machine"}</b> at {asked.address} asks to be logged in as <b>{user.username}</b>. Its code is <b>{code.toUpperCase()}</b>.
      </p>
      <p class="muted">Go on only if you have begun this yourself, a moment ago, and see this code there. Otherwise somebody else would work in your name.</p>
      <Button kind="primary" onClick={() => void answer(true)}>Log this machine in</Button>
      <Button kind="danger" onClick={() => void answer(false)}>Refuse</Button>
    </>
  );
}
