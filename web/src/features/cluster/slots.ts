// What an agent and its slots are in, for the picture of the cluster.
import type { Agent, AllocationSummary, Slot } from "@shared/api/routes.gen";

export type SlotState = "used" | "free" | "draining" | "disabled" | "lost";

export function slotState(slot: Slot, agent: Agent): SlotState {
  if (agent.lostTime) return "lost";
  if (slot.container) return slot.draining || agent.draining ? "draining" : "used";
  return slot.enabled && agent.enabled ? "free" : "disabled";
}

export function stateOf(agent: Agent): string {
  if (agent.lostTime) return "LOST";
  if (agent.draining) return "DRAINING";
  return agent.enabled ? "ENABLED" : "DISABLED";
}

/** Which allocation a container belongs to. */
export function byContainer(allocations: AllocationSummary[]): Map<string, AllocationSummary> {
  return new Map(allocations.flatMap((a) => a.resources.map((r): [string, AllocationSummary] => [r.containerId ?? r.resourcesId, a])));
}
