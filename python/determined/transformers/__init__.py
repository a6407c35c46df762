"""Training with Hugging Face's ``Trainer`` on the platform: add :class:`DetCallback` to its callbacks."""

from determined.transformers._callback import DetCallback

__all__ = ["DetCallback"]
