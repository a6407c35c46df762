// Notes of an object in Markdown: shown, edited in place, saved. What is typed is kept in this browser until it is saved, so that neither a
// session that ends nor a closed page loses it.
import { useState } from "preact/hooks";
import { readSetting, writeSetting } from "@shared/lib/settings";
import { Button } from "@shared/ui/Button";
import { Empty } from "@shared/ui/Empty";
import { say } from "@shared/ui/Toast";
import { Markdown } from "./Markdown";

interface Props {
  /** names the draft: "experiment 7" */
  id: string;
  text: string;
  save: (text: string) => Promise<unknown>;
}

export function Notes({ id, text, save }: Props) {
  const draft = `draft.${id}`;
  const [typed, setTyped] = useState<string | null>(() => readSetting(draft));
  const [shown, setShown] = useState(false);
  const [busy, setBusy] = useState(false);
  const [mistake, setMistake] = useState("");
  const type = (value: string) => { setTyped(value); writeSetting(draft, value); };
  const stop = () => { setTyped(null); setShown(false); setMistake(""); writeSetting(draft, null); };
  const submit = (event: Event) => {
    event.preventDefault();
    setBusy(true);
    save(typed ?? "").then(() => { stop(); say("The notes are saved."); }, (error: Error) => setMistake(error.message)).finally(() => setBusy(false));
  };
  if (typed === null)
    return (
      <section class="panel">
        <header><h2>Notes</h2><Button onClick={() => type(text)}>Edit</Button></header>
        <div class="body">{text.trim() ? <Markdown source={text} /> : <Empty title="No notes yet">What you write here is Markdown; everybody who sees this page can read it.</Empty>}</div>
      </section>
    );
  return (
    <section class="panel">
      <form onSubmit={submit}>
        <div class="toolbar notes-bar">
          <h2>Notes</h2>
          <span class="muted">{typed === text ? "" : "not saved yet; kept in this browser"}</span>
          <span class="grow" />
          <Button kind="bare" onClick={() => setShown(!shown)}>{shown ? "Write" : "Preview"}</Button>
          <Button onClick={stop}>Discard</Button>
          <Button type="submit" kind="primary" busy={busy} disabled={typed === text}>Save</Button>
        </div>
        <div class="body stack close">
          {mistake && <p class="mistake" role="alert">{mistake}</p>}
          {shown ? <Markdown source={typed} /> : <textarea class="input area" aria-label="Notes in Markdown" value={typed} rows={14} autofocus spellcheck onInput={(event) => type(event.currentTarget.value)} />}
        </div>
      </form>
    </section>
  );
}
