import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Trial } from "@shared/api/routes.gen";
import { useParameter } from "@shared/lib/address";
import { pace } from "@shared/lib/states";
import { Checkpoints } from "@shared/checkpoints/Checkpoints";
import { Failure, Waiting } from "@shared/ui/Empty";

const MAX = 500;
const SORTS = { steps: "SORT_BY_BATCH_NUMBER", metric: "SORT_BY_SEARCHER_METRIC", time: "SORT_BY_END_TIME" } as const;

export function TrialCheckpoints({ trial }: { trial: Trial }) {
  const [sort, setSort] = useParameter("sort", "-steps");
  const [key, down] = [sort.replace("-", ""), sort.startsWith("-")];
  const { data, error } = useApi(api.getTrialCheckpoints({ id: trial.id, limit: MAX, sortByAttr: SORTS[key as "steps"] ?? "SORT_BY_BATCH_NUMBER", orderBy: down ? "ORDER_BY_DESC" : "ORDER_BY_ASC" }), { every: pace(trial.state), keep: true });
  if (error && !data) return <Failure error={error} />;
  return (
    <section class="panel">
      {data ? <Checkpoints list={data.checkpoints} total={data.pagination?.total ?? 0} order={{ key, down }} onOrder={(order) => setSort(`${order.down ? "-" : ""}${order.key}`)} /> : <Waiting lines={5} />}
    </section>
  );
}
