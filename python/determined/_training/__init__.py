"""What trials of every framework have in common: the loop, its plan, units of length, timings, the context's facts.

Nothing here imports a framework; ``determined.pytorch``, ``determined.pytorch.deepspeed`` and ``determined.keras``
derive what is theirs.
"""
