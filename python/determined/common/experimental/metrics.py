"""Another place of names that :mod:`determined.experimental.client` has: what trials have reported."""

from determined.experimental._metrics import TrainingMetrics, TrialMetrics, ValidationMetrics

__all__ = ["TrainingMetrics", "TrialMetrics", "ValidationMetrics"]
