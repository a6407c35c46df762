import { useState } from "preact/hooks";
import { useChange } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { go } from "@shared/lib/address";
import { Button } from "@shared/ui/Button";
import { Dialog } from "@shared/ui/Dialog";
import { TextField } from "@shared/ui/Form";

/** "7, 12 14" as numbers; nothing if something among them is none. */
export function idsOf(text: string): number[] | null {
  const parts = text.split(/[\s,]+/).filter(Boolean);
  return parts.every((part) => /^\d{1,9}$/.test(part)) ? [...new Set(parts.map(Number))] : null;
}

export function StartTensorboard({ onClose }: { onClose: () => void }) {
  const [experiments, setExperiments] = useState("");
  const [trials, setTrials] = useState("");
  const [asked, setAsked] = useState(false);
  const change = useChange((wanted: { experimentIds: number[]; trialIds: number[] }) => api.launchTensorboard(wanted));
  const [experimentIds, trialIds] = [idsOf(experiments), idsOf(trials)];
  const nothing = asked && experimentIds?.length === 0 && trialIds?.length === 0;
  const submit = (event: Event) => {
    event.preventDefault();
    setAsked(true);
    if (!experimentIds || !trialIds || experimentIds.length + trialIds.length === 0) return;
    change.mutate({ experimentIds, trialIds }, { onSuccess: ({ tensorboard }) => go(`tasks/${tensorboard!.id}`), onError: () => {} });
  };
  return (
    <Dialog title="TensorBoard" onClose={onClose}>
      <form class="form" onSubmit={submit} noValidate>
        <TextField label="Experiments" value={experiments} onInput={setExperiments} autofocus placeholder="12, 13" mistake={experimentIds ? undefined : "Numbers of experiments, separated by commas"} />
        <TextField label="Trials" value={trials} onInput={setTrials} placeholder="40" mistake={!trialIds ? "Numbers of trials, separated by commas" : nothing ? "Name at least one experiment or trial" : undefined} />
        {change.error && <p class="mistake" role="alert">{change.error.message}</p>}
        <div class="ends"><Button onClick={onClose}>Cancel</Button><Button type="submit" kind="primary" busy={change.isPending}>Start</Button></div>
      </form>
    </Dialog>
  );
}
