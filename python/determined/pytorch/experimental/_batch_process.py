"""Going through a data set once, in several processes, each with its share of the batches.

Now and then all processes agree on how far they are, and rank 0 stores that as a checkpoint. Who is interrupted goes on
from there: batches since then are processed again, none is left out.
"""

import abc
import contextlib
import logging
import math
import pathlib
import tempfile
import uuid
from typing import Any, Dict, Iterator, NamedTuple, Optional, Set, Sized, Type

import torch
from torch.utils.data import Dataset

import determined as det
from determined import core
from determined._storage._resources import list_resources
from determined._training._trainer import check_launched
from determined.core._checkpoint import storage_of
from determined.pytorch import _trainer
from determined.pytorch._data import DataLoader, TorchData, to_device
from determined.pytorch._reducer import ReducerContext, has_reducers

logger = logging.getLogger("determined.pytorch")

# Arguments of the data loader that the sharing of batches decides.
_OURS = ("sampler", "batch_sampler")


def get_default_device(core_context: core.Context) -> torch.device:
    """The GPU of this process, or the CPU where there is none."""
    if torch.cuda.device_count() == 0:
        return torch.device("cpu")
    return torch.device("cuda", core_context.distributed.local_rank)


class TorchBatchProcessorContext(ReducerContext):
    """What a :class:`TorchBatchProcessor` has at hand.

    Attributes
    ----------
    device : torch.device
    """

    def __init__(self, core_context: core.Context, storage_path: str) -> None:
        super().__init__(core_context.distributed.allgather)
        self._core_context = core_context
        self._storage_path = storage_path
        self._uploaded = False
        self.device = get_default_device(core_context)

    def get_hparams(self) -> Dict[str, Any]:
        """The trial's hyperparameters.

        Raises
        ------
        ValueError
            Off the cluster.
        """
        if self._core_context.info is None:
            raise ValueError("off the cluster there are no hyperparameters")
        return self._core_context.info.trial.hparams

    def to_device(self, data: Any, warned_types: Optional[Set[Type[Any]]] = None) -> TorchData:
        """Copy a batch to the device; see :func:`determined.pytorch.to_device`."""
        return to_device(data, self.device, warned_types)

    def get_tensorboard_path(self) -> pathlib.Path:
        """Directory to write TensorBoard's event files to; they go to checkpoint storage."""
        return self._core_context.train.get_tensorboard_path()

    def prepare_model_for_inference(self, model: torch.nn.Module) -> torch.nn.Module:
        """Put a model into evaluation mode, on the device."""
        model.eval()
        return model.to(self.device)

    @contextlib.contextmanager
    def upload_path(self) -> Iterator[pathlib.Path]:
        """A directory whose files go to checkpoint storage at the end of the context, below ``UUID/rank_N``.

        Examples
        --------
        >>> with context.upload_path() as path:  # doctest: +SKIP
        ...     torch.save(predictions, path / f"batches_until_{batch_idx}.pt")
        """
        storage_id, _, below = self._storage_path.partition("/")
        with tempfile.TemporaryDirectory() as root:
            path = pathlib.Path(root) / below
            path.mkdir(parents=True)
            yield path
            names = set(list_resources(pathlib.Path(root)))
            storage_of(self._core_context.checkpoint).upload(storage_id, pathlib.Path(root), names)
        self._uploaded = True

    def report_metrics(self, group: str, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Report metrics of any group.

        Parameters
        ----------
        group : str
        steps_completed : int
            What they are drawn over; of your choice here.
        metrics : dict
            Numbers by name.
        """
        self._core_context.train.report_metrics(group=group, steps_completed=steps_completed, metrics=metrics)

    def report_task_using_model_version(self, model_version: Any) -> None:
        """Link this inference with a version of a registered model, so that its metrics appear there."""
        self._core_context.experimental.report_task_using_model_version(model_version)

    def report_task_using_checkpoint(self, checkpoint: Any) -> None:
        """Link this inference with a checkpoint, so that its metrics appear there."""
        self._core_context.experimental.report_task_using_checkpoint(checkpoint)

    def get_distributed_rank(self) -> int:
        """Index of this process."""
        return self._core_context.distributed.rank

    def get_distributed_size(self) -> int:
        """Number of processes."""
        return self._core_context.distributed.size


class TorchBatchProcessor(metaclass=abc.ABCMeta):
    """What is done with each batch. Derive your own, and pass the class to :func:`torch_batch_process`.

    Examples
    --------
    >>> class Predict(TorchBatchProcessor):
    ...     def __init__(self, context):
    ...         self.context = context
    ...         self.model = context.prepare_model_for_inference(torch.nn.Linear(2, 1))
    ...     def process_batch(self, batch, batch_idx):
    ...         scores = self.model(self.context.to_device(batch))
    """

    @abc.abstractmethod
    def __init__(self, context: TorchBatchProcessorContext) -> None:
        """Load the model, and whatever else is needed."""

    @abc.abstractmethod
    def process_batch(self, batch: Any, batch_idx: int) -> None:
        """Process a batch.

        Parameters
        ----------
        batch
            As the data loader makes it, on the CPU.
        batch_idx : int
            Index of the batch in this process, from 0. Of eight batches and two processes, each has 0 to 3.
        """

    def on_checkpoint_start(self) -> None:  # noqa: B027
        """Progress is about to be stored: what was computed so far must be safe when this returns."""

    def on_finish(self) -> None:  # noqa: B027
        """All batches are processed."""


class _Progress(NamedTuple):
    """How far all processes have come: batches of each, of how many processes, and where output goes."""

    steps_completed: int
    default_output_uuid: str
    processes: int = 0
    batch_size: int = 0


class _Run:
    """One run of :func:`torch_batch_process`, in one process."""

    def __init__(self, core_context: core.Context, dataset_len: int, batch_size: int, interval: int) -> None:
        self._core = core_context
        self._dist = core_context.distributed
        self._batch_size = batch_size
        self._interval = interval
        self.batches = math.ceil(dataset_len / batch_size / self._dist.size)
        self.skip, self.output = self._begin()
        self.saved = self.skip

    def _begin(self) -> "tuple[int, str]":
        """Where to go on, and the place of the output."""
        latest = self._core.info.latest_checkpoint if self._core.info is not None else None
        if latest is None:
            return 0, self._dist.broadcast(str(uuid.uuid4()))
        metadata = self._dist.broadcast(self._core.checkpoint.get_metadata(latest) if self._dist.rank == 0 else None)
        if "default_output_uuid" not in metadata:
            logger.info("checkpoint %s is none of an inference: this one begins at the first batch", latest)
            return 0, self._dist.broadcast(str(uuid.uuid4()))
        before = _Progress(**{name: metadata[name] for name in _Progress._fields if name in metadata})
        skip = before.steps_completed
        if before.processes not in (0, self._dist.size) or before.batch_size not in (0, self._batch_size):
            # Shares were others: as many whole rounds of the present ones as were done then. None is left out.
            records = before.steps_completed * before.processes * before.batch_size
            skip = records // (self._batch_size * self._dist.size)
        logger.info("inference goes on after %d batches of each process", skip)
        return skip, before.default_output_uuid

    def due(self, steps_completed: int) -> bool:
        return steps_completed % self._interval == 0

    def save(self, processor: TorchBatchProcessor, steps_completed: int) -> None:
        """Store how far the slowest is; whoever is waited for here has everything before it safe."""
        processor.on_checkpoint_start()
        done = self._dist.gather(steps_completed)
        if done is not None:
            progress = _Progress(min(done), self.output, self._dist.size, self._batch_size)
            with self._core.checkpoint.store_path(progress._asdict()):
                pass
            self._core.train.report_progress(min(min(done) / max(self.batches, 1), 1.0))
        self.saved = steps_completed

    def report_reduced(self, context: TorchBatchProcessorContext, steps_completed: int) -> None:
        """Report what the user's reducers make of the batches of this run."""
        if has_reducers(context):
            metrics = context.reduce_metrics(for_training=False)
            if self._dist.rank == 0:
                self._core.train.report_validation_metrics(steps_completed, metrics)


def _checked_loader_arguments(arguments: Dict[str, Any], batch_size: Optional[int]) -> "tuple[Dict[str, Any], int]":
    arguments = dict(arguments)
    if arguments.get("shuffle"):
        raise ValueError("dataloader_kwargs: shuffle must be off, so that every record is processed once")
    for name in _OURS:
        if name in arguments:
            raise ValueError(f"dataloader_kwargs: {name} is made by torch_batch_process(); leave it out")
    if batch_size is not None and "batch_size" in arguments:
        raise ValueError("batch_size is given twice: to torch_batch_process() and in dataloader_kwargs")
    batch_size = arguments.pop("batch_size", batch_size)
    arguments.pop("shuffle", None)
    return arguments, 1 if batch_size is None else batch_size


def _length(batches: int, max_batches: Optional[int]) -> int:
    if max_batches is None:
        return batches
    if not 0 < max_batches <= batches:
        logger.warning("max_batches=%d is not between 1 and %d: all batches are processed", max_batches, batches)
        return batches
    return max_batches


def torch_batch_process(
    batch_processor_cls: Type[TorchBatchProcessor],
    dataset: Dataset[Any],
    batch_size: Optional[int] = None,
    max_batches: Optional[int] = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Optional[Dict[str, Any]] = None,
    distributed_context: Optional[core.DistributedContext] = None,
) -> None:
    """Process a data set batch by batch, shared among all processes of the trial.

    Interrupted, by a pause of the experiment or by a failure, it goes on after the batches that were safe; those since
    then are processed again.

    Parameters
    ----------
    batch_processor_cls : type
        A :class:`TorchBatchProcessor`.
    dataset : torch.utils.data.Dataset
        With a length and an index.
    batch_size : int, optional
        Records in a batch; 1 by default.
    max_batches : int, optional
        Batches of each process at most.
    checkpoint_interval : int
        Batches of each process after which progress is stored, and the platform may interrupt.
    dataloader_kwargs : dict, optional
        Further arguments of :class:`determined.pytorch.DataLoader`.
    distributed_context : core.DistributedContext, optional
        Processes that work together, where the launcher is not one of ours.

    Raises
    ------
    ValueError
        If the arguments contradict each other, or the data would not be processed in order.
    TypeError
        If the data set has no length.

    Examples
    --------
    >>> torch_batch_process(Predict, dataset, batch_size=64)  # doctest: +SKIP
    """
    if checkpoint_interval <= 0:
        raise ValueError(f"checkpoint_interval={checkpoint_interval}: must be at least 1")
    arguments, batch_size = _checked_loader_arguments(dataloader_kwargs or {}, batch_size)
    if not isinstance(dataset, Sized):
        raise TypeError(f"torch_batch_process() needs a dataset with a length, which {type(dataset).__name__} has not")
    info = det.get_cluster_info()
    with contextlib.ExitStack() as stack:
        distributed = distributed_context or stack.enter_context(_trainer.launched(info))
        check_launched(info, distributed)
        core_context = stack.enter_context(core.init(distributed=distributed))
        run = _Run(core_context, len(dataset), batch_size, checkpoint_interval)
        loader = DataLoader(dataset, batch_size=batch_size, **arguments)
        rank, size = core_context.distributed.rank, core_context.distributed.size
        batches = iter(loader.get_data_loader(repeat=False, skip=run.skip, num_replicas=size, rank=rank))
        context = TorchBatchProcessorContext(core_context, f"{run.output}/rank_{rank}")
        _process(run, batch_processor_cls(context), context, batches, _length(run.batches, max_batches))


def _process(
    run: _Run, processor: TorchBatchProcessor, context: TorchBatchProcessorContext, batches: Iterator[Any], length: int
) -> None:
    core_context = context._core_context
    for batch_idx in range(run.skip, length):
        # The last round may have no batch for everybody; all take part in it, for the sake of what they do together.
        batch = next(batches, None)
        if batch is not None:
            processor.process_batch(batch=batch, batch_idx=batch_idx)
        if run.due(batch_idx + 1):
            run.save(processor, batch_idx + 1)
            if core_context.preempt.should_preempt():
                run.report_reduced(context, batch_idx + 1)
                return
    if run.saved < length:
        run.save(processor, length)
    run.report_reduced(context, length)
    processor.on_finish()
    if context._uploaded and core_context.distributed.rank == 0:
        logger.info("files of upload_path() are at %s", storage_of(core_context.checkpoint).describe(run.output))
    core_context.distributed.gather(None)  # nobody leaves, and closes what others need, before all are done
