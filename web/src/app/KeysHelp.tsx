import { Dialog } from "@shared/ui/Dialog";
import { Fragment } from "preact";
import { PLACES } from "./places";

const GROUPS: [string, [string, string][]][] = [
  ["Everywhere", [["Ctrl K", "Find anything by name or ID"], ["/", "Into the page's search field"], ["?", "These keys"], ["Esc", "Close what is open"]]],
  ["Lists", [["j ↓", "Next row"], ["k ↑", "Row before"], ["Enter", "Open the row"], ["x", "Select the row, or no longer"], ["Shift click", "Select all rows up to here"]]],
  ["Plots of a search", [["← ↑ ↓ →", "To the next trial or field"], ["Home", "To the best one"], ["Enter", "Open it"]]],
];

/** The keys that hold, as a table. */
export function KeysHelp({ onClose }: { onClose: () => void }) {
  const places = PLACES.map(({ key, title }): [string, string] => [`g ${key}`, title]);
  return (
    <Dialog title="Keys" wide onClose={onClose}>
      <div class="keys">
        {[...GROUPS, ["Go to", places] as [string, [string, string][]]].map(([title, keys]) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>{keys.map(([key, what]) => <Fragment key={key}><dt>{key.split(" ").map((k) => <Fragment key={k}><kbd>{k}</kbd> </Fragment>)}</dt><dd>{what}</dd></Fragment>)}</dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
