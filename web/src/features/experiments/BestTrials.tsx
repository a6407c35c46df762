import { useMemo } from "preact/hooks";
import { useApi } from "@shared/api/query";
import * as api from "@shared/api/routes.gen";
import type { Experiment } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import type { Point } from "@shared/lib/series";
import { hasEnded, pace } from "@shared/lib/states";
import { useParameter } from "@shared/lib/address";
import { Chart, type Series } from "@shared/ui/Chart";
import { Failure } from "@shared/ui/Empty";
import { CheckField } from "@shared/ui/Form";

const TRIALS_MAX = 8;
const POINTS_MAX = 500;

/** The searcher's metric of the best trials, as it is reported. */
export function BestTrials({ x }: { x: Experiment }) {
  const [log, setLog] = useParameter("log");
  const every = pace(x.state);
  const { data: best } = useApi(api.getExperimentTrials({ experimentId: x.id, limit: TRIALS_MAX, sortBy: "SORT_BY_BEST_VALIDATION_METRIC", orderBy: "ORDER_BY_ASC" }), { every });
  const trialIds = (best?.trials ?? []).map((trial) => trial.id).sort((a, b) => a - b);
  const { data, error } = useApi(api.compareTrials({ trialIds, metricNames: [x.searcherMetric], group: "validation", maxDatapoints: POINTS_MAX }), { every, keep: true, enabled: trialIds.length > 0 });
  const series = useMemo(() => (data?.trials ?? []).flatMap(({ trial, metrics }): Series[] => {
    if (!trial) return [];
    const points = metrics.flatMap((m) => m.data.map((p): Point => [p.batches, (p.values ?? {})[x.searcherMetric]]));
    return points.length === 0 ? [] : [{ key: String(trial.id), label: `trial ${trial.id}`, points }];
  }), [data, x.searcherMetric]);
  return (
    <section class="panel">
      <header>
        <h2 class="cut">{plain(x.searcherMetric)}<span class="muted"> validation{x.numTrials > TRIALS_MAX ? `, ${TRIALS_MAX} best of ${x.numTrials} trials` : ""}</span></h2>
        <CheckField label="Log scale" checked={Boolean(log)} onChange={(on) => setLog(on ? "1" : null)} />
      </header>
      <div class="body">
        {error && !data ? <Failure error={error} /> : <Chart label={plain(x.searcherMetric)} series={series} height={300} log={Boolean(log)}
          instead={<p class="nothing">{x.numTrials === 0 ? "The searcher has not asked for a trial yet" : hasEnded(x.state) ? "No validation was reported" : "No validation has been reported yet"}</p>} />}
      </div>
    </section>
  );
}
