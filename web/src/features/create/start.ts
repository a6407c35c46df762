// What a new experiment starts from: an example, another experiment, or one of its trials, whose hyperparameters are fixed then.
import { toYaml } from "@shared/lib/yaml";

export const EXAMPLE = `name: my-experiment
entrypoint: python3 train.py
hyperparameters:
  lr: 0.01
searcher:
  name: single
  metric: loss
  smaller_is_better: true
resources:
  slots_per_trial: 1
max_restarts: 0
`;

/** Of another experiment's configuration everything but where it lies; of a trial's the values that it had. */
export function startOf(config: Record<string, unknown>, hparams: Record<string, unknown> | null): string {
  const { workspace: _workspace, project: _project, ...rest } = config;
  if (!hparams) return `${toYaml(rest)}\n`;
  const { metric = "loss", smaller_is_better = true, max_length, time_metric, max_time } = (config.searcher ?? {}) as Record<string, unknown>;
  const searcher = { name: "single", metric, smaller_is_better, ...(max_length ? { max_length } : {}), ...(time_metric && max_time ? { time_metric, max_time } : {}) };
  return `${toYaml({ ...rest, hyperparameters: hparams, searcher })}\n`;
}
