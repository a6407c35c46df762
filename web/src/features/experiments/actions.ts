// What can be done with an experiment, as values: buttons and menus are made of them.
import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import type { Action } from "@shared/ui/Menu";
import { hasEnded, isLive } from "@shared/lib/states";
import { say, sayError } from "@shared/ui/Toast";

const CALLS = {
  pause: (id: number) => api.pauseExperiment({ id }),
  activate: (id: number) => api.activateExperiment({ id }),
  cancel: (id: number) => api.cancelExperiment({ id }),
  kill: (id: number) => api.killExperiment({ id }),
  archive: (id: number) => api.archiveExperiment({ id }),
  unarchive: (id: number) => api.unarchiveExperiment({ id }),
};
export type Verb = keyof typeof CALLS;

const DONE: Record<Verb, string> = {
  pause: "is being paused", activate: "is active again", cancel: "stops after its next checkpoint", kill: "is being killed", archive: "is archived", unarchive: "is no longer archived",
};

export interface Doing {
  verb: Verb;
  experiment: Experiment;
}

export function useExperimentActions() {
  const [asking, setAsking] = useState<Doing | null>(null);
  const change = useChange(({ verb, experiment }: Doing) => CALLS[verb](experiment.id));
  const run = (doing: Doing) =>
    change.mutate(doing, {
      onSuccess: () => {
        setAsking(null);
        say(`Experiment ${doing.experiment.id} ${DONE[doing.verb]}.`);
      },
      onError: (error: Error) => {
        setAsking(null);
        sayError(error);
      },
    });
  const actionsOf = (experiment: Experiment): Action[] => {
    const { state } = experiment;
    const act = (verb: Verb, label: string, possible: boolean, refused: string, danger = false): Action => ({
      label, danger, refused: possible ? undefined : refused, perform: () => (danger ? setAsking({ verb, experiment }) : run({ verb, experiment })),
    });
    const ended = hasEnded(state);
    return [
      state === "STATE_PAUSED" ? act("activate", "Activate", true, "") : act("pause", "Pause", isLive(state), "Only an active experiment can be paused"),
      act("cancel", "Stop", isLive(state) || state === "STATE_PAUSED", "It has ended, or is about to", true),
      act("kill", "Kill", !ended, "It has ended", true),
      experiment.archived ? act("unarchive", "Unarchive", true, "") : act("archive", "Archive", ended, "Only an experiment that has ended can be archived"),
    ];
  };
  return { actionsOf, asking, busy: change.isPending, confirm: () => asking && run(asking), dismiss: () => setAsking(null) };
}
