import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { served, type Trial } from "@shared/api/routes.gen";
import { go } from "@shared/lib/address";
import { hasEnded } from "@shared/lib/states";
import { Confirm } from "@shared/ui/Dialog";
import { Menu } from "@shared/ui/Menu";
import { say, sayError } from "@shared/ui/Toast";

/** What can be done with a trial. */
export function TrialActions({ trial }: { trial: Trial }) {
  const [asking, setAsking] = useState(false);
  const kill = useChange(() => api.killTrial({ id: trial.id }));
  const board = useChange(() => api.launchTensorboard({ trialIds: [trial.id] }));
  return (
    <div class="row unprinted">
      <Menu label={`Actions of trial ${trial.id}`} actions={[
        { label: "Open in TensorBoard", perform: () => board.mutate(undefined, { onSuccess: ({ tensorboard }) => go(`tasks/${tensorboard!.id}`), onError: sayError }) },
        ...(served.has("createExperiment") ? [{ label: "New experiment with these hyperparameters", perform: () => go(`create?experiment=${trial.experimentId}&trial=${trial.id}`) }] : []),
        { label: "Kill", danger: true, refused: hasEnded(trial.state) ? "It has ended" : undefined, perform: () => setAsking(true) },
      ]} />
      {asking && <Confirm title={`Kill trial ${trial.id}?`} action="Kill" danger busy={kill.isPending} onClose={() => setAsking(false)}
        onConfirm={() => kill.mutate(undefined, { onSuccess: () => { setAsking(false); say(`Trial ${trial.id} is being killed.`); }, onError: (error) => { setAsking(false); sayError(error); } })}>
        It ends at once. What it has done since its last checkpoint is lost; the other trials of the experiment go on.</Confirm>}
    </div>
  );
}
