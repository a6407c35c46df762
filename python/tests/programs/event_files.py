"""What TensorBoard's own loader reads in event files."""


def points_of(directory):
    """Return for each tag of a directory's event files the steps and their values."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(directory))
    events.Reload()
    return {tag: [(e.step, e.value) for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
