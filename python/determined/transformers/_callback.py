"""The platform, as a callback of ``transformers.Trainer``.

The Trainer keeps the loop; the callback reports what it logs, stores what it saves, and ends it early, with a
checkpoint, when the platform wants the slots. Behaviour as of the published library's class of the same name, except
that it works off the cluster, too, and with the searches that know their length by ``searcher.max_length``.
"""

import json
import logging
import pathlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

import transformers
from transformers import trainer_utils

import determined as det
from determined import _info, core
from determined.core import _searcher

logger = logging.getLogger("determined.transformers")

# What the Trainer logs about its own speed, not about the model.
_SPEED = ("_runtime", "_per_second", "_compilation_time")
_USER_DATA = "my_data.json"


def _group_of(logs: Dict[str, Any]) -> Optional[str]:
    """The group that a call of ``Trainer.log()`` belongs to; None for results of ``predict()``: they stay here."""
    if any(name.startswith("eval_") for name in logs):
        return "validation"
    return None if any(name.startswith("test_") for name in logs) else "training"


def _length_of(args: transformers.TrainingArguments) -> Tuple[str, float, str]:
    """How long the Trainer trains: (unit, number, the option that says so)."""
    if args.max_steps > 0:
        return "batches", args.max_steps, "--max_steps"
    return "epochs", args.num_train_epochs, "--num_train_epochs"


class _Lengths:
    """The operations of a search that trains its trials from rung to rung, one after the other."""

    def __init__(self, core_context: core.Context, unit: str) -> None:
        self._operations: Iterator[core.SearcherOperation] = core_context.searcher.operations()
        self._is_chief = core_context.distributed.rank == 0
        self._unit = unit
        self._now = next(self._operations, None)

    @property
    def over(self) -> bool:
        return self._now is None

    def reached(self, state: transformers.TrainerState) -> bool:
        done = state.global_step if self._unit == "batches" else (state.epoch or 0.0)
        return self._now is not None and done >= self._now.length

    def complete(self, metric: Any) -> None:
        assert self._now is not None
        if self._is_chief:
            self._now.report_completed(metric)
        self._now = next(self._operations, None)


