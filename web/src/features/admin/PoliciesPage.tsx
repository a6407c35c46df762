import { useEffect, useMemo, useState } from "preact/hooks";
import { useWorkspaces } from "@shared/api/lists";
import { useApi, useChange } from "@shared/api/query";
import type { User } from "@shared/api/routes.gen";
import { checkPolicy } from "@shared/config/check";
import { plain } from "@shared/lib/ansi";
import { useParameter } from "@shared/lib/address";
import { count } from "@shared/lib/format";
import { useTitle } from "@shared/lib/hooks";
import { readSetting, writeSetting } from "@shared/lib/settings";
import { toYaml } from "@shared/lib/yaml";
import { Button } from "@shared/ui/Button";
import { Confirm } from "@shared/ui/Dialog";
import { Failure, Waiting } from "@shared/ui/Empty";
import { Choice, SelectField } from "@shared/ui/Form";
import { say, sayError } from "@shared/ui/Toast";
import { Mistakes, YamlEditor } from "@shared/ui/YamlEditor";
import { useRefused } from "./permissions";
import { drop, EXAMPLE, put, read, type Scope, type Workload } from "./policies";

export function PoliciesPage({ user: me }: { user: User }) {
  useTitle("Configuration policies");
  const [where, setWhere] = useParameter("workspace", "0");
  const [workload, setWorkload] = useParameter("of", "EXPERIMENT");
  const spaces = useWorkspaces();
  const scope: Scope = { workspace: Number(where) || 0, workload: workload as Workload };
  const { data, error } = useApi(read(scope));
  const refusedTo = useRefused(me);
  const space = spaces.rows?.find((w) => w.id === scope.workspace);
  const refused = scope.workspace === 0 ? refusedTo("PERMISSION_TYPE_MODIFY_GLOBAL_CONFIG_POLICIES", "Only an admin may set the policies of the cluster")
    : space?.userId === me.id ? undefined : refusedTo("PERMISSION_TYPE_MODIFY_WORKSPACE_CONFIG_POLICIES", "Only the workspace's owner and admins may set its policies", scope.workspace);
  return (
    <div class="page fills">
      <header class="page-head"><h1>Configuration policies</h1></header>
      <div class="toolbar">
        <SelectField label="Where" quiet value={where} onChange={setWhere} lost={spaces.error} options={[["0", "The whole cluster"], ...(spaces.rows ?? []).map((w) => [String(w.id), `Workspace ${plain(w.name)}`] as [string, string])]} />
        <Choice label="Of what" quiet value={workload} onChange={setWorkload} options={[["EXPERIMENT", "Experiments"], ["NTSC", "Other tasks"]]} />
        <span class="muted">{scope.workspace ? "Applies to new work of this workspace, together with the policy of the cluster." : "Applies to all new work. What exists already stays as it is."}</span>
      </div>
      {error && !data ? <Failure error={error} /> : !data ? <Waiting lines={8} /> : <Editor key={`${where} ${workload}`} scope={scope} policy={data.configPolicies ?? {}} refused={refused} />}
    </div>
  );
}

function Editor({ scope, policy, refused }: { scope: Scope; policy: Record<string, unknown>; refused: string | undefined }) {
  const isSet = Object.keys(policy).length > 0;
  const kept = isSet ? `${toYaml(policy)}\n` : "";
  const draft = `draft.policy.${scope.workspace}.${scope.workload}`;
  const [typed, setTyped] = useState<string | null>(() => readSetting(draft));
  useEffect(() => writeSetting(draft, typed), [draft, typed]);
  const text = typed ?? kept;
  const { mistakes } = useMemo(() => (text.trim() ? checkPolicy(text, scope.workload === "EXPERIMENT") : { mistakes: [] }), [text]);
  const save = useChange(() => put(scope, text));
  const remove = useChange(() => drop(scope));
  const [asking, ask] = useState(false);
  const saved = (done: string) => ({ onSuccess: () => { setTyped(null); ask(false); say(done); }, onError: (failure: Error) => { ask(false); sayError(failure); } });
  const all = mistakes.length ? mistakes : save.error && typed !== null ? [{ line: null, text: save.error.message }] : [];
  return (
    <section class="panel fills">
      <header class="wraps">
        <h2>{isSet ? "The policy" : "No policy is set"}</h2>
        <div class="row wraps">
          <span class={all.length ? "bad-count" : "muted"}>{all.length ? count(all.length, "mistake") : typed !== null ? "not saved yet" : ""}</span>
          {!text.trim() && !refused && <Button onClick={() => setTyped(EXAMPLE)}>Begin with an example</Button>}
          {typed !== null && <Button onClick={() => setTyped(null)}>Discard</Button>}
          {isSet && <Button disabled={Boolean(refused)} title={refused} onClick={() => ask(true)}>Remove</Button>}
          <Button kind="primary" busy={save.isPending} disabled={Boolean(refused) || typed === null || !text.trim() || mistakes.length > 0} title={refused} onClick={() => save.mutate(undefined, { ...saved("The policy is set."), onError: () => {} })}>Save</Button>
        </div>
      </header>
      <YamlEditor label="Policy in YAML" value={text} mistakes={all} onInput={(value) => { save.reset(); setTyped(value === kept ? null : value); }} />
      <Mistakes mistakes={all} />
      {asking && <Confirm title="Remove this policy?" action="Remove" danger busy={remove.isPending} onClose={() => ask(false)} onConfirm={() => remove.mutate(undefined, saved("The policy is removed."))}>
        New configurations are no longer held to it. What was created under it stays as it is.
      </Confirm>}
    </section>
  );
}
