import { useState } from "preact/hooks";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { TextField } from "@shared/ui/Form";

interface Props {
  title: string;
  action: string;
  name?: string;
  /** a second field, if there is one */
  description?: string | undefined;
  submit: (name: string, description: string) => Promise<unknown>;
  onClose: () => void;
}

/** Asks for a name; what the master refuses is said below the field. */
export function NameDialog({ title, action, name: before = "", description, submit, onClose }: Props) {
  const [name, setName] = useState(before);
  const [about, setAbout] = useState(description ?? "");
  const [mistake, setMistake] = useState<string | undefined>();
  const [busy, setBusy] = useState(false);
  const send = (event: Event) => {
    event.preventDefault();
    setBusy(true);
    submit(name.trim(), about).catch((error: Error) => setMistake(error.message)).finally(() => setBusy(false));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="form" onSubmit={send}>
        <TextField label="Name" value={name} onInput={(value) => { setName(value); setMistake(undefined); }} maxLength={80} required autofocus mistake={mistake} />
        {description !== undefined && <TextField label="Description" value={about} onInput={setAbout} />}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={busy} disabled={!name.trim()}>{action}</Button></div>
      </form>
    </Dialog>
  );
}
