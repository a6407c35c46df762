import { served } from "@shared/api/routes.gen";
import { to } from "@shared/lib/address";
import { Tabs } from "@shared/ui/Tabs";

/** A project's work as a list of experiments, or of all of their runs. */
export const ListTabs = ({ project, now }: { project: number; now: "experiments" | "runs" }) => (served.has("searchRuns") ? (
  <Tabs label="Lists of this project" now={now} tabs={[{ key: "experiments", title: "Experiments", href: to(`projects/${project}`) }, { key: "runs", title: "Runs", href: to(`projects/${project}/runs`) }]} />
) : null);