class DetCallback(transformers.TrainerCallback):
    """Report metrics, store checkpoints and stop on request, for a ``transformers.Trainer``.

    Parameters
    ----------
    core_context : core.Context
        From ``core.init()``; of several processes, from ``core.init(distributed=...)``.
    args : transformers.TrainingArguments
        The same as the Trainer's. After a pause or a failure the latest checkpoint is downloaded into its
        ``output_dir``, and ``args.resume_from_checkpoint`` is set: pass that to ``Trainer.train()``. Where the class of
        ``args`` has ``overwrite_output_dir`` and it is true, training begins anew instead.
    filter_metrics : list of str, optional
        Only metrics are reported whose name contains one of these; the searcher's metrics always are. Default: all.
    user_data : dict, optional
        Stored in each checkpoint, as JSON in ``my_data.json`` beside the model.

    Raises
    ------
    ValueError
        If the configuration's ``searcher`` and the arguments disagree on how long to train; at the first evaluation, if
        the searcher's metric is not among its results.

    Examples
    --------
    >>> with core.init() as core_context:  # doctest: +SKIP
    ...     callback = DetCallback(core_context, args)
    ...     trainer = transformers.Trainer(model, args, train_dataset=data, callbacks=[callback])
    ...     trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)
    """

    def __init__(
        self,
        core_context: core.Context,
        args: transformers.TrainingArguments,
        filter_metrics: Optional[List[str]] = None,
        user_data: Optional[Dict[str, Any]] = None,
    ) -> None:
        super().__init__()
        self.core_context = core_context
        self.filter_metrics = filter_metrics
        self.user_data = user_data
        self.info = det.get_cluster_info()
        self.searcher_metric: Optional[str] = None
        self.time_metric: Optional[str] = None
        self.last_train_metrics = self.last_eval_metrics = self.last_save = -1
        self.last_progress = 0
        # For who has a reason to set them to False: the checkpoint and the evaluation at the end of training.
        self._force_final_save = self._force_final_evaluate = True
        self._lengths: Optional[_Lengths] = None
        if self.info is not None and self.info.task_type == "TRIAL":
            self._read_searcher(_info.config_of(self.info.trial), args)
        self.load_last_checkpoint(args)

    # ---- the beginning ----

    def _read_searcher(self, config: Dict[str, Any], args: transformers.TrainingArguments) -> None:
        searcher = config["searcher"]
        self.searcher_metric = searcher["metric"]
        self.time_metric = searcher.get("time_metric")
        max_time = searcher.get("max_time")
        unit, length, option = _length_of(args)
        configured = _searcher.configured_length(config)
        if configured is not None:
            counted = _searcher.configured_unit(config)
            name = counted.value.lower() if counted else "without a unit"
            if (name, configured) != (unit, length):
                raise ValueError(
                    f"searcher.max_length is {configured} ({name}) in the experiment configuration, but {option} is "
                    f"{length} ({unit}): remove searcher.max_length, or make them agree"
                )
            self._lengths = _Lengths(self.core_context, unit)
        elif self.time_metric in ("batches", "epochs") and (self.time_metric, max_time) != (unit, length):
            raise ValueError(
                f"searcher.max_time is {max_time} {self.time_metric} in the experiment configuration, but "
                f"{option} is {length} ({unit}): make them agree"
            )

    def load_last_checkpoint(self, args: transformers.TrainingArguments) -> None:
        """Download the trial's latest checkpoint, if it has one, and point ``args.resume_from_checkpoint`` to it."""
        if self.info is None or self.info.latest_checkpoint is None:
            return
        if getattr(args, "overwrite_output_dir", False):
            logger.info("the latest checkpoint is not loaded, since overwrite_output_dir is set")
            return
        # All files, whatever the rank: DeepSpeed's states of all ranks are wanted on each machine.
        assert args.output_dir is not None  # TrainingArguments sees to that
        self.core_context.checkpoint.download(self.info.latest_checkpoint, args.output_dir)
        args.resume_from_checkpoint = trainer_utils.get_last_checkpoint(args.output_dir)
        logger.info("training goes on from %s", args.resume_from_checkpoint)

    # ---- metrics ----

    def _reported(self, logs: Dict[str, Any], state: transformers.TrainerState) -> Dict[str, Any]:
        """The metrics of one call of ``Trainer.log()``, with what they are counted by."""
        always = [name for name in (self.searcher_metric, self.time_metric) if name]
        wanted = [*self.filter_metrics, *always] if self.filter_metrics else None
        metrics = {
            name: value
            for name, value in logs.items()
            if name != "epoch" and not name.endswith(_SPEED) and (wanted is None or any(w in name for w in wanted))
        }
        metrics.setdefault("batches", state.global_step)
        metrics.setdefault("epochs", state.epoch)
        return metrics

    def _check_evaluation(self, metrics: Dict[str, Any]) -> None:
        for key, name in (("metric", self.searcher_metric), ("time_metric", self.time_metric)):
            if name is not None and name not in metrics:
                raise ValueError(
                    f"searcher.{key} is '{name}' in the experiment configuration, but the evaluation gave only "
                    f"{', '.join(sorted(metrics))}: return it from compute_metrics, or name one of these"
                )

    def on_log(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        logs: Optional[Dict[str, Any]] = None,
        **kwargs: Any,
    ) -> None:
        """Report the metrics; a step's training metrics once, though the Trainer sums up at its end."""
        group = _group_of(logs or {})
        if logs and group is not None:
            step, metrics = state.global_step, self._reported(logs, state)
            last = self.last_eval_metrics if group == "validation" else self.last_train_metrics
            if group == "validation":
                self._check_evaluation(metrics)
                self.last_eval_metrics = step
            else:
                self.last_train_metrics = step
            if step != last and state.is_world_process_zero:
                self.core_context.train.report_metrics(group=group, steps_completed=step, metrics=metrics)
            if group == "validation" and self._lengths is not None and self._lengths.reached(state):
                self._complete(self._lengths, metrics, state, control)
        self._stop_on_request(state, control)

    def _complete(
        self,
        lengths: _Lengths,
        metrics: Dict[str, Any],
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
    ) -> None:
        """The searcher hears of the end of an operation; without another one training ends, for now."""
        lengths.complete(metrics[str(self.searcher_metric)])
        if lengths.over:
            control.should_training_stop = True

    # ---- the course of training ----

    def _stop_on_request(self, state: transformers.TrainerState, control: transformers.TrainerControl) -> None:
        """The platform wants the slots: the Trainer saves, if it has not just done so, and stops."""
        if self.core_context.preempt.should_preempt():
            control.should_training_stop = True
            control.should_save = control.should_save or state.global_step > self.last_save

    def on_step_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Tell the progress, percent by percent; save and evaluate where the searcher wants to hear of it."""
        if self._lengths is not None and self._lengths.reached(state):
            control.should_save = control.should_evaluate = True
        if self.core_context.distributed.size == 1:  # several processes would have to talk about it
            self._stop_on_request(state, control)
        percent = int(100 * state.global_step / state.max_steps) if state.max_steps > 0 else 0
        if state.is_world_process_zero and percent > self.last_progress:
            self.last_progress = percent
            self.core_context.train.report_progress(min(state.global_step / state.max_steps, 1.0))

    def on_epoch_end(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """The last chance to evaluate and to save, if training ends here and that is still to do."""
        self._stop_on_request(state, control)
        unit, length, _ = _length_of(args)
        done = state.global_step if unit == "batches" else (state.epoch or 0.0)
        if not control.should_training_stop and done < length:
            return
        preempted = self.core_context.preempt.should_preempt()
        if state.global_step > self.last_eval_metrics and self._force_final_evaluate and not preempted:
            control.should_evaluate = True
        if state.global_step > self.last_save and (self._force_final_save or preempted):
            control.should_save = True

    def on_save(
        self,
        args: transformers.TrainingArguments,
        state: transformers.TrainerState,
        control: transformers.TrainerControl,
        **kwargs: Any,
    ) -> None:
        """Store what the Trainer has just saved, and the TensorBoard files beside it."""
        self.last_save = state.global_step
        name = f"checkpoint-{state.global_step}"
        if state.is_world_process_zero and self.user_data is not None:
            path = pathlib.Path(str(args.output_dir), name, _USER_DATA)
            path.write_text(json.dumps(self.user_data), encoding="utf-8")
        metadata: Dict[str, Any] = {"steps_completed": state.global_step}
        if self.info is not None and self.info.task_type == "TRIAL":
            metadata["trial_id"] = self.info.trial.trial_id
        self.core_context.checkpoint.upload(
            args.output_dir, metadata, shard=True, selector=lambda path: path.startswith((f"{name}/", "runs/"))
        )
