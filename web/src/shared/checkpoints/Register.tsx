import { useState } from "preact/hooks";
import { send } from "@shared/api/client";
import { useAll } from "@shared/api/lists";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go } from "@shared/lib/address";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { SelectField, TextField } from "@shared/ui/Form";

const NEW = "new";

/** Registers a checkpoint as the next version of a model, or as the first of a new one. */
export function Register({ uuid, onClose }: { uuid: string; onClose: () => void }) {
  const { rows, error } = useAll((offset, limit) => api.getModels({ archived: false, offset, limit, sortBy: "SORT_BY_LAST_UPDATED_TIME", orderBy: "ORDER_BY_DESC" }), (reply) => reply.models);
  const [wanted, setWanted] = useState("");
  const [name, setName] = useState("");
  const [comment, setComment] = useState("");
  const [mistake, setMistake] = useState("");
  const models = rows ?? [];
  const model = wanted || (models[0] ? String(models[0].id) : NEW);
  const version = useChange((id: string) => api.postModelVersion({ modelName: id, checkpointUuid: uuid, comment }));
  const submit = async (event: Event) => {
    event.preventDefault();
    setMistake("");
    try {
      const id = model === NEW ? String((await send(api.postModel({ name: name.trim() }))).model!.id) : model;
      setWanted(id); // a version that is refused now is tried again with the model that exists
      const { modelVersion } = await version.mutateAsync(id);
      go(`models/${id}/versions/${modelVersion!.version}`);
    } catch (error) {
      setMistake((error as Error).message);
    }
  };
  return (
    <Dialog title="Register this checkpoint" onClose={onClose}>
      <form class="form" onSubmit={(event) => void submit(event)}>
        <SelectField label="Model" value={model} onChange={setWanted} lost={error} options={[...models.map((m) => [String(m.id), `${plain(m.name)} (${m.numVersions})`] as [string, string]), [NEW, "A new model"]]} />
        {model === NEW && <TextField label="Name of the new model" value={name} onInput={setName} required />}
        <TextField label="Comment" value={comment} onInput={setComment} />
        {mistake && <p class="mistake" role="alert">{mistake}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={version.isPending} disabled={model === NEW && !name.trim()}>Register</Button></div>
      </form>
    </Dialog>
  );
}
