"""Reading an experiment configuration."""

from typing import Any, Dict, List, Optional, Tuple, Union


class ExperimentConfig(Dict[str, Any]):
    """An experiment configuration: the plain dictionary, with names for what training code asks of it.

    Examples
    --------
    >>> config = ExperimentConfig({"searcher": {"metric": "loss"}, "resources": {"slots_per_trial": 2}})
    >>> config.get_searcher_metric(), config.slots_per_trial(), config.scheduling_unit()
    ('loss', 2, 100)
    """

    def _section(self, name: str) -> Dict[str, Any]:
        return self.get(name) or {}

    def debug_enabled(self) -> bool:
        """Whether the experiment asks for debug logs."""
        return bool(self.get("debug", False))

    def scheduling_unit(self) -> int:
        """Batches between two reports."""
        return int(self.get("scheduling_unit") or 100)

    def native_parallel_enabled(self) -> bool:
        """``resources.native_parallel``, a setting without effect today."""
        return bool(self._section("resources").get("native_parallel", False))

    def average_training_metrics_enabled(self) -> bool:
        """Whether training metrics are averaged over all slots."""
        return bool(self._section("optimizations").get("average_training_metrics", True))

    def slots_per_trial(self) -> int:
        """Slots each trial asks for."""
        return int(self._section("resources").get("slots_per_trial", 1))

    def experiment_seed(self) -> int:
        """Seed from which the trials' seeds are drawn."""
        return int(self._section("reproducibility").get("experiment_seed", 0))

    def profiling_enabled(self) -> bool:
        """Whether system metrics are to be sampled."""
        return bool(self._section("profiling").get("enabled", False))

    def profiling_interval(self) -> Tuple[int, Optional[int]]:
        """First and last batch to be profiled, and whether there is a last one."""
        profiling = self._section("profiling")
        return int(profiling.get("begin_on_batch", 0)), profiling.get("end_after_batch")

    def profiling_sync_timings(self) -> bool:
        """Whether timings wait for the device."""
        return bool(self._section("profiling").get("sync_timings", True))

    def get_records_per_epoch(self) -> Optional[int]:
        """Records in an epoch, where the user told."""
        records = self.get("records_per_epoch")
        return int(records) if records is not None else None

    def get_min_validation_period(self) -> Dict[str, Any]:
        """How often to validate at least, as ``{"batches": n}``, ``{"records": n}``, ``{"epochs": n}`` or ``{}``."""
        return self._section("min_validation_period")

    def get_searcher_metric(self) -> str:
        """Name of the validation metric that the search looks at."""
        metric = self._section("searcher").get("metric")
        if not isinstance(metric, str):
            raise ValueError(f"searcher.metric must be a string, not {metric!r}")
        return metric

    def get_min_checkpoint_period(self) -> Dict[str, Any]:
        """How often to checkpoint at least, in the form of :meth:`get_min_validation_period`."""
        return self._section("min_checkpoint_period")

    def get_optimizations_config(self) -> Dict[str, Any]:
        """The section ``optimizations``."""
        return self._section("optimizations")

    def get_checkpoint_storage(self) -> Dict[str, Any]:
        """The section ``checkpoint_storage``."""
        return self._section("checkpoint_storage")

    def get_entrypoint(self) -> Union[str, List[str]]:
        """What the trial runs: a shell line or ``module:Class`` (a string), or an argument list."""
        entrypoint = self["entrypoint"]
        if isinstance(entrypoint, str):
            return entrypoint
        if isinstance(entrypoint, list) and all(isinstance(word, str) for word in entrypoint):
            return entrypoint
        raise ValueError(f"entrypoint must be a string or a list of strings, not {entrypoint!r}")
