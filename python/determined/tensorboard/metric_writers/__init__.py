"""Writers of event files."""

from determined.tensorboard.metric_writers.callback import BatchMetricWriter, MetricWriter

__all__ = ["BatchMetricWriter", "MetricWriter"]
