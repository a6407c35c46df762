import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { TextField } from "@shared/ui/Form";

export function EditDialog({ x, onClose }: { x: Experiment; onClose: () => void }) {
  const [name, setName] = useState(x.name);
  const [description, setDescription] = useState(x.description);
  const [labels, setLabels] = useState(x.labels.join(", "));
  const change = useChange(() => api.patchExperiment({ experimentId: x.id, experiment: { name: name.trim(), description, labels: labels.split(",").map((label) => label.trim()).filter(Boolean) } }));
  const submit = (event: Event) => { event.preventDefault(); change.mutate(undefined, { onSuccess: onClose, onError: () => {} }); };
  return (
    <Dialog title={`Edit experiment ${x.id}`} onClose={onClose}>
      <form class="form" onSubmit={submit}>
        <TextField label="Name" value={name} onInput={setName} required autofocus />
        <TextField label="Description" value={description} onInput={setDescription} />
        <TextField label="Labels" value={labels} onInput={setLabels} hint="Separated by commas" />
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={change.isPending} disabled={!name.trim()}>Save</Button></div>
      </form>
    </Dialog>
  );
}
