import { Confirm } from "@shared/ui/Dialog";
import type { useExperimentActions } from "./actions";

/** The question before what cannot be undone. */
export function Asking({ actions }: { actions: ReturnType<typeof useExperimentActions> }) {
  const { asking, busy, confirm, dismiss } = actions;
  if (!asking) return null;
  const { id, name } = asking.experiment;
  return asking.verb === "kill" ? (
    <Confirm title={`Kill experiment ${id}?`} action="Kill" danger busy={busy} onConfirm={confirm} onClose={dismiss}>
      “{name}” ends at once. What its trials have done since their last checkpoints is lost.
    </Confirm>
  ) : (
    <Confirm title={`Stop experiment ${id}?`} action="Stop" danger busy={busy} onConfirm={confirm} onClose={dismiss}>
      The trials of “{name}” save a checkpoint and end. The experiment does not go on by itself afterwards.
    </Confirm>
  );
}
