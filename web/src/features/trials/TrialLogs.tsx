import * as api from "@shared/api/routes.gen";
import { hasEnded } from "@shared/lib/states";
import { LogPanel } from "@shared/logs/LogPanel";

export const TrialLogs = ({ id, state }: { id: number; state: string }) => (
  <LogPanel id={`trial ${id}`} label={`Log of trial ${id}`} call={(wanted) => api.trialLogs({ trialId: id, ...wanted })} fields={(follow) => api.trialLogsFields({ trialId: id, follow })} ended={hasEnded(state)} />
);
