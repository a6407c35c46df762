import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { Field } from "@shared/ui/Form";
import { say } from "@shared/ui/Toast";

/** Lets an experiment go on from its last checkpoint, with changes of its configuration if some are wanted. */
export function ContinueDialog({ x, onClose }: { x: Experiment; onClose: () => void }) {
  const [override, setOverride] = useState("");
  const change = useChange(() => api.continueExperiment({ id: x.id, overrideConfig: override }));
  const submit = (event: Event) => {
    event.preventDefault();
    change.mutate(undefined, { onSuccess: ({ configWarnings }) => {
      for (const warning of configWarnings) say(warning, { bad: true });
      say(`Experiment ${x.id} goes on.`);
      onClose();
    }, onError: () => {} });
  };
  return (
    <Dialog title={`Continue experiment ${x.id}`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <Field label="Changes of the configuration" hint="YAML; only what shall differ, such as a longer searcher.max_length. Empty: as before.">
          {({ id, describedBy }) => <textarea id={id} class="input area" aria-describedby={describedBy} rows={6} value={override} spellcheck={false} onInput={(event) => setOverride(event.currentTarget.value)} />}
        </Field>
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={change.isPending}>Continue</Button></div>
      </form>
    </Dialog>
  );
}
