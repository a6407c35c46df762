import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { type Agent, type AllocationSummary, type ResourcePool, served, type Slot } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { count, words } from "@shared/lib/format";
import { to, useParameter } from "@shared/lib/address";
import { useNow, useTitle } from "@shared/lib/hooks";
import { Empty, Failure, Waiting } from "@shared/ui/Empty";
import { Choice } from "@shared/ui/Form";
import { Load } from "@shared/ui/Progress";
import { StateBadge } from "@shared/ui/StateBadge";
import { Ago } from "@shared/ui/Time";
import { History } from "./History";
import { byContainer, certificate, requested, slotState, type SlotState, stateOf } from "./slots";
import "./cluster.css";

const EVERY_MS = 3000;

export function ClusterPage() {
  useTitle("Cluster");
  const { data, error, refetch } = useApi(api.getAgents({}), { every: EVERY_MS });
  const { data: tasks } = useApi(api.getTasks(), { every: EVERY_MS });
  const { data: pools, error: noPools } = useApi(api.getResourcePools({}), { every: EVERY_MS });
  const [chosen, setPool] = useParameter("pool");
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (noPools && !pools) return <Failure error={noPools} />;
  if (!data || !pools) return <Waiting lines={6} />;
  const running = byContainer(Object.values(tasks?.allocationIdToSummary ?? {}));
  const agents = data.agents.filter((agent) => !chosen || agent.resourcePools.includes(chosen)).sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  const names = pools.resourcePools.map((pool) => pool.name);
  return (
    <div class="page">
      <header class="page-head">
        <h1>Cluster</h1>
        {names.length > 1 && <Choice label="Resource pool" quiet value={chosen} options={[["", "All pools"], ...names.map((name) => [name, plain(name)] as [string, string])]} onChange={(name) => setPool(name || null)} />}
        <Legend />
      </header>
      <Pools pools={pools.resourcePools.filter((pool) => !chosen || pool.name === chosen)} />
      {agents.length === 0 ? (
        <section class="panel"><Empty title="No agents">{chosen ? "No agent belongs to this pool." : <>Start one on each machine with slots: <code>determined-agent run --master-host …</code></>}</Empty></section>
      ) : (
        <section class="panel" aria-label="Agents">
          {agents.map((agent) => <AgentRow key={agent.id} agent={agent} running={running} />)}
        </section>
      )}
      {served.has("resourceAllocationRaw") && <History />}
    </div>
  );
}

export function Pools({ pools }: { pools: ResourcePool[] }) {
  return (
    <div class="pools">
      {pools.map((pool) => (
        <section key={pool.name} class="panel pool">
          <div class="row spread">
            <h2 class="cut" title={plain(pool.description)}>{plain(pool.name)}</h2>
            <span class="muted number">{pool.slotsUsed} / {count(pool.slotsAvailable, "slot")}</span>
          </div>
          <Load used={pool.slotsUsed} total={pool.slotsAvailable} label={`Slots in use in pool ${plain(pool.name)}`} />
          <p class="muted number">
            {count(pool.numAgents, "agent")} · <a href={to(`jobs?pool=${encodeURIComponent(pool.name)}`)}>{pool.stats?.scheduledCount ?? 0} scheduled, {pool.stats?.queuedCount ?? 0} queued</a>
          </p>
          {pool.launchProblem && <p class="mistake">{plain(pool.launchProblem)}</p>}
        </section>
      ))}
    </div>
  );
}

function AgentRow({ agent, running }: { agent: Agent; running: Map<string, AllocationSummary> }) {
  const slots = Object.values(agent.slots).sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true }));
  const used = slots.filter((slot) => slotState(slot, agent) === "used").length;
  const proof = certificate(agent, useNow());
  const tasks = [...new Set(slots.flatMap((slot) => { const task = running.get(slot.container?.id ?? ""); return task ? [task] : []; }))];
  return (
    <article class="agent">
      <div class="who">
        <div class="row"><b class="cut" title={plain(agent.id)}>{plain(agent.id)}</b><StateBadge state={stateOf(agent)} title={agent.disabledReason ?? agent.isolationGap} /></div>
        <p class="muted cut">{agent.addresses.map(plain).join(", ") || "–"} · {agent.resourcePools.map(plain).join(", ")} · {plain(agent.version)}</p>
        {agent.label && <p class="cut label" title={plain(agent.label)}>{plain(agent.label)}</p>}
        {requested(agent) && <p class="muted number cut requested" title={requested(agent)}>{requested(agent)}</p>}
        {proof && <p class="muted number cut certificate" title={proof}>{proof}</p>}
        {agent.lostTime && <p class="muted">lost <Ago time={agent.lostTime} /></p>}
      </div>
      <div class="slots" role="img" aria-label={`${used} of ${count(slots.length, "slot")} in use`}>
        {slots.map((slot) => <SlotBox key={slot.id} slot={slot} agent={agent} task={running.get(slot.container?.id ?? "")} />)}
      </div>
      <p class="muted number cut tasks">{slots.length ? `${used} / ${slots.length} · ${slots[0]?.device ? words(slots[0].device.type) : ""}` : "no slots"}{tasks.length > 0 && ` · ${tasks.map((task) => plain(task.name)).join(", ")}`}</p>
    </article>
  );
}

const SAYS: Record<SlotState, string> = { used: "in use", free: "free", draining: "draining", disabled: "disabled", lost: "lost" };

function SlotBox({ slot, agent, task }: { slot: Slot; agent: Agent; task: AllocationSummary | undefined }) {
  const state = slotState(slot, agent);
  const device = slot.device ? `${words(slot.device.type)} ${plain(slot.device.brand)}` : "";
  return <i class={`slot ${state}`} title={`slot ${slot.id}, ${SAYS[state]}${task ? `: ${plain(task.name)}` : ""}\n${device}`} />;
}

function Legend() {
  return (
    <span class="slot-legend muted" aria-hidden="true">
      {(["used", "free", "draining", "disabled"] as const).map((state) => <span key={state} class="row"><i class={`slot ${state}`} />{SAYS[state]}</span>)}
    </span>
  );
}
