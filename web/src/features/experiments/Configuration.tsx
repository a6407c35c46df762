import { useParameter } from "@shared/lib/address";
import { plain } from "@shared/lib/ansi";
import { toYaml } from "@shared/lib/yaml";
import { Button } from "@shared/ui/Button";
import { Choice } from "@shared/ui/Form";
import { Icon } from "@shared/ui/icons";
import { say } from "@shared/ui/Toast";

type Which = "effective" | "submitted";

/** The configuration as it was submitted, or as it rules the experiment. */
export function Configuration({ effective, submitted }: { effective: Record<string, unknown> | null; submitted: string }) {
  const [which, setWhich] = useParameter("form", "effective");
  const text = which === "submitted" ? submitted : toYaml(effective ?? {});
  const copy = () => navigator.clipboard?.writeText(text).then(() => say("The configuration is copied."), () => say("This browser does not allow copying here.", { bad: true }));
  return (
    <section class="panel">
      <header>
        <Choice<Which> label="Form" quiet value={which as Which} onChange={setWhich} options={[["effective", "Effective"], ["submitted", "Submitted"]]} />
        <Button kind="bare" onClick={() => void copy()}><Icon name="copy" /> Copy</Button>
      </header>
      <pre class="source" tabIndex={0} aria-label={`The ${which} configuration`}>{text.split("\n").map(plain).join("\n")}</pre>
    </section>
  );
}
