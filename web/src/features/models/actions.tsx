import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Model } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count } from "@shared/lib/format";
import { Confirm } from "@shared/ui/Dialog";
import type { Action } from "@shared/ui/Menu";
import { say, sayError } from "@shared/ui/Toast";

/** What can be done with a model. The API names models by their names or ids; ids hold after a change of the name. */
export function useModelActions(gone: () => void = () => {}) {
  const [deleting, remove] = useState<Model | null>(null);
  const archive = useChange(({ model, on }: { model: Model; on: boolean }) => (on ? api.archiveModel({ modelName: String(model.id) }) : api.unarchiveModel({ modelName: String(model.id) })));
  const drop = useChange((model: Model) => api.deleteModel({ modelName: String(model.id) }));
  const setArchived = (model: Model, on: boolean) => archive.mutate({ model, on }, { onError: sayError,
    onSuccess: () => say(`The model “${plain(model.name)}” is ${on ? "archived" : "no longer archived"}.`, { undo: () => setArchived(model, !on) }) });
  const actionsOf = (model: Model): Action[] => [
    model.archived ? { label: "Unarchive", perform: () => setArchived(model, false) } : { label: "Archive", perform: () => setArchived(model, true) },
    { label: "Delete", danger: true, perform: () => remove(model) },
  ];
  const dialogs = deleting && (
    <Confirm title={`Delete the model “${plain(deleting.name)}”?`} action="Delete" danger busy={drop.isPending} onClose={() => remove(null)}
      onConfirm={() => drop.mutate(deleting, { onSuccess: () => { remove(null); say(`The model “${plain(deleting.name)}” is deleted.`); gone(); }, onError: (error) => { remove(null); sayError(error); } })}>
      Its {count(deleting.numVersions, "version")} are no longer registered. The checkpoints themselves stay, until their experiments' rules remove them.
    </Confirm>
  );
  return { actionsOf, dialogs };
}
