import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import { useParameter } from "@shared/lib/address";
import { plain } from "@shared/lib/ansi";
import { useSettled } from "@shared/lib/hooks";
import { saveAs } from "@shared/lib/save";
import { toYaml } from "@shared/lib/yaml";
import { Button } from "@shared/ui/Button";
import { Diff } from "@shared/ui/Diff";
import { Failure } from "@shared/ui/Empty";
import { AgainstField, Choice } from "@shared/ui/Form";
import { Icon } from "@shared/ui/icons";
import { say } from "@shared/ui/Toast";

type Which = "effective" | "submitted";

/** The configuration as it was submitted, or as it rules the experiment; beside another's if one is named. */
export function Configuration({ id, effective, submitted }: { id: number; effective: Record<string, unknown> | null; submitted: string }) {
  const [which, setWhich] = useParameter("form", "effective");
  const [other, setOther] = useParameter("against");
  const text = which === "submitted" ? submitted : toYaml(effective ?? {});
  const copy = () => navigator.clipboard?.writeText(text).then(() => say("The configuration is copied."), () => say("This browser does not allow copying here.", { bad: true }));
  return (
    <section class="panel">
      <header class="wraps">
        <Choice<Which> label="Form" quiet value={which as Which} onChange={setWhich} options={[["effective", "Effective"], ["submitted", "Submitted"]]} />
        <AgainstField what="experiment" value={other} onChange={setOther} />
        <span class="row"><Button kind="bare" onClick={() => void copy()}><Icon name="copy" /> Copy</Button><Button kind="bare" onClick={() => saveAs(`experiment-${id}.yaml`, `${text}\n`)}>Save</Button></span>
      </header>
      {other ? <Against other={Number(other)} which={which as Which} text={text} id={id} /> : <pre class="source" tabIndex={0} aria-label={`The ${which} configuration`}>{text.split("\n").map(plain).join("\n")}</pre>}
    </section>
  );
}

function Against({ other, which, text, id }: { other: number; which: Which; text: string; id: number }) {
  const wanted = useSettled(other);
  const { data, error } = useApi(api.getExperiment({ experimentId: wanted }), { enabled: wanted > 0 });
  if (error) return <Failure error={error} />;
  if (!data) return <p class="body muted">Reading experiment {other}</p>;
  const theirs = which === "submitted" ? (data.experiment?.originalConfig ?? "") : toYaml(data.config ?? {});
  return <Diff before={theirs} after={text} label={`Configuration of experiment ${wanted} and of experiment ${id}`} />;
}
