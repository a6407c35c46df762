"""A logger for Lightning's Trainer that reports to the platform, wherever the run is.

Needs ``lightning``.
"""

from typing import TYPE_CHECKING, Any, Dict, Optional

from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
from lightning.pytorch.utilities import rank_zero_only

from determined.experimental import core_v2

if TYPE_CHECKING:
    from determined import experimental


class DetLogger(Logger):
    """Reports what ``self.log()`` is given as training metrics of an unmanaged trial, or of the trial that this is.

    Begins with the Trainer's first run and ends with it; a second run of the same Trainer begins anew. Arguments are
    those of :func:`determined.experimental.core_v2.init`.

    Parameters
    ----------
    defaults : core_v2.DefaultConfig, optional
        Name, hyperparameters and so on, where no configuration of the cluster says otherwise.
    unmanaged : core_v2.UnmanagedConfig, optional
        Which experiment and trial of which workspace and project it is, by ids of your own.
    config : core_v2.Config, optional
    client : experimental.Determined, optional
        The master to report to; by default the one that ``DET_MASTER`` names.

    Examples
    --------
    >>> logger = DetLogger(defaults=core_v2.DefaultConfig(name="digits"))  # doctest: +SKIP
    >>> lightning.Trainer(max_epochs=5, logger=logger).fit(model, loader)  # doctest: +SKIP
    """

    def __init__(
        self,
        *,
        defaults: Optional[core_v2.DefaultConfig] = None,
        unmanaged: Optional[core_v2.UnmanagedConfig] = None,
        config: Optional[core_v2.Config] = None,
        client: "Optional[experimental.Determined]" = None,
    ) -> None:
        super().__init__()
        self._arguments: Dict[str, Any] = {
            "defaults": defaults,
            "unmanaged": unmanaged,
            "config": config,
            "client": client,
        }
        self._initialized = False

    @property
    @rank_zero_experiment
    def experiment(self) -> None:
        """Connects with the platform when it is asked for first; there is no object to speak of."""
        if not self._initialized:
            core_v2.init(**self._arguments)
            self._initialized = True

    @property
    def name(self) -> str:
        """Of the logger."""
        return "DetLogger"

    @property
    def version(self) -> str:
        """Of the logger."""
        return "0.1"

    @rank_zero_only
    def log_hyperparams(self, params: Any, *_: Any, **__: Any) -> None:
        """Nothing: hyperparameters are given to ``defaults`` or ``config``."""

    @rank_zero_only
    def log_metrics(self, metrics: Dict[str, float], step: Optional[int] = None) -> None:
        """Report training metrics; ``step`` counts batches."""
        _ = self.experiment
        assert core_v2.train is not None
        core_v2.train.report_training_metrics(step or 0, metrics)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Say that the run is over."""
        if self._initialized:
            core_v2.close()
            self._initialized = False
