// What an agent and its slots are in, for the picture of the cluster.
import type { Agent, AllocationSummary, Slot } from "@shared/api/routes.gen";
import { bytes, exact } from "@shared/lib/format";

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

/** What tasks have asked for, of the cores and the memory that the agent has for such tasks; "" if its program does not tell. */
export function requested(agent: Agent): string {
  const cores = agent.cpus == null ? [] : [`${agent.cpusUsed ?? 0} of ${agent.cpus} cores`];
  const memory = agent.memoryBytes == null ? [] : [`${bytes(agent.memoryUsedBytes ?? 0)} of ${bytes(agent.memoryBytes)}`];
  const parts = [...cores, ...memory];
  return parts.length ? `requested: ${parts.join(", ")}` : "";
}

/** The certificate that the master has given to the agent; "" if it has given none. */
export function certificate(agent: Agent, nowMs: number): string {
  const until = agent.certificateExpiry;
  if (!until) return "";
  return Date.parse(until) > nowMs ? `certificate until ${exact(until)}` : `certificate expired ${exact(until)}`;
}

/** Which allocation a container belongs to. */
export function byContainer(allocations: AllocationSummary[]): Map<string, AllocationSummary> {
  return new Map(allocations.flatMap((a) => a.resources.map((r): [string, AllocationSummary] => [r.containerId ?? r.resourcesId, a])));
}
